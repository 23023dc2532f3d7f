"""Corpora: folders go in, one index of all of them comes out, for as long as it is measured.

The index is in a database of its own, so that what is measured is these folders and nothing
else. Vectors are kept on disk by text and model: a second measurement encodes only what changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.evaluation.questions import Question
from course_lib.records import Scope

if TYPE_CHECKING:
    import psycopg

    from course_lib.embedder import EmbeddingClient
    from course_lib.indexing import IngestOptions
    from course_lib.records import Query, SearchResult

PARTITIONS = {
    **{"docs": "documentation", "manifests": "code_manifests", "code": "code_pipelines"},
    **{"notebooks": "code_notebooks", "issues": "issues"},
}
"""The partition of a kind of questions; another kind is its own."""

PIECES = 100
"""Passages that are asked for, so that ten different files are among them."""


@dataclass(frozen=True)
class Corpus:
    """A folder, and the kind of the questions about it, which is its name in the index as well."""

    kind: str
    folder: Path

    @classmethod
    def parse(cls, given: str) -> Corpus:
        """Return the corpus that ``kind=folder`` names.

        Raises
        ------
        InputError
            If it is not of this form, or there is no such folder.

        Examples
        --------
        >>> Corpus.parse("docs=.").kind
        'docs'
        """
        kind, equals, folder = given.partition("=")
        if not (kind and equals and folder):
            raise InputError(
                f"{given!r} is not a corpus",
                hint="Name the kind of its questions and its folder: --corpus docs=DIRECTORY",
            )
        if not Path(folder).is_dir():
            raise InputError(f"{folder} is not a directory", hint="Check the path of the corpus.")
        return cls(kind, Path(folder))


def questions_about(
    questions: Sequence[Question],
    corpora: Sequence[Corpus],
    say: Callable[[str], None] = lambda sentence: None,
) -> list[Question]:
    """Return the questions whose corpus is there, and say what is left out.

    Raises
    ------
    InputError
        If two corpora have the same kind, no question is about any of them, or no gold path of a
        corpus's questions is in its folder.
    """
    folders = {corpus.kind: corpus.folder for corpus in corpora}
    if len(folders) < len(corpora):
        raise InputError("two corpora have the same kind", hint="Give each kind one folder.")
    kinds = list(dict.fromkeys(question.kind for question in questions))
    left_out = [question for question in questions if question.kind not in folders]
    asked = [question for question in questions if question.kind in folders]
    if not asked:
        raise InputError(
            f"no question is about {', '.join(folders)}",
            hint=f"The questions are about {', '.join(kinds)}: --corpus {kinds[0]}=DIRECTORY",
        )
    if left_out:
        names = ", ".join(sorted({question.kind for question in left_out}))
        say(f"{len(left_out)} questions are left out, whose corpus was not given: {names}")
    for kind, folder in folders.items():
        paths = [(one, path) for one in asked if one.kind == kind for path in one.gold_paths]
        missing = [(one, path) for one, path in paths if not (folder / path).is_file()]
        if missing:
            question, path = missing[0]
            if len(missing) == len(paths):
                raise InputError(
                    f"{folder} holds none of the files that the {kind} questions are about, "
                    f"such as {path} of question {question.id}",
                    hint="The paths in the questions are relative to the folder.",
                )
            say(
                f"{len(missing)} gold paths are not in {folder}, such as {path} of question "
                f"{question.id}: these cannot be found"
            )
    return asked


@contextmanager
def indexed(
    corpora: Sequence[Corpus],
    embedder: EmbeddingClient,
    options: IngestOptions | None = None,
) -> Iterator[psycopg.Connection]:
    """Give a connection to a database that holds these corpora, each under its kind, and no other.

    Its searches look at every row, so that a measurement can be repeated: the graph of a vector
    index is drawn at random, and each one overlooks other rows.

    Parameters
    ----------
    corpora
        What to ingest.
    embedder
        Encodes; give it a cache, and a second time costs no encoding.
    options
        As in `ingest`.
    """
    from course_lib.indexing import ingest
    from course_lib.store import connect, fresh_database

    with fresh_database("eval") as database, connect(database.url, autocommit=True) as conn:
        for corpus in corpora:
            scope = Scope(repo=corpus.kind, partition=PARTITIONS.get(corpus.kind, corpus.kind))
            ingest(corpus.folder, scope, options, conn=conn, embedder=embedder)
        conn.execute("VACUUM ANALYZE document_chunks")
        conn.execute("SET enable_indexscan = off")
        yield conn


def searcher(
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    query: Query,
    *,
    own: bool = False,
) -> Callable[[Question], list[SearchResult]]:
    """Return what asks the index a question, everywhere or in the question's own corpus alone.

    Parameters
    ----------
    conn
        From `indexed`.
    embedder
        The model that filled the index.
    query
        How it is searched: everything but the question, how many results, and the threshold.
    own
        Search the question's own corpus alone.
    """
    from course_lib.retriever import retrieve

    def search(question: Question) -> list[SearchResult]:
        repo = question.kind if own else query.repo
        asked = replace(query, question=question.question, top_k=PIECES, threshold=-1, repo=repo)
        return retrieve(conn, embedder, asked)

    return search
