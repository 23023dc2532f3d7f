"""Commands around the chunk contract: split, validate, parsers and ingest-tenant."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.cli.data import (
    BatchSize,
    ChunkOverlap,
    ChunkSize,
    Json,
    Partition,
    connect,
    ingest_options,
    print_report,
    scope_of,
)
from course_lib.cli.printing import counted, say, show, show_json
from course_lib.settings import settings

if TYPE_CHECKING:
    from course_lib.records import Chunk


def split(
    file: Annotated[Path, typer.Argument(help="The file to split.")],
    parser: Annotated[
        str | None,
        typer.Option(help="Id of a parser; by default the file's name decides."),
    ] = None,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Print parsed-chunk-v1 records, one a line.")
    ] = False,
    repo: Annotated[str, typer.Option("--repo", "-r", help="Name of the corpus.")] = "documents",
    chunk_size: ChunkSize = None,
    chunk_overlap: ChunkOverlap = None,
) -> None:
    """Show the chunks that a parser makes of a file; nothing is stored.

    After a | is a piece's header: what it was cut out of, which is encoded with it.

    Example: course split data/documents/feature-stores.md
    """
    from course_lib.errors import InputError
    from course_lib.loader import read_documents
    from course_lib.records import Skipped

    options = ingest_options(chunk_size, chunk_overlap)
    scope = scope_of(repo)
    skipped: list[Skipped] = []
    if file.is_dir():
        raise InputError(f"{file} is a directory", hint="Give one file, or use `course load`.")
    documents = read_documents(file, ("",), on_skip=skipped.append)
    if not documents:
        raise InputError(f"{file} {skipped[0].reason}", hint="Give a text in UTF-8.")
    chunks = options.parse(documents[0], scope, parser)
    for place, chunk in enumerate(chunks):
        if jsonl:
            show_json(chunk.to_json())
            continue
        lines = f"{chunk.line_start}-{chunk.line_end}" if chunk.line_start else ""
        first = " ".join(chunk.content.split())
        show(
            f"{place:4}  {lines:>9}  {len(chunk.content):5}  {chunk.kind}  {chunk.name}\n"
            f"{_header(chunk)}"
            f"      {first[:90]}{'…' if len(first) > 90 else ''}"
        )
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


def _header(chunk: Chunk) -> str:
    """Return what is over a piece where it is encoded, as lines of a listing."""
    header = chunk.custom_meta.get("header")
    lines = header.rstrip("\n").split("\n") if isinstance(header, str) and header else []
    return "".join(f"    | {line}\n" for line in lines)


def validate(
    file: Annotated[Path, typer.Argument(help="JSON Lines, one record a line.")],
    as_json: Json = False,
) -> None:
    """Check records against parsed-chunk-v1: which line, which field, why.

    Ends with 1 if a record breaks the contract.
    """
    from course_lib.loader import check_lines
    from course_lib.loader.contract import Rejection

    valid, refused = 0, 0
    for judged in check_lines(file):
        if isinstance(judged, Rejection):
            refused += 1
            if as_json:
                show_json(json.dumps(judged.to_dict(), ensure_ascii=False))
            else:
                show(str(judged))
        else:
            valid += 1
    is_valid, is_not = ("is" if number == 1 else "are" for number in (valid, refused))
    say(f"{counted(valid, 'record')} {is_valid} valid, {refused} {is_not} not")
    raise typer.Exit(1 if refused else 0)


def parsers(as_json: Json = False) -> None:
    """List the parsers: id, version, files, where it comes from."""
    from course_lib.loader import default_registry

    rows = [
        {
            "id": one.id,
            "version": one.version,
            "files": [*one.names, *one.extensions],
            "origin": one.origin,
        }
        for one in default_registry().parsers()
    ]
    if as_json:
        show_json(json.dumps(rows, indent=2))
        return
    files = [" ".join(row["files"]) or "(any other text)" for row in rows]
    wide = max(map(len, files))
    for row, read in zip(rows, files, strict=True):
        show(f"{row['id']:14} {row['version']:8} {read:{wide}} {row['origin']}")


def ingest_tenant(
    file: Annotated[Path, typer.Argument(help="JSON Lines of parsed-chunk-v1 records.")],
    tenant: Annotated[str, typer.Option(help="Whose they are, whatever the records claim.")],
    repo: Annotated[str, typer.Option("--repo", "-r", help="The repository they belong to.")],
    public: Annotated[
        bool, typer.Option("--public/--private", help="Whether other tenants may read them.")
    ] = False,
    partition: Partition = "documentation",
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents that the file does not mention.")
    ] = False,
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Index records that somebody else parsed, from a file of any size.

    A record that breaks the contract is refused, with its line and field, and the others go
    through; the exit code is 1 then. Records that did not change cost no encoding.
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.indexing import ingest_tenant_file

    visibility = "public" if public else "private"
    scope = scope_of(repo, tenant=tenant, partition=partition, visibility=visibility)
    options = ingest_options(batch_size=batch_size)
    embedder = EmbeddingClient(precision=settings().embed_precision)
    with connect() as conn:
        done = ingest_tenant_file(file, scope, options, conn=conn, embedder=embedder, prune=prune)
    for rejection in done.rejections:
        say(str(rejection))
    print_report(done.to_json(), as_json)
    raise typer.Exit(1 if done.rejections else 0)
