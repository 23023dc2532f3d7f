"""A repository in the index: downloaded, split, encoded and stored as exactly one revision of it.

Each file goes to the partition of its kind, each issue to `issues`. Every chunk says which commit
it is from and where its lines can be read. What is gone from the revision leaves the index.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from pathlib import PurePosixPath

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.indexing.alone import Say
from course_lib.indexing.citations import renew_citations
from course_lib.indexing.ingest import (
    IngestReport,
    check_settings,
    document_row,
    left_out,
    make_report,
)
from course_lib.indexing.update import update_source
from course_lib.loader import Registry, default_registry
from course_lib.loader.github.client import MAX_WAIT_SECONDS, OnWait
from course_lib.loader.github.download import (
    Download,
    cite,
    default_folder,
    download_github_code,
)
from course_lib.loader.github.issue_records import issue_document
from course_lib.loader.github.issues import IssueDownload, download_github_issues
from course_lib.records import Chunk, Document, Scope, Skipped, Visibility
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE
from course_lib.store import Source, SourceDocument

ISSUES = "issues"
CODE = "code_pipelines"
"""Where code goes that is no manifest, no notebook and no prose."""

_KINDS = {
    ".yaml": "code_manifests",
    ".yml": "code_manifests",
    ".json": "code_manifests",
    ".tpl": "code_manifests",
    ".ipynb": "code_notebooks",
    ".md": "documentation",
    ".txt": "documentation",
    ".rst": "documentation",
    ".adoc": "documentation",
}
BY_KIND = (*dict.fromkeys(_KINDS.values()), CODE)
"""The partitions that the files of a repository are spread over by their kinds."""


@dataclass(frozen=True, slots=True)
class RepositoryReport:
    """What an ingest of a repository found and did.

    Attributes
    ----------
    repo, ref, commit
        What was asked for, and the commit that is in the index now.
    partitions
        Partition → report, for each that something belongs to or left; issues among them.
    fetched, reused
        How many files came over the network, and how many were here already.
    skipped
        Files that hold nothing to index, and why.
    failed
        Files that could not be had; what is stored of them stays, from an earlier commit.
    seconds
        All of it, the download included.
    """

    repo: str
    ref: str
    commit: str
    partitions: dict[str, IngestReport] = field(default_factory=dict)
    fetched: int = 0
    reused: int = 0
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Skipped, ...] = ()
    seconds: float = 0.0

    def to_json(self) -> str:
        """Return the report as a JSON object."""
        return json.dumps(asdict(self), ensure_ascii=False)


def ingest_repository(
    repo: str,
    ref: str,
    extensions: Sequence[str],
    *,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    paths: Sequence[str] = (),
    partition: str | None = None,
    branch: str | None = None,
    issues: bool = False,
    since: str | date | None = None,
    token: str | None = None,
    dest: str | os.PathLike[str] | None = None,
    max_wait: float = MAX_WAIT_SECONDS,
    partial: bool = False,
    on_wait: OnWait | None = None,
    tenant: str = "local",
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
    visibility: Visibility = "private",
    registry: Registry | None = None,
    batch_size: int = 32,
    progress: bool = False,
    say: Say = lambda sentence: None,
) -> RepositoryReport:
    """Bring the index up to date with one revision of a repository, and with its issues if asked.

    The index then holds of this repository and branch exactly what was asked for: files that are
    gone, renamed, or not asked for this time leave it. Everything is downloaded before anything in
    the index is changed.

    Parameters
    ----------
    repo, ref, extensions, paths, token, dest, max_wait, partial, on_wait
        As in `download_github_code`.
    conn
        A connection from `connect`; the tables are created if they are missing.
    embedder
        Encodes the chunks.
    partition
        Where all files go, and the only one that is touched but `issues`; by default each goes to
        the partition of its kind, and all of `BY_KIND` are brought up to date.
    branch
        What the version is called in the index; the ref by default.
    issues
        Whether to bring the partition `issues` up to date as well. Issues belong to no branch.
    since
        Only issues that changed at that time or later; the others stay as they are.
    tenant, chunk_size, chunk_overlap, visibility, registry, batch_size, progress, say
        As in `ingest`.

    Returns
    -------
    RepositoryReport

    Raises
    ------
    InputError
        If an argument is out of its range.
    GitHubError
        If something could not be had; nothing was changed in the index then.
    DatabaseError
        If the database went away; what was written until then is whole and stays.
    """
    begin = time.perf_counter()
    check_settings(repo, tenant, chunk_size, chunk_overlap)
    download = download_github_code(
        repo,
        ref,
        extensions,
        paths,
        token,
        default_folder(repo, branch or ref) if dest is None else dest,
        max_wait,
        partial=partial,
        on_wait=on_wait,
        progress=progress,
        say=say,
    )
    found = None
    if issues:
        found = download_github_issues(repo, since, token, max_wait, on_wait=on_wait, say=say)
    skipped = list(download.skipped)
    documents = download.documents(skipped.append)
    for file in (*skipped, *download.failed):
        say(f"left out: {file.name} {file.reason}")
    label = ref if branch is None else branch
    work = _Indexing(
        conn,
        embedder,
        registry or default_registry(),
        Scope(tenant=tenant, repo=repo, visibility=visibility, branch=label),
        chunk_size,
        chunk_overlap,
        batch_size,
        progress,
        say,
    )
    for name, files in _spread(documents, partition).items():
        work.index_code(name, files, download)
    if found is not None:
        work.index_issues(found)
    return RepositoryReport(
        repo=repo,
        ref=ref,
        commit=download.commit,
        partitions=work.reports,
        fetched=download.fetched,
        reused=len(download.files) - min(download.fetched, len(download.files)),
        skipped=tuple(skipped),
        failed=download.failed,
        seconds=round(time.perf_counter() - begin, 3),
    )


def partition_of(path: str) -> str:
    """Return the partition that a file belongs to by its kind.

    Examples
    --------
    >>> partition_of("apps/a.yaml"), partition_of("heron/cli.py"), partition_of("README.md")
    ('code_manifests', 'code_pipelines', 'documentation')
    """
    name = PurePosixPath(path.lower())
    return "code_manifests" if name.name == "kustomization" else _KINDS.get(name.suffix, CODE)


def _spread(documents: Sequence[Document], partition: str | None) -> dict[str, list[Document]]:
    """Return partition → documents, also for partitions that none of them belongs to any more."""
    if partition is not None:
        return {partition: list(documents)}
    found: dict[str, list[Document]] = {name: [] for name in BY_KIND}
    for document in documents:
        found[partition_of(document.name)].append(document)
    return found


@dataclass
class _Indexing:
    """Where documents of one repository go, with what, and what became of them."""

    conn: psycopg.Connection
    embedder: EmbeddingClient
    registry: Registry
    context: Scope
    chunk_size: int
    chunk_overlap: int
    batch_size: int
    progress: bool
    say: Say
    reports: dict[str, IngestReport] = field(default_factory=dict)

    def index_code(self, partition: str, documents: Sequence[Document], download: Download) -> None:
        """Make a partition hold these files of the repository's branch, and no others."""
        failed = {file.name for file in download.failed}
        source = Source(partition, self.context.tenant, self.context.repo, self.context.branch)
        rows = self._rows(documents, download.commit)
        report = self._update(
            source,
            self.context,
            documents,
            rows,
            is_gone=lambda name: name not in failed,
            finish=lambda chunk: cite(chunk, download.web, download.commit),
        )
        refused = {file.name for file in report.skipped}
        current = [row for name, row in rows.items() if name not in refused]
        renew_citations(self.conn, source, current, download.web, download.commit)
        if documents or report.deleted:
            self.reports[partition] = report

    def index_issues(self, found: IssueDownload) -> None:
        """Bring the issues of the repository up to date: all of them, or those that changed."""
        documents = [issue_document(issue) for issue in found.issues]
        # They are about the repository and not about one version of it.
        context = self.context.model_copy(update={"branch": ""})
        self.reports[ISSUES] = self._update(
            Source(ISSUES, context.tenant, context.repo),
            context,
            documents,
            self._rows(documents, None),
            is_gone=lambda name: found.since is None,
        )

    def _update(
        self,
        source: Source,
        context: Scope,
        documents: Sequence[Document],
        rows: Mapping[str, SourceDocument],
        *,
        is_gone: Callable[[str], bool],
        finish: Callable[[Chunk], Chunk] = lambda chunk: chunk,
    ) -> IngestReport:
        begin = time.perf_counter()
        by_name = {document.name: document for document in documents}

        def split(name: str) -> list[Chunk]:
            chunks = self.registry.parse(
                by_name[name],
                context,
                chunk_size=self.chunk_size,
                chunk_overlap=self.chunk_overlap,
            )
            return [finish(chunk) for chunk in chunks]

        update = update_source(
            self.conn,
            self.embedder,
            source,
            rows,
            split,
            is_gone=is_gone,
            visibility=context.visibility,
            batch_size=self.batch_size,
            progress=self.progress,
            say=self.say,
        )
        skipped = left_out(update.rejected, self.say)
        read = len(documents) - len(skipped)
        return make_report(read, update, skipped, time.perf_counter() - begin)

    def _rows(self, documents: Sequence[Document], commit: str | None) -> dict[str, SourceDocument]:
        return {
            document.name: replace(
                document_row(
                    document,
                    parser=parser.state,
                    settings=parser.settings(self.chunk_size, self.chunk_overlap),
                    model=self.embedder.model_name,
                ),
                commit_sha=commit,
                citation_url=document.metadata.get("citation_url") or None,
            )
            for document in documents
            for parser in [self.registry.parser_for(document)]
        }
