"""Commands around GitHub: a repository into the index, and a local server to try it on."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.cli.data import (
    BatchSize,
    ChunkOverlap,
    ChunkSize,
    Json,
    connect,
    ingest_options,
    ingested,
    scope_of,
)
from course_lib.cli.printing import counted, say, show, show_json
from course_lib.errors import InputError
from course_lib.settings import checkout, settings

if TYPE_CHECKING:
    from course_lib.indexing.repository import RepositoryReport
    from course_lib.teaching.github_server import GitHubServer, Repository


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
    partition: Annotated[
        str | None,
        typer.Option(
            "--partition",
            "-p",
            help="Where all files go.",
            show_default="by kind: code_manifests, code_pipelines, code_notebooks, documentation",
        ),
    ] = None,
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
    time, leaves the index of this repository and branch.

    The environment or .env may hold GITHUB_TOKEN, which raises the limit from 60 to 5,000 requests
    an hour and is never shown or stored, and GITHUB_API_URL for another server than api.github.com.

    Example: course ingest-repo kubeflow/manifests --ref v1.9-branch --ext .yaml --path apps
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
    print_partitions(report, "  ")
    left_out = len(report.skipped) + sum(len(part.skipped) for part in report.partitions.values())
    if left_out:
        show(f"  left out: {left_out}; the reasons are above")
    if report.failed:
        show(f"  not to be had: {len(report.failed)}; what was stored of them stays")
    show(f"{report.seconds:.1f} s")


def print_partitions(report: RepositoryReport, indent: str = "") -> None:
    """Print what was done in each partition."""
    for name, part in report.partitions.items():
        show(f"{indent}{name}: {ingested(asdict(part))}")


def github_server(
    serve: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OWNER/NAME=FOLDER",
            help="Serve a folder as a repository; may be given again.",
            show_default="heron/platform, made of the course's data, with issues",
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Requests in a window; GitHub gives 60 without a token. Files are then fetched "
            "through the API, where they count.",
            show_default="5,000",
        ),
    ] = None,
    window: Annotated[float, typer.Option(min=1, help="Seconds of a window.")] = 3_600.0,
) -> None:
    """Run a server on this machine that answers like GitHub, and watch what it is asked.

    With its address in GITHUB_API_URL, `course ingest-repo` works without a network. A low --limit
    and a short --window show how a client waits. Ctrl-C ends it.

    Example: course github-server --limit 3 --window 30
    """
    from course_lib.teaching.github_server import GitHubServer, PrimaryLimit, sample_repository

    repositories = list(map(_folder, serve or [])) or [sample_repository(checkout() / "data")]
    with GitHubServer(
        repositories, port=port, primary=PrimaryLimit(limit or 5_000, window)
    ) as server:
        names = ", ".join(repository.name for repository in repositories)
        say_it = "$env:" if sys.platform == "win32" else "export "
        quote = '"' if sys.platform == "win32" else ""
        show(f"{names} on a server like GitHub; Ctrl-C ends it. In another terminal:")
        show(f"  {say_it}GITHUB_API_URL={quote}{server.url}{quote}")
        # What is fetched as raw files counts against no limit.
        raw = server.raw_url if limit is None else ""
        show(f"  {say_it}GITHUB_RAW_URL={quote}{raw}{quote}")
        show(
            f"and run: course ingest-repo {repositories[0].name} --ref main "
            "--ext .yaml,.py,.go,.sh,.md"
        )
        _watch(server)


def _watch(server: GitHubServer) -> None:
    shown = 0
    while True:
        for one in server.seen[shown:]:
            token = "with a token" if one.has_token else ""
            show(f"{one.status}  {one.host}{one.path}  {token}".rstrip())
            shown += 1
        time.sleep(0.1)


def _folder(given: str) -> Repository:
    """Return the repository that ``OWNER/NAME=FOLDER`` describes."""
    from course_lib.loader.github.names import check_repository
    from course_lib.teaching.github_server import Repository, read_folder

    name, _, folder = given.partition("=")
    if not Path(folder).is_dir() or not folder:
        raise InputError(f"{given!r} names no folder", hint="Give OWNER/NAME=FOLDER.")
    repository = Repository(check_repository(name))
    repository.commit(read_folder(Path(folder)))
    return repository
