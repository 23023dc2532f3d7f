"""What stages hand to each other in files: `documents.jsonl` and `chunks.jsonl`.

The first line of `documents.jsonl` says where its documents come from and belong; each other line
is a document, as it was read or as the index needs it. `chunks.jsonl` holds their pieces:
parsed-chunk-v1 records, one a line.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import TypeAdapter

from course_lib.errors import InputError
from course_lib.files import told_if_not_written
from course_lib.loader.contract import read_chunks
from course_lib.loader.jsonl import file_to_write, read_lines, write_jsonl
from course_lib.loader.shards import write_shard
from course_lib.loader.splitting import (
    IngestOptions,
    Origin,
    SplitDocument,
    document_row,
    left_out,
    split_documents,
)
from course_lib.records import Chunk, Document, SourceDocument, explain

DOCUMENTS = "documents.jsonl"
CHUNKS = "chunks.jsonl"

Row = TypeVar("Row", Document, SourceDocument)


_ADAPTERS: dict[type[Any], TypeAdapter[Any]] = {
    kind: TypeAdapter(kind) for kind in (Origin, Document, SourceDocument)
}


def staged_lines(
    origin: Origin, documents: Iterable[Document] | Iterable[SourceDocument]
) -> Iterator[str]:
    """Yield the lines of `documents.jsonl`."""
    for one in (origin, *documents):
        yield _ADAPTERS[type(one)].dump_json(one).decode("utf-8")


def split_to_files(
    origin: Origin,
    documents: Iterable[Document],
    options: IngestOptions,
    rows_to: str | os.PathLike[str],
    chunks_to: str | os.PathLike[str],
) -> dict[str, int]:
    """Split the documents of a shard, write both files, and return how many there are.

    Parameters
    ----------
    origin
        Where they come from, and which shard it is.
    documents
        What was read; those of other shards are left alone.
    options
        How they are split, and who is told.
    rows_to, chunks_to
        The files: what the index needs to know of each document, and the records.

    Returns
    -------
    dict
        `documents`, `chunks` and `kept`, each a number.

    Raises
    ------
    InputError
        If a file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> from course_lib.records import Scope
    >>> rows, chunks = folder / DOCUMENTS, folder / CHUNKS
    >>> page = Document(Path("a.md"), "a.md", "Hello.")
    >>> split_to_files(Origin(Scope(repo="notes")), [page], IngestOptions(), rows, chunks)
    {'documents': 1, 'chunks': 1, 'kept': 0}
    >>> origin, documents = read_staged(rows, SourceDocument)
    >>> origin.scope.repo, documents["a.md"].content
    ('notes', 'Hello.')
    """
    mine: list[Document] = []
    split: list[SplitDocument] = []

    def lines_of(document: Document) -> Iterator[str]:
        mine.append(document)
        for one in split_documents([document], origin, options):
            split.append(one)
            yield from (chunk.to_json() for chunk in one.chunks)

    to = file_to_write(chunks_to)
    try:
        with told_if_not_written(to):
            chunks = write_shard(to, {one.name: lines_of(one) for one in documents}, origin.shard)
    except InputError:
        to.with_name(f"{to.name}.part").unlink(missing_ok=True)
        raise
    refused = left_out(split, options.say)
    kept = {one.name for one in refused}
    rows = [document_row(one, "", options) for one in mine if one.name not in kept]
    whole = replace(origin, kept=(*origin.kept, *refused))
    write_jsonl(rows_to, staged_lines(whole, rows))
    return {"documents": len(rows), "chunks": chunks, "kept": len(whole.kept)}


def read_staged(path: str | os.PathLike[str], kind: type[Row]) -> tuple[Origin, dict[str, Row]]:
    """Read a file of documents: where they come from, and name → document.

    Raises
    ------
    InputError
        If there is no such file, or a line is something else; the message says which.
    """
    hint = "Make the file again, with the step that writes it: `course load` or the step before."
    origin: Origin | None = None
    documents: dict[str, Row] = {}
    for number, _, raw in read_lines(path):
        try:
            if origin is None:
                origin = _ADAPTERS[Origin].validate_json(raw)
                continue
            document = _ADAPTERS[kind].validate_json(raw)
            if document.name in documents:
                raise ValueError(f"{document.name} is there already")
        except ValueError as error:
            what = "a document" if origin else "where documents come from"
            said = f"{path}, line {number} is not {what}: {explain(error)}"
            raise InputError(said, hint=hint) from error
        documents[document.name] = document
    if origin is None:
        raise InputError(f"{path} is empty", hint=hint)
    return origin, documents


def read_pieces(
    path: str | os.PathLike[str], origin: Origin, documents: dict[str, SourceDocument]
) -> dict[str, list[Chunk]]:
    """Read a file of chunks that was written with some documents, and return name → chunks.

    Raises
    ------
    InputError
        If there is no such file, or a line is not a chunk of these documents.
    """
    pieces: defaultdict[str, list[Chunk]] = defaultdict(list)
    owner = (origin.scope.tenant, origin.scope.repo)
    for chunk in read_chunks(path):
        if chunk.source_path not in documents or (chunk.tenant_id, chunk.repo_slug) != owner:
            raise InputError(
                f"{path} holds a chunk of {chunk.source_path} ({chunk.repo_slug}), which is not "
                "among the documents that were split with it",
                hint="Make both files again, with the step that wrote them.",
            )
        pieces[chunk.source_path].append(chunk)
    return pieces
