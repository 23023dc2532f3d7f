"""Ingest in two steps, with files in between: a directory to JSON Lines, JSON Lines to the index.

What `ingest` does in one go can be stopped half-way and looked at: `documents.jsonl` holds the
documents as they were read, `chunks.jsonl` their pieces.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg
from pydantic import TypeAdapter, ValidationError

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing.directory import IngestReport, make_report, read_source
from course_lib.indexing.update import update_source
from course_lib.loader import read_chunks, write_jsonl
from course_lib.loader.jsonl import read_lines
from course_lib.loader.splitting import IngestOptions, split_documents
from course_lib.records import LOCAL, PARTITIONS, Chunk, Scope, Skipped, SourceDocument, explain

DOCUMENTS = "documents.jsonl"
CHUNKS = "chunks.jsonl"

_DOCUMENT = TypeAdapter(SourceDocument)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What `load_directory` read and wrote."""

    documents: int
    chunks: int
    skipped: tuple[Skipped, ...]


def load_directory(
    path: str | os.PathLike[str],
    output_dir: str | os.PathLike[str],
    scope: Scope = LOCAL,
    options: IngestOptions | None = None,
) -> LoadReport:
    """Read and split a directory's documents and write them as JSON Lines.

    Parameters
    ----------
    path
        Directory whose files of a registered format are read.
    output_dir
        Gets `documents.jsonl` and `chunks.jsonl`; made when missing.
    scope
        Whose documents they are: its tenant and repository are written with them.
    options
        As in `ingest`.

    Raises
    ------
    InputError
        If there is no such directory, or no document in it.
    """
    options = options or IngestOptions()
    found, skipped = read_source(path, options)
    split = split_documents(found, scope, options)
    owner = {"tenant": scope.tenant, "repo": scope.repo}
    rows = (asdict(row) | owner for row in split.rows)
    target = Path(output_dir)
    write_jsonl(target / DOCUMENTS, (json.dumps(row, ensure_ascii=False) for row in rows))
    write_jsonl(target / CHUNKS, (chunk.to_json() for chunk in split.chunks))
    return LoadReport(len(split.rows), len(split.chunks), (*skipped, *split.refused))


def embed_directory(
    directory: str | os.PathLike[str],
    *,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    partition: str = PARTITIONS[0],
    options: IngestOptions | None = None,
) -> IngestReport:
    """Encode what `load_directory` wrote and bring the index up to date with it.

    Parameters
    ----------
    directory
        What `load_directory` wrote into; the two files say whose documents they are.
    conn, embedder, options
        As in `ingest`; the sizes were used when the documents were split.
    partition
        Where the documents go.

    Raises
    ------
    InputError
        If a file is missing or holds a line that is not a record.
    DatabaseError
        If the database went away; what was written until then is whole and stays.
    """
    begin = time.perf_counter()
    folder = Path(directory)
    documents, tenant, repo = _read_documents(folder / DOCUMENTS, embedder.model_name)
    pieces = chunks_by_document(folder / CHUNKS, documents, (tenant, repo))
    update = update_source(
        conn,
        embedder,
        Scope(tenant=tenant, repo=repo, partition=partition),
        documents,
        pieces.__getitem__,
        options=options,
    )
    return make_report(len(documents), update, [], time.perf_counter() - begin)


def chunks_by_document(
    path: Path, names: Collection[str], owner: tuple[str, str]
) -> Mapping[str, list[Chunk]]:
    """Read a file of chunks, all of which are of these documents of a tenant's repository.

    Raises
    ------
    InputError
        If one is of another document.
    """
    pieces: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in read_chunks(path):
        if chunk.source_path not in names or (chunk.tenant_id, chunk.repo_slug) != owner:
            raise InputError(
                f"{path} holds a chunk of {chunk.source_path} ({chunk.repo_slug}), which is not "
                "among the documents that were split with it",
                hint="Make both files again, with the step that wrote them.",
            )
        pieces[chunk.source_path].append(chunk)
    return pieces


def _read_documents(path: Path, model: str) -> tuple[dict[str, SourceDocument], str, str]:
    documents: dict[str, SourceDocument] = {}
    scope: Scope | None = None
    for number, _, raw in read_lines(path):
        try:
            row = json.loads(raw)
            if not isinstance(row, dict):
                raise ValueError("it is not a JSON object")
            own = Scope.model_validate({name: row.pop(name, None) for name in ("tenant", "repo")})
            document = _DOCUMENT.validate_python(row | {"model": model})
            if own != (scope := scope or own):
                raise ValueError("it is of another tenant or repository than those before it")
            if document.name in documents:
                raise ValueError(f"{document.name} is there already")
        except (ValueError, RecursionError) as error:
            reason = explain(error) if isinstance(error, ValidationError) else error
            raise InputError(
                f"{path}, line {number} is not a document: {reason}",
                hint="Make the file again with `course load`.",
            ) from error
        documents[document.name] = document
    if scope is None:
        raise InputError(f"{path} is empty", hint="Make the file again with `course load`.")
    return documents, scope.tenant, scope.repo
