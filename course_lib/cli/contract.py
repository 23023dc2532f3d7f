"""Commands around the chunk contract: split, validate, parsers and ingest-tenant."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.cli.index import connect, ingest_options, scope_of, writer_of_vectors
from course_lib.cli.ingest import ingest_lines
from course_lib.cli.options import BatchSize, ChunkOverlap, ChunkSize, Json, Partition
from course_lib.cli.printing import counted, say, show_report
from course_lib.errors import InputError
from course_lib.records import Skipped

if TYPE_CHECKING:
    from course_lib.records import Chunk


def split(
    file: Path,
    parser: str | None = None,
    jsonl: bool = False,
    repo: Annotated[str, typer.Option(help="Name of the corpus.")] = "documents",
    chunk_size: ChunkSize = None,
    chunk_overlap: ChunkOverlap = None,
) -> None:
    """Show the chunks that a parser makes of a file; nothing is stored.

    After a | is a piece's header: what it was cut out of, which is encoded with it.

    Example: course split data/documents/feature-stores.md

    Parameters
    ----------
    file
        The file to split.
    parser
        Id of a parser; by default the file's name decides.
    jsonl
        Print parsed-chunk-v1 records, one a line.
    """
    from course_lib.loader import read_documents

    options = ingest_options(chunk_size, chunk_overlap)
    scope = scope_of(repo)
    skipped: list[Skipped] = []
    if file.is_dir():
        raise InputError(f"{file} is a directory", hint="Give one file, or use `course load`.")
    documents = read_documents(file, on_skip=skipped.append)
    if not documents:
        raise InputError(f"{file} {skipped[0].reason}", hint="Give a text in UTF-8.")
    chunks = options.parse(documents[0], scope, parser)
    for place, chunk in enumerate(chunks):
        show_report(chunk.to_json(), _lines(place, chunk), as_json=jsonl)
    if not jsonl:
        name, _ = options.parsed_with(documents[0], parser)
        say(f"{counted(len(chunks), 'chunk')} by {name} (number, lines, characters, kind, name)")
        if "COURSE_MINE" in os.environ:
            say(f"Yours, where {name} calls them: {', '.join(_own_functions()) or 'none'}")


def _own_functions() -> list[str]:
    """Return which functions that read and split are the learner's, under `course mine`."""
    from course_lib.teaching.mine.keep import kept, system_folder

    own = kept(system_folder()).values()
    return [one.name for one in own if one.module.startswith("course_lib.loader.")]


def _lines(place: int, chunk: Chunk) -> Iterator[str]:
    """Yield where a piece is, what is over it where it is encoded, and how it begins."""
    lines = f"{chunk.line_start}-{chunk.line_end}" if chunk.line_start else ""
    yield f"{place:4}  {lines:>9}  {len(chunk.content):5}  {chunk.kind}  {chunk.name}"
    header = chunk.custom_meta.get("header")
    if isinstance(header, str) and header:
        for line in header.rstrip("\n").split("\n"):
            yield f"    | {line}"
    first = " ".join(chunk.content.split())
    yield f"      {first[:90]}{'…' if len(first) > 90 else ''}"


def validate(file: Path, as_json: Json = False) -> None:
    """Check records against parsed-chunk-v1: which line, which field, why.

    Ends with 1 if a record breaks the contract.

    Parameters
    ----------
    file
        JSON Lines, one record a line.
    """
    from course_lib.loader import check_lines
    from course_lib.loader.contract import Rejection

    valid, refused = 0, 0
    for judged in check_lines(file):
        if isinstance(judged, Rejection):
            refused += 1
            found = json.dumps(judged.to_dict(), ensure_ascii=False)
            show_report(found, [str(judged)], as_json=as_json)
        else:
            valid += 1
    is_valid, is_not = ("is" if number == 1 else "are" for number in (valid, refused))
    say(f"{counted(valid, 'record')} {is_valid} valid, {refused} {is_not} not")
    raise typer.Exit(1 if refused else 0)


def parsers(as_json: Json = False) -> None:
    """List the parsers: id, version, files, where it comes from."""
    from course_lib.loader import default_registry
    from course_lib.loader.registry import RAW_TEXT

    known = default_registry().parsers()
    files = {one.id: [*one.names, *one.extensions] for one in known}
    rows = [
        {"id": one.id, "version": one.version, "files": files[one.id], "origin": one.origin}
        for one in known
    ]
    any_other = {RAW_TEXT.id: ["(any other text)"]}
    read = [" ".join([*files[one.id], *any_other.get(one.id, [])]) for one in known]
    wide = max(map(len, read))
    lines = (
        f"{one.id:14} {one.version:8} {names:{wide}} {one.origin}"
        for one, names in zip(known, read, strict=True)
    )
    show_report(rows, lines, as_json=as_json)


def ingest_tenant(
    file: Path,
    tenant: Annotated[str, typer.Option()],
    repo: Annotated[str, typer.Option()],
    public: Annotated[bool, typer.Option("--public/--private")] = False,
    partition: Partition = "documentation",
    prune: bool = False,
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Index records that somebody else parsed, from a file of any size.

    A record that breaks the contract is refused, with its line and field, and the others go
    through; the exit code is 1 then. Records that did not change cost no encoding.

    Parameters
    ----------
    file
        JSON Lines of parsed-chunk-v1 records.
    tenant
        Whose they are, whatever the records claim.
    repo
        The repository they belong to.
    public
        Whether other tenants may read them.
    prune
        Remove documents that the file does not mention.
    """
    from course_lib.indexing import ingest_tenant_file

    visibility = "public" if public else "private"
    scope = scope_of(repo, tenant=tenant, partition=partition, visibility=visibility)
    options = ingest_options(batch_size=batch_size)
    embedder = writer_of_vectors()
    with connect() as conn:
        done = ingest_tenant_file(file, scope, options, conn=conn, embedder=embedder, prune=prune)
    for rejection in done.rejections:
        say(str(rejection))
    show_report(done.to_json(), ingest_lines(done.report), as_json=as_json)
    raise typer.Exit(1 if done.rejections else 0)
