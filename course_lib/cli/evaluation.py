"""The command that measures how good search is: questions and folders in, a table out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from course_lib.cli.data import Json, Mode, ingest_options
from course_lib.cli.printing import say, show, show_json


def evaluate_search(
    questions: Annotated[
        Path, typer.Argument(help="Questions with known answers, one JSON object a line.")
    ],
    corpus: Annotated[
        list[str],
        typer.Option(
            "--corpus", "-c", metavar="KIND=DIR", help="Folder of a kind of questions; repeatable."
        ),
    ],
    own: Annotated[
        bool, typer.Option("--own", help="Search a question's own corpus, not all of them.")
    ] = False,
    mode: Mode = "hybrid",
    rerank: Annotated[
        str | None,
        typer.Option(
            metavar="maxsim|none|MODEL",
            help="Compare the best results word by word, leave them as they are, or have a "
            "CrossEncoder order them (a name or a path); unset: RAG_RERANK_MODEL, or maxsim.",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Keep this run in a file, to compare others with it.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="Compare with a run that was kept, question by question.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure how well search answers questions whose answers are known.

    The folders are indexed in a database of their own, which is gone afterwards. Vectors are kept,
    so a second run encodes only what changed.

    Example: course eval questions.jsonl --corpus docs=site --corpus manifests=deploy
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.errors import InputError
    from course_lib.evaluation.corpora import Corpus, indexed, questions_about, searcher
    from course_lib.evaluation.kept import read_run, write_run
    from course_lib.evaluation.questions import read_questions
    from course_lib.evaluation.report import check_comparable, print_comparison, print_run
    from course_lib.evaluation.runs import evaluate
    from course_lib.records import Query
    from course_lib.settings import settings

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
    rerank = rerank or settings().rerank_model or "maxsim"
    cross_encoder = "" if rerank in ("maxsim", "none") else rerank
    query = Query(mode=mode, rerank="maxsim" if rerank == "maxsim" else None)
    name = mode if rerank == "none" else f"{mode} + {rerank}"
    name += ", own corpus" if own or len(corpora) == 1 else ", joint index"
    embedder = EmbeddingClient(cache=True)
    with indexed(corpora, embedder, ingest_options()) as conn:
        search = searcher(conn, embedder, query, own=own, cross_encoder=cross_encoder)
        run = evaluate(search, asked, name=name, progress=True)
    if as_json:
        show_json(json.dumps(run.by_kind(), ensure_ascii=False, indent=2))
    else:
        print_run(show, run)
    # Last, so that a file that cannot be written costs nothing of what was measured.
    if save:
        write_run(run, save)
    if before:
        print_comparison(say if as_json else show, before, run)
