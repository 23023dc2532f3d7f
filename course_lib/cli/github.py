"""The command that brings a repository on GitHub into the index."""

from __future__ import annotations

from dataclasses import asdict
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
    ingested,
    scope_of,
)
from course_lib.cli.printing import counted, say, show, show_json
from course_lib.errors import InputError
from course_lib.settings import settings

if TYPE_CHECKING:
    from course_lib.indexing.repository import RepositoryReport


def ingest_repo(
    repo: Annotated[str, typer.Argument(metavar="OWNER/NAME", help="The repository.")],
    ref: Annotated[str, typer.Option(help="Branch, tag or commit; HEAD is the default branch.")],
    ext: Annotated[
        list[str],
        typer.Option(help="Endings of the files, with commas between; may be given again."),
    ],
    path: Annotated[
        list[str] | None,
        typer.Option(help="Only this folder or file of the repository; may be given again."),
    ] = None,
    partition: Partition = "documentation",
    branch: Annotated[
        str | None,
        typer.Option(help="What the version is called in the index.", show_default="the ref"),
    ] = None,
    issues: Annotated[
        bool, typer.Option("--issues", help="Bring the issues up to date as well.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(help="Only issues that changed since then, such as 2026-03-01."),
    ] = None,
    dest: Annotated[
        Path | None,
        typer.Option(help="Where the files are kept.", show_default=".course/github/…"),
    ] = None,
    max_wait: Annotated[
        float, typer.Option(min=0, help="Seconds that rate limits may cost in all.")
    ] = 600.0,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="List files that cannot be had instead of stopping."),
    ] = False,
    chunk_size: ChunkSize = None,
    chunk_overlap: ChunkOverlap = None,
    batch_size: BatchSize = 32,
    as_json: Json = False,
) -> None:
    """Bring the index up to date with one revision of a repository on GitHub.

    Downloads, splits, encodes and stores. The ref is pinned to its commit, and every chunk cites
    it. What has not changed costs nothing; what is gone from the revision, or not asked for this
    time, leaves the index of this partition, repository and branch. The partitions code_manifests,
    code_pipelines and code_notebooks are for kubeflow/manifests, pipelines and notebooks.

    The environment or .env may hold GITHUB_TOKEN, which raises the limit from 60 to 5,000 requests
    an hour and is never shown or stored, and GITHUB_API_URL for another server than api.github.com.

    Example: course ingest-repo kubeflow/manifests --ref v1.9-branch --ext .yaml --path apps
    --partition code_manifests
    """
    from course_lib.embedder import EmbeddingClient
    from course_lib.indexing.repository import ingest_repository
    from course_lib.loader.github import DownloadOptions, Selection

    if since is not None and not issues:
        raise InputError("--since is about issues", hint="Give --issues as well, or leave it out.")
    endings = [ending for given in ext for ending in given.split(",")]
    scope = scope_of(repo, branch=ref if branch is None else branch, partition=partition)
    options = ingest_options(chunk_size, chunk_overlap, batch_size)
    with connect() as conn:
        report = ingest_repository(
            Selection(repo, ref, endings, path or ()),
            scope,
            options,
            conn=conn,
            embedder=EmbeddingClient(precision=settings().embed_precision),
            download=DownloadOptions(
                dest=dest, max_wait=max_wait, partial=partial, progress=True, say=say
            ),
            issues=issues,
            since=since,
        )
    if as_json:
        show_json(report.to_json())
    else:
        _print(report)


def _print(report: RepositoryReport) -> None:
    show(
        f"{report.repo} at {report.ref} is commit {report.commit[:12]}: "
        f"{counted(report.fetched, 'file')} downloaded, {report.reused} here already"
    )
    for name, part in report.partitions.items():
        show(f"  {name}: {ingested(asdict(part))}")
    left_out = len(report.skipped) + sum(len(part.skipped) for part in report.partitions.values())
    if left_out:
        show(f"  left out: {left_out}; the reasons are above")
    if report.failed:
        show(f"  not to be had: {len(report.failed)}; what was stored of them stays")
    show(f"{report.seconds:.1f} s")
