"""Measuring what a run made: labelled questions go in, how well the index answers comes out."""

from __future__ import annotations

import os
from dataclasses import replace

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.evaluation import Question, Run, read_questions
from course_lib.evaluation import evaluate as ask_all
from course_lib.evaluation.corpora import searcher
from course_lib.records import Query, SearchResult
from course_lib.settings import project_root


def evaluate(
    questions: str | os.PathLike[str],
    *,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    tenant: str = "local",
    repo: str = "documents",
) -> Run:
    """Ask the questions of a file of what is stored of one repository.

    Parameters
    ----------
    questions
        JSON Lines as in `data/questions`; absolute, or relative to the project.
    conn
        A connection from `connect`.
    embedder
        The model that filled the index.
    tenant, repo
        What is searched.

    Returns
    -------
    Run
        `means()` holds recall@10, mrr@10 and the other metrics.

    Raises
    ------
    InputError
        If the file cannot be read, or a line of it is not a question.
    """
    search = searcher(conn, embedder, Query(repo=repo, tenant=tenant))

    def search_here(question: Question) -> list[SearchResult]:
        # All of it is the corpus that the questions are about, whatever it is called here.
        return [replace(result, repo_slug=question.kind) for result in search(question)]

    return ask_all(search_here, read_questions(project_root() / questions), name=repo)


def markdown(run: Run) -> str:
    """Return the figures of a run, and the place of the answer of each question, in Markdown."""
    means = run.means()
    figures = ", ".join(f"{name} **{means[name]:.2f}**" for name in ("recall@10", "mrr@10"))
    head = f"{figures}, {len(run.answers)} questions\n\n| place | question |\n|---:|---|\n"
    rows = (f"| {one.place or '–'} | {_cell(one.question.question)} |" for one in run.answers)
    return head + "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
