"""Commands that fill the index from a directory: ingest, or its halves load and embed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from course_lib.cli.index import connect, ingest_options, scope_of, writer_of_vectors
from course_lib.cli.options import (
    BatchSize,
    ChunkOverlap,
    ChunkSize,
    Json,
    NoIgnore,
    Partition,
    Repo,
)
from course_lib.cli.printing import counted, say, show, show_report
from course_lib.ignored import ignored_in_words, own_files, without_ignored

if TYPE_CHECKING:
    from course_lib.indexing import IngestReport

MOST_ENDINGS = 5
"""Endings of files of other formats that are counted one by one."""


def load(
    directory: Path,
    output_dir: Annotated[Path, typer.Option()],
    repo: Repo = None,
    chunk_size: ChunkSize = None,
    chunk_overlap: ChunkOverlap = None,
    no_ignore: NoIgnore = False,
) -> None:
    """Read documents and split them into chunks: the first half of `ingest`.

    Writes documents.jsonl, whose first line says where the documents belong, and chunks.jsonl
    (parsed-chunk-v1, one record a line), to be looked at and then given to `course embed`.

    Parameters
    ----------
    directory
        Directory of documents and code.
    output_dir
        Where the JSON Lines files go.
    """
    from course_lib.indexing import load_directory

    report = load_directory(
        directory,
        output_dir,
        scope_of(repo or _folder_name(directory)),
        ingest_options(chunk_size, chunk_overlap, no_ignore=no_ignore),
    )
    documents, chunks = report["documents"], report["chunks"]
    show(f"{counted(documents, 'document')}, {counted(chunks, 'chunk')} → {output_dir}")


def embed(
    directory: Path,
    partition: Partition = "documentation",
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Encode loaded chunks and write them to the database: the second half of `ingest`.

    Parameters
    ----------
    directory
        Directory that `course load` wrote.
    """
    from course_lib.indexing import embed_directory

    with connect() as conn:
        report = embed_directory(
            directory,
            conn=conn,
            embedder=writer_of_vectors(),
            partition=partition,
            options=ingest_options(batch_size=batch_size),
        )
    show_report(report.to_json(), ingest_lines(report), as_json=as_json)


def path_that_is_given(text: str) -> Path:
    """Return a path; an empty one, which a variable that is not set leaves, is not a folder."""
    if not text.strip():
        raise typer.BadParameter("it is empty; give . for the folder that you are in")
    return Path(text)


def ingest(
    path: Annotated[Path, typer.Argument(parser=path_that_is_given)],
    partition: Partition = "documentation",
    repo: Repo = None,
    branch: str = "",
    chunk_size: ChunkSize = None,
    chunk_overlap: ChunkOverlap = None,
    batch_size: BatchSize = 32,
    no_ignore: NoIgnore = False,
    verbose: bool = False,
    as_json: Json = False,
) -> None:
    """Bring the index up to date with a directory: read, split, encode, write.

    What has not changed costs nothing; what is gone from the directory leaves the index. An ingest
    that was stopped is completed by running it again. What git ignores is left out, and so are
    hidden files, and folders such as node_modules and venv.

    Parameters
    ----------
    path
        Directory of documents and code, or one file.
    branch
        Version of the corpus.
    verbose
        Name what is ignored or of another format as well.
    """
    from course_lib.indexing import ingest as run_ingest

    scope = scope_of(repo or _folder_name(path), branch=branch, partition=partition)
    options = ingest_options(chunk_size, chunk_overlap, batch_size, no_ignore=no_ignore)
    with connect() as conn:
        done = run_ingest(path, scope, options, conn=conn, embedder=writer_of_vectors())
    others = list(_of_other_formats(path, no_ignore))
    if verbose:
        for one in without_ignored(done.skipped)[1]:
            say(f"left out: {one.name} {one.reason}")
        for name in others:
            say(f"left out: {name} is of no registered format")
    show_report(done.to_json(), ingest_lines(done, others), as_json=as_json)


def _of_other_formats(path: Path, no_ignore: bool) -> Iterator[str]:
    """Yield the names of a directory's files that no parser reads."""
    from course_lib.loader import default_registry

    formats = tuple(default_registry().extensions())
    inside = own_files(path, lambda error: None, no_ignore=no_ignore) if path.is_dir() else ()
    for name in sorted(file.relative_to(path) for file in inside):
        if not name.name.lower().endswith(formats) and (path / name).is_file():
            yield name.as_posix()


def _folder_name(path: Path) -> str:
    """Return the name of a folder, or of the one that a file is in: two folders, two corpora."""
    place = path.resolve()
    return (place.parent if place.is_file() else place).name or "documents"


def ingest_lines(report: IngestReport, others: Iterable[str] = ()) -> Iterator[str]:
    """Yield the report of an ingest, and how many files of other formats it left out."""
    yield f"{ingested(asdict(report))} in {report.seconds:.1f} s"
    left_out, ignored = without_ignored(report.skipped)
    reasons = Counter(_kind_of(one.reason) for one in left_out)
    endings = Counter(Path(name).suffix.lower() or "no ending" for name in others)
    parts = [f"{count} {reason}" for reason, count in reasons.most_common()]
    if endings:
        listed = ", ".join(f"{n} {ending}" for ending, n in endings.most_common(MOST_ENDINGS))
        more = ", …" if len(endings) > MOST_ENDINGS else ""
        parts.append(f"{endings.total()} of no registered format ({listed}{more})")
    if parts:
        files = counted(reasons.total() + endings.total(), "file")
        yield f"left out: {files}: {'; '.join(parts)}"
    if ignored:
        yield f"ignored: {ignored_in_words(ignored)}; --no-ignore takes them in"


def ingested(numbers: Mapping[str, Any]) -> str:
    """Return what an ingest read and did, in words."""
    read = f"{counted(numbers['documents'], 'document')}, {counted(numbers['chunks'], 'chunk')}"
    done = "{inserted} inserted, {updated} updated, {unchanged} unchanged, {deleted} deleted"
    return f"{read}: {done.format(**numbers)}"


def _kind_of(reason: str) -> str:
    """Return a reason without what differs from file to file.

    Examples
    --------
    >>> _kind_of("is not UTF-8: byte 0x89 at offset 0"), _kind_of("has a NUL byte at offset 4")
    ('is not UTF-8', 'has a NUL byte')
    """
    return reason.partition(":")[0].partition(" at offset ")[0]
