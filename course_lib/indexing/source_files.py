"""Other people's content: files or records go in, and land as the tenant's that the server knows.

Three kinds come in at one door: raw files, which a registered parser splits; files that bring
their `parsedChunks`; and bare parsed-chunk-v1 records, also as JSON Lines of any size. What breaks
the contract is refused one by one, and the rest is indexed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import psycopg
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator
from pydantic.alias_generators import to_camel

from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing.directory import IngestReport, make_report
from course_lib.indexing.update import Update, updating
from course_lib.loader.contract import (
    FILE_INVALID,
    INVALID,
    FileRejectedError,
    Problem,
    Rejection,
    check_record,
    problems_of,
    value_problems,
)
from course_lib.loader.jsonl import numbered_lines
from course_lib.loader.splitting import IngestOptions, SplitDocument, document_row
from course_lib.records import Chunk, Document, Scope, SourceDocument, check_source_path


class SourceFile(BaseModel):
    """A raw file (`content`), or one that was parsed elsewhere (`parsedChunks`)."""

    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, validate_by_alias=True, strict=True
    )

    source_path: str
    content: str | None = None
    parser_id: str | None = None
    parsed_chunks: list[Any] | None = None

    @field_validator("source_path")
    @classmethod
    def _is_a_path(cls, value: str) -> str:
        return check_source_path(value)


@dataclass(frozen=True, slots=True)
class TenantReport:
    """What an ingest of a tenant's content did, and what it refused."""

    report: IngestReport
    rejections: tuple[Rejection, ...]

    def to_json(self) -> str:
        """Return it as a JSON object: the report's fields, and `rejections`."""
        found = [one.to_dict() for one in self.rejections]
        return json.dumps(json.loads(self.report.to_json()) | {"rejections": found})


@dataclass
class _Records:
    """The records of one document: the chunks, or where they are in a file; and a hash of them."""

    kept: list[Any] = field(default_factory=list)
    places: set[int] = field(default_factory=set)
    parsers: set[str] = field(default_factory=set)
    digest: Any = field(default_factory=hashlib.sha256)


Gathered = dict[tuple[str, str], _Records]
"""Branch and path → the records of that document."""


@dataclass
class _Inbox:
    """What came in, by branch and path: the rows of `documents`, and how to get their chunks."""

    scope: Scope
    options: IngestOptions
    embedder: EmbeddingClient
    begin: float = field(default_factory=time.perf_counter)
    documents: dict[str, dict[str, SourceDocument]] = field(default_factory=dict)
    chunks: dict[tuple[str, str], Callable[[], list[Chunk]]] = field(default_factory=dict)
    rejections: list[Rejection] = field(default_factory=list)

    def add(self, branch: str, row: SourceDocument, chunks: Callable[[], list[Chunk]]) -> None:
        self.documents.setdefault(branch, {})[row.name] = row
        self.chunks[branch, row.name] = chunks

    def gather(
        self, found: Gathered, judged: Chunk | Rejection, where: str, offset: int | None = None
    ) -> None:
        """Put a record, or its place in a file, to those of its document; or refuse it."""
        if isinstance(judged, Rejection):
            self.rejections.append(judged)
            return
        branch = str(judged.custom_meta.get("branch") or "")
        records = found.setdefault((branch, judged.source_path), _Records())
        place: Any = judged.custom_meta.get("chunkIndex", len(records.places))
        if place in records.places:
            message = f"another record of this path has the place {place}"
            self.refuse(where, "customMeta.chunkIndex", message)
            return
        records.kept.append(judged if offset is None else offset)
        records.places.add(place)
        records.parsers.add(f"{judged.parser_id} {judged.parser_version}")
        records.digest.update(judged.to_json().encode("utf-8") + b"\n")

    def refuse(self, where: str, field: str, message: str) -> None:
        self.rejections.append(Rejection(INVALID, where, (Problem(field, message),)))

    def add_records(
        self,
        found: Gathered,
        content: str = "",
        read: Callable[[list[Any]], list[Chunk]] = lambda chunks: chunks,
    ) -> None:
        """Add documents that were gathered; `read` makes chunks of what was kept of them."""
        for (branch, path), records in found.items():
            records.digest.update(content.encode("utf-8"))
            row = SourceDocument(
                name=path,
                content=content,
                content_hash=records.digest.hexdigest(),
                parser=", ".join(sorted(records.parsers)),
                settings="parsed-chunk-v1",
                model=self.embedder.model_name,
            )
            self.add(branch, row, partial(read, records.kept))


def ingest_source_files(
    files: Iterable[Mapping[str, Any]],
    scope: Scope,
    options: IngestOptions | None = None,
    *,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
) -> TenantReport:
    """Index a tenant's files; documents that are not among them stay as they are.

    Parameters
    ----------
    files
        In any mixture: raw files ``{"sourcePath", "content"}``, with ``parserId`` where the
        extension does not say it; files with ``parsedChunks``, a list of records; bare records,
        all that there are of each path.
    scope
        Where they belong, as the server knows it; what records claim is overwritten.
    options
        As in `ingest`.
    conn
        A connection from `connect`, of the owner or of the service's writer.
    embedder
        Encodes what is new.

    Returns
    -------
    TenantReport
        Counts, and what was refused: the code, which file and record, which field, and why.

    Raises
    ------
    InputError
        If an argument is out of its range.
    DatabaseError
        If the database went away or refused the work.
    """
    inbox = _Inbox(scope, options or IngestOptions(), embedder)
    bare: Gathered = {}
    for number, given in enumerate(files):
        where = f"files[{number}]"
        if not _is_file(given):
            inbox.gather(bare, check_record(given, where, scope), where)
            continue
        file = _file(given, where)
        if isinstance(file, Rejection):
            inbox.rejections.append(file)
        elif file.parsed_chunks is not None:
            _add_parsed(inbox, file, file.parsed_chunks, where)
        else:
            _add_raw(inbox, file, where)
    for branch, path in list(bare):
        if path in inbox.documents.get(branch, {}):
            del bare[branch, path]
            inbox.refuse(f"records of {path}", "sourcePath", f"{path} came as a file already")
    inbox.add_records(bare)
    return _index(inbox, conn, lambda name: False)


def ingest_tenant_file(
    path: str | os.PathLike[str],
    scope: Scope,
    options: IngestOptions | None = None,
    *,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    prune: bool = False,
) -> TenantReport:
    """Index a JSON Lines file of parsed-chunk-v1 records, of any size.

    The file is read twice: once to judge every record and note where it is, and once more for
    the records of documents that changed. Those of one document need not be together.

    Parameters
    ----------
    path
        The file, one record a line.
    scope, options, conn, embedder
        As in `ingest_source_files`.
    prune
        Whether documents that the file does not mention leave the index. They stay if a record was
        refused, because it may have been theirs.

    Raises
    ------
    InputError
        If there is no such file.
    DatabaseError
        If the database went away or refused the work.
    """
    inbox = _Inbox(scope, options or IngestOptions(), embedder)
    source = Path(path)
    try:
        with source.open("rb") as file:
            found: Gathered = {}
            for number, offset, raw in numbered_lines(file):
                where = f"line {number}"
                inbox.gather(found, check_record(raw, where, scope), where, offset)
            inbox.add_records(found, read=lambda offsets: _read(file, offsets, scope))
            gone = prune and not inbox.rejections
            if prune and not gone:
                inbox.options.say(
                    "records were refused, so documents that are not in the file stay"
                )
            return _index(inbox, conn, lambda name: gone)
    except OSError as error:
        raise InputError(
            f"{source} cannot be read: {error.strerror}", hint="Check the path."
        ) from error


def _read(file: BinaryIO, offsets: Iterable[int], scope: Scope) -> list[Chunk]:
    """Return the records at some places of a file."""
    chunks = []
    for offset in offsets:
        file.seek(offset)
        judged = check_record(file.readline(), scope=scope)
        if isinstance(judged, Rejection):
            raise InputError(
                "the file changed while it was read", hint="Run the same command again."
            )
        chunks.append(judged)
    return chunks


def _is_file(given: Any) -> bool:
    """Return whether this is a file; a mapping with a record's own fields is a record."""
    if not isinstance(given, Mapping):
        return False
    return "parsedChunks" in given or set(given) <= {"sourcePath", "content", "parserId"}


def _file(given: Mapping[str, Any], where: str) -> SourceFile | Rejection:
    try:
        file = SourceFile.model_validate(dict(given))
    except ValidationError as error:
        return Rejection(FILE_INVALID, where, tuple(problems_of(error)))
    if file.content is None and file.parsed_chunks is None:
        problem = Problem("content", "is missing, and so is parsedChunks")
        return Rejection(FILE_INVALID, where, (problem,))
    problems = [
        *value_problems("content", file.content),
        *value_problems("sourcePath", file.source_path),
    ]
    return Rejection(FILE_INVALID, where, tuple(problems)) if problems else file


def _add_raw(inbox: _Inbox, file: SourceFile, where: str) -> None:
    options, scope = inbox.options, inbox.scope
    document = Document(Path(file.source_path), file.source_path, file.content or "")
    try:
        row = document_row(document, inbox.embedder.model_name, options, file.parser_id)
    except FileRejectedError as error:
        inbox.rejections.append(error.rejection(f"{where} ({file.source_path})"))
        return
    inbox.add(scope.branch, row, lambda: options.parse(document, scope, file.parser_id))


def _add_parsed(inbox: _Inbox, file: SourceFile, records: Sequence[Any], where: str) -> None:
    found: Gathered = {}
    for number, record in enumerate(records):
        name = f"{where}.parsedChunks[{number}]"
        judged = check_record(record, name, inbox.scope)
        if isinstance(judged, Chunk) and judged.source_path != file.source_path:
            inbox.refuse(name, "sourcePath", f"is not the file's, {file.source_path}")
        else:
            inbox.gather(found, judged, name)
    if not found and records:
        return  # nothing valid came: what is stored stays
    if not found:
        found[inbox.scope.branch, file.source_path] = _Records()
    inbox.add_records(found, file.content or "")


def _index(inbox: _Inbox, conn: psycopg.Connection, is_gone: Callable[[str], bool]) -> TenantReport:
    updates: list[Update] = []
    for branch in inbox.documents or {inbox.scope.branch: {}}:
        with updating(
            conn,
            inbox.embedder,
            inbox.scope.within(branch=branch),
            inbox.documents.get(branch, {}),
            is_gone=is_gone,
            options=inbox.options,
        ) as update:
            update.write(_split(inbox, branch, update.stale))
        updates.append(update)
    refused = [one for update in updates for one in update.refused]
    inbox.rejections += [one.refused.rejection(one.name) for one in refused if one.refused]
    return TenantReport(make_report(updates, inbox.begin), tuple(inbox.rejections))


def _split(inbox: _Inbox, branch: str, names: Iterable[str]) -> Iterator[SplitDocument]:
    """Yield documents of a branch with their chunks."""
    for name in names:
        try:
            yield SplitDocument(name, inbox.chunks[branch, name]())
        except FileRejectedError as error:
            yield SplitDocument(name, refused=error)
