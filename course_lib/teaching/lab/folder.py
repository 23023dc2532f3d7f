"""A folder of the learner's own: its path goes in, a function that searches it comes out.

It is read into a database of its own, so that the lab's cells about the course's documents find
nothing of it. The folder has to be small enough to be searched within a minute.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.ignored import own_files
from course_lib.indexing import IngestOptions, ingest
from course_lib.loader.documents import read_documents
from course_lib.loader.splitting import Origin, split_documents
from course_lib.records import LOCAL, Document, Query
from course_lib.retriever import search
from course_lib.store import connect, fresh_database

if TYPE_CHECKING:
    import pandas as pd

    from course_lib.embedder import EmbeddingClient
    from course_lib.embedder.vectors import Vectors

MOST_FILES = 20_000
MOST_BYTES = 50_000_000
MOST_PIECES = 1_500
"""As many as the model encodes in about a minute on one slow core."""

SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
"""What is between two sentences: white space after a mark, or an empty line."""

COLUMNS = ["similarity", "document", "heading", "lines", "text", "piece"]


class FolderError(InputError):
    """A folder that cannot be searched here; a notebook shows the message without a traceback."""

    def _render_traceback_(self) -> list[str]:
        """Tell IPython what to show in place of a traceback."""
        return str(self).splitlines()


def search_folder(
    folder: Path, name: str, embedder: EmbeddingClient, server: str | None = None
) -> Callable[[str], pd.DataFrame]:
    """Read a folder into a database of its own; return what answers a question from it.

    Parameters
    ----------
    folder
        With texts, up to `MOST_PIECES` pieces of them.
    name
        What the folder is called in what is printed.
    embedder
        Encodes the texts and the questions.
    server
        Where the database is made; as in `fresh_database`.

    Returns
    -------
    callable
        Takes a question, returns the five most similar pieces as a table, the best first: what is
        shown of each is its `text`, all of it its `piece`, on one line.

    Raises
    ------
    FolderError
        If it is missing, has no text that can be read, or is too large.
    """
    import pandas as pd

    options = IngestOptions(progress=True)
    check_folder(folder, name, options)
    database = fresh_database("00-folder", url=server)
    conn = connect(database.url, autocommit=True)
    report = ingest(folder, options=options, conn=conn, embedder=embedder)
    print(f"{name} was read in {report.seconds:.0f} s.", end=" ")
    print(f"Documents: {report.documents}, pieces: {report.chunks}.")
    if report.skipped:
        first = report.skipped[0]
        print(f"Left out: {len(report.skipped)}, such as {first.name}, which {first.reason}.")

    def ask(question: str) -> pd.DataFrame:
        query = Query(top_k=5)
        if not question.strip():
            return pd.DataFrame(columns=COLUMNS)
        vector = embedder.encode([question])[0]
        rows = [
            (
                round(one.similarity_score, 2),
                one.document_name,
                one.name,
                f"{one.metadata.get('lineStart', '')}–{one.metadata.get('lineEnd', '')}",
                from_nearest_sentence(one.content, vector, embedder),
                " ".join(one.content.split()),
            )
            for one in search(conn, vector, query)
        ]
        return pd.DataFrame(rows, columns=COLUMNS, index=range(1, len(rows) + 1))

    ask.database = database  # type: ignore[attr-defined]  # it lives as long as what asks it
    return ask


def from_nearest_sentence(content: str, vector: Vectors, embedder: EmbeddingClient) -> str:
    """Return a text on one line, from the sentence on that is most similar to a question.

    Parameters
    ----------
    content
        The text.
    vector
        That of the question.
    embedder
        Encodes the sentences.
    """
    sentences = [" ".join(one.split()) for one in SENTENCE_ENDS.split(content.strip())]
    first = int((embedder.encode(sentences) @ vector).argmax())
    shown = ("… " if first else "") + " ".join(sentences[first:])
    return textwrap.shorten(shown, 520, placeholder=" …")


def check_folder(folder: Path, name: str, options: IngestOptions) -> None:
    """Raise `FolderError` unless a folder has texts, and few enough of them.

    Parameters
    ----------
    folder, name
        As in `search_folder`.
    options
        How the texts will be split.

    Examples
    --------
    >>> check_folder(Path("nowhere"), "nowhere", IngestOptions())
    Traceback (most recent call last):
        ...
    course_lib.teaching.lab.folder.FolderError: nowhere is not there
    Check the path. It begins with ~, / or a drive (C:), or else in the course's folder.
    """
    if folder.is_file():
        raise FolderError(f"{name} is a file", hint="Name the folder that it is in.")
    if not folder.is_dir():
        raise FolderError(
            f"{name} is not there",
            hint="Check the path. It begins with ~, / or a drive (C:), or else in the course's "
            "folder.",
        )
    endings = tuple(one for one in options.registry.extensions() if one.startswith("."))
    found = _look_through(folder, name, endings)
    documents = read_documents(folder, endings)
    if not documents:
        there = ", ".join(f"{count} {ending}" for ending, count in found.most_common(5))
        raise FolderError(
            f"{name} has no text that the course can read"
            + (f"; it has {there}" if there else ": it is empty"),
            hint=f"Name a folder with files of these kinds: {', '.join(endings)}.",
        )
    if (pieces := _pieces(documents, options)) > MOST_PIECES:
        raise FolderError(
            f"{name} is too large: {pieces:,} pieces of text, and at most {MOST_PIECES:,} are "
            "searched within about a minute",
            hint=_smaller(documents, options),
        )


def _look_through(folder: Path, name: str, endings: tuple[str, ...]) -> Counter[str]:
    """Return how many files of each ending are in a folder, unless they are too many."""
    found: Counter[str] = Counter()
    total = 0
    for count, file in enumerate(own_files(folder, lambda error: None), 1):
        found[file.suffix.lower() or "without an ending"] += 1
        if file.name.lower().endswith(endings) and file.is_file():
            total += file.stat().st_size
        if count > MOST_FILES or total > MOST_BYTES:
            what = f"{MOST_FILES:,} files" if count > MOST_FILES else f"{MOST_BYTES / 1e6:.0f} MB"
            raise FolderError(
                f"{name} is too large: it has more than {what}",
                hint="Name one of the folders in it.",
            )
    return found


def _pieces(documents: list[Document], options: IngestOptions) -> int:
    return sum(len(one.chunks) for one in split_documents(documents, Origin(LOCAL), options))


def _smaller(documents: list[Document], options: IngestOptions) -> str:
    """Return which folder to name in place of one that is too large."""
    below: dict[str, list[Document]] = {}
    for document in documents:
        if len(parts := PurePosixPath(document.name).parts) > 1:
            below.setdefault(parts[0], []).append(document)
    sizes = {one: _pieces(texts, options) for one, texts in below.items()}
    fitting = sorted((size, one) for one, size in sizes.items() if size <= MOST_PIECES)[-5:]
    if not fitting:
        return "Copy some of its files into a new folder, and name that one."
    listed = ", ".join(f"{one} ({size:,} pieces)" for size, one in reversed(fitting))
    return f"Name a folder in it, such as: {listed}."
