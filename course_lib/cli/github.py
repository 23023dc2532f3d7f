"""The command that brings a repository on GitHub into the index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.cli.index import connect, ingest_options, scope_of, writer_of_vectors
from course_lib.cli.ingest import ingested
from course_lib.cli.options import BatchSize, ChunkOverlap, ChunkSize, Json, Partition
from course_lib.cli.printing import counted, say, show_report
from course_lib.errors import InputError

if TYPE_CHECKING:
    from course_lib.indexing.repository import RepositoryReport


def ingest_repo(
    repo: Annotated[str, typer.Argument(metavar="OWNER/NAME")],
    ref: Annotated[str, typer.Option()],
    ext: Annotated[list[str], typer.Option()],
    path: list[str] | None = None,
    partition: Partition = "documentation",
    branch: str | None = None,
    issues: bool = False,
    since: str | None = None,
    dest: Path | None = None,
    max_wait: Annotated[float, typer.Option(min=0)] = 600.0,
    partial: bool = False,
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

    Parameters
    ----------
    repo
        The repository.
    ref
        Branch, tag or commit; HEAD is the default branch.
    ext
        Endings of the files, with commas between; may be given again.
    path
        Only this folder or file of the repository; may be given again.
    branch : the ref
        What the version is called in the index.
    issues
        Bring the issues up to date as well.
    since
        Only issues that changed since then, such as 2026-03-01.
    dest : .course/github/…
        Where the files are kept.
    max_wait
        Seconds that rate limits may cost in all.
    partial
        List files that cannot be had instead of stopping.
    """
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
            embedder=writer_of_vectors(),
            download=DownloadOptions(
                dest=dest, max_wait=max_wait, partial=partial, progress=True, say=say
            ),
            issues=issues,
            since=since,
        )
    show_report(report.to_json(), _lines(report), as_json=as_json)


def _lines(report: RepositoryReport) -> Iterator[str]:
    yield (
        f"{report.repo} at {report.ref} is commit {report.commit[:12]}: "
        f"{counted(report.fetched, 'file')} downloaded, {report.reused} here already"
    )
    for name, part in report.partitions.items():
        yield f"  {name}: {ingested(asdict(part))}"
    left_out = len(report.skipped) + sum(len(part.skipped) for part in report.partitions.values())
    if left_out:
        yield f"  left out: {left_out}; the reasons are above"
    if report.failed:
        yield f"  not to be had: {len(report.failed)}; what was stored of them stays"
    yield f"{report.seconds:.1f} s"
