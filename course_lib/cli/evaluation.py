"""The command that measures how good search is: questions and folders in, a table out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from course_lib.cli.index import ingest_options
from course_lib.cli.options import Json, Mode
from course_lib.cli.printing import say, show, show_report
from course_lib.errors import InputError
from course_lib.records import Query


def evaluate_search(
    questions: Path,
    corpus: Annotated[list[str], typer.Option(metavar="KIND=DIR")],
    own: bool = False,
    mode: Mode = "hybrid",
    rerank: Annotated[str | None, typer.Option(metavar="MODEL")] = None,
    save: Path | None = None,
    against: Path | None = None,
    as_json: Json = False,
) -> None:
    """Measure how well search answers questions whose answers are known.

    The folders are indexed in a database of their own, which is gone afterwards. Vectors are kept,
    so a second run encodes only what changed.

    Example: course eval questions.jsonl --corpus docs=site --corpus manifests=deploy

    Parameters
    ----------
    questions
        Questions with known answers, one JSON object a line.
    corpus
        Folder of a kind of questions; repeatable.
    own
        Search a question's own corpus, not all of them.
    rerank
        Have a CrossEncoder (a name or a path) order the best results again.
    save
        Keep this run in a file, to compare others with it.
    against
        Compare with a run that was kept, question by question.
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.evaluation.corpora import Corpus, indexed, questions_about, searcher
    from course_lib.evaluation.kept import read_run, write_run
    from course_lib.evaluation.questions import read_questions
    from course_lib.evaluation.report import check_comparable, comparison_lines, run_lines
    from course_lib.evaluation.runs import evaluate

    if save and save.resolve() == questions.resolve():
        raise InputError(
            f"--save {save} is the file of questions, which would be lost",
            hint="Name another file for the run.",
        )
    corpora = [Corpus.parse(given) for given in corpus]
    kinds = list(dict.fromkeys(one.kind for one in corpora))
    asked = questions_about(read_questions(questions, kinds=kinds, say=say), corpora, say)
    before = read_run(against) if against else None
    if before:
        check_comparable(before, asked)
    query = Query(mode=mode, rerank=rerank)
    name = f"{mode} + {rerank}" if rerank else mode
    name += ", own corpus" if own or len(corpora) == 1 else ", joint index"
    embedder = EmbeddingClient(cache=True)
    with indexed(corpora, embedder, ingest_options()) as conn:
        search = searcher(conn, embedder, query, own=own)
        run = evaluate(search, asked, name=name, progress=True)
    show_report(run.by_kind(), run_lines(run), as_json=as_json)
    # Last, so that a file that cannot be written costs nothing of what was measured.
    if save:
        write_run(run, save)
    if before:
        for line in comparison_lines(before, run):
            (say if as_json else show)(line)
