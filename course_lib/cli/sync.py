"""The command that brings everything up to date with a source: documents, code and packages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.cli.data import (
    BatchSize,
    ChunkOverlap,
    ChunkSize,
    connect,
    ingest_options,
    print_report,
    scope_of,
)
from course_lib.cli.github import print_partitions
from course_lib.cli.printing import say, show
from course_lib.errors import InputError
from course_lib.settings import settings

if TYPE_CHECKING:
    from course_lib.xray import LockFiles


def sync(
    source: Annotated[str, typer.Argument(help="A directory, or OWNER/NAME with --ref.")],
    ref: Annotated[
        str | None, typer.Option(help="Branch, tag or commit of a repository on GitHub.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", "-n", help="Corpus and project.", show_default="the source's name"),
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            "--partition",
            "-p",
            help="Where all files go.",
            show_default="documentation; those of a repository by kind",
        ),
    ] = None,
    chunk_size: ChunkSize = None,
    chunk_overlap: ChunkOverlap = None,
    batch_size: BatchSize = 32,
) -> None:
    """Bring index and packages up to date with a directory or repository: ingest and xray scan.

    One planner decides for documents and packages alike what is skipped, added, changed and
    removed, so that a source that did not change costs nothing.
    """
    from course_lib.cli.xray import print_scan
    from course_lib.embedder import EmbeddingClient
    from course_lib.indexing import ingest
    from course_lib.indexing.repository import ingest_repository
    from course_lib.loader.github import DownloadOptions, Selection
    from course_lib.xray import offline_describer, sync_project

    if ref is not None and name is not None:
        raise InputError("a repository keeps its name", hint="Leave --name out, or --ref.")
    project = name or (source if ref is not None else Path(source).resolve().name) or "documents"
    files = _lock_files(Path(source)) if ref is None else None
    scope = scope_of(project, branch=ref or "", partition=partition)
    options = ingest_options(chunk_size, chunk_overlap, batch_size)
    embedder = EmbeddingClient(precision=settings().embed_precision)
    with connect() as conn:
        if ref is None:
            report = ingest(source, scope, options, conn=conn, embedder=embedder)
            print_report(report.to_json(), as_json=False)
        else:
            done = ingest_repository(
                Selection(source, ref, options.registry.extensions()),
                scope,
                options,
                conn=conn,
                embedder=embedder,
                download=DownloadOptions(progress=True, say=say),
            )
            show(f"{source} at {ref} is commit {done.commit[:12]}")
            print_partitions(done)
            files = _lock_files_of(source, ref, done.commit)
        if files is None:
            return
        scanned = sync_project(
            conn,
            project,
            files,
            tenant=settings().tenant,
            embedder=embedder,
            describer=offline_describer(),
        )
    print_scan(scanned, as_json=False)
    raise typer.Exit(1 if any(one.broken for one in scanned.languages) else 0)


def _lock_files(directory: Path) -> LockFiles | None:
    """Return a directory's lock files; None, and a word about it, where it has none."""
    from course_lib.xray import find_lock_files

    try:
        return find_lock_files(directory)
    except InputError as error:
        if not directory.is_dir():
            raise
        say(str(error.args[0]))
        return None


def _lock_files_of(repo: str, ref: str, commit: str) -> LockFiles | None:
    """Download a repository's lock files; None, and a word about it, where it has none."""
    from urllib.parse import quote

    from course_lib.loader.github import DownloadOptions, Selection, download_github_code
    from course_lib.loader.github.errors import NotFoundError
    from course_lib.settings import state_dir
    from course_lib.xray.lockfiles import NAMES

    folder = state_dir().joinpath("lockfiles", *repo.lower().split("/"), quote(ref, safe=""))
    try:
        files = download_github_code(
            Selection(repo, commit, NAMES), DownloadOptions(dest=folder, say=say)
        )
    except NotFoundError as error:
        say(str(error.args[0]))
        return None
    return _lock_files(files.folder)
