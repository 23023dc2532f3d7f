"""A repository in the index: downloaded, split, encoded and stored as exactly one revision of it.

Each file goes to the partition of its kind, each issue to `issues`. Every chunk says which commit
it is from and where its lines can be read. What is gone from the revision leaves the index.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.indexing.citations import renew_citations
from course_lib.indexing.directory import IngestReport, make_report
from course_lib.indexing.options import IngestOptions
from course_lib.indexing.partitions import ISSUES, spread
from course_lib.indexing.splitting import document_row, left_out
from course_lib.indexing.update import update_source
from course_lib.loader.github.download import (
    Download,
    cite,
    default_folder,
    download_github_code,
)
from course_lib.loader.github.issue_records import issue_document
from course_lib.loader.github.issues import IssueDownload, download_github_issues
from course_lib.loader.github.options import DownloadOptions, Selection
from course_lib.records import Chunk, Document, Scope, Skipped, SourceDocument


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
    selection: Selection,
    scope: Scope | None = None,
    options: IngestOptions | None = None,
    *,
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    download: DownloadOptions | None = None,
    issues: bool = False,
    since: str | date | None = None,
) -> RepositoryReport:
    """Bring the index up to date with one revision of a repository, and with its issues if asked.

    The index then holds of this repository and branch exactly what was asked for: files that are
    gone, renamed, or not asked for this time leave it. Everything is downloaded before anything in
    the index is changed.

    Parameters
    ----------
    selection
        Which files of which version.
    scope
        Where they belong. Where it names a partition, all files go there, and it is the only one
        that is touched but `issues`; otherwise each goes to the partition of its kind, and all of
        `BY_KIND` are brought up to date. By default it has the names of the repository and the ref.
    options
        How files and issues are split and encoded, and who is told.
    conn
        A connection from `connect`; the tables are created if they are missing.
    embedder
        Encodes the chunks.
    download
        How to ask GitHub. The folder is by default that of the branch in the index.
    issues
        Whether to bring the partition `issues` up to date as well. Issues belong to no branch.
    since
        Only issues that changed at that time or later; the others stay as they are.

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
    options = options or IngestOptions()
    repo, ref = selection.repo, selection.ref
    scope = scope or Scope(repo=repo, branch=ref)
    download = download or DownloadOptions()
    if download.dest is None:
        download = replace(download, dest=default_folder(repo, scope.branch or ref))
    code = download_github_code(selection, download)
    found = download_github_issues(repo, since, download) if issues else None
    skipped = list(code.skipped)
    documents = code.documents(skipped.append)
    for file in (*skipped, *code.failed):
        options.say(f"left out: {file.name} {file.reason}")
    work = _Indexing(conn, embedder, scope, options)
    for name, files in spread(documents, scope.partition).items():
        work.index_code(name, files, code)
    if found is not None:
        work.index_issues(found)
    return RepositoryReport(
        repo=repo,
        ref=ref,
        commit=code.commit,
        partitions=work.reports,
        fetched=code.fetched,
        reused=len(code.files) - min(code.fetched, len(code.files)),
        skipped=tuple(skipped),
        failed=code.failed,
        seconds=round(time.perf_counter() - begin, 3),
    )


@dataclass
class _Indexing:
    """Where documents of one repository go, with what, and what became of them."""

    conn: psycopg.Connection
    embedder: EmbeddingClient
    scope: Scope
    options: IngestOptions
    reports: dict[str, IngestReport] = field(default_factory=dict)

    def index_code(self, partition: str, documents: Sequence[Document], download: Download) -> None:
        """Make a partition hold these files of the repository's branch, and no others."""
        failed = {file.name for file in download.failed}
        scope = self.scope.within(partition=partition)
        rows = self._rows(documents)
        report = self._update(
            scope,
            documents,
            rows,
            is_gone=lambda name: name not in failed,
            finish=lambda chunk: cite(chunk, download.web, download.commit),
        )
        refused = {file.name for file in report.skipped}
        current = [row for name, row in rows.items() if name not in refused]
        renew_citations(self.conn, scope, current, download.web, download.commit)
        if documents or report.deleted:
            self.reports[partition] = report

    def index_issues(self, found: IssueDownload) -> None:
        """Bring the issues of the repository up to date: all of them, or those that changed."""
        documents = [issue_document(issue) for issue in found.issues]
        self.reports[ISSUES] = self._update(
            # They are about the repository and not about one version of it.
            self.scope.within(partition=ISSUES, branch=""),
            documents,
            self._rows(documents),
            is_gone=lambda name: found.since is None,
        )

    def _update(
        self,
        scope: Scope,
        documents: Sequence[Document],
        rows: Mapping[str, SourceDocument],
        *,
        is_gone: Callable[[str], bool],
        finish: Callable[[Chunk], Chunk] = lambda chunk: chunk,
    ) -> IngestReport:
        begin = time.perf_counter()
        by_name = {document.name: document for document in documents}
        update = update_source(
            self.conn,
            self.embedder,
            scope,
            rows,
            lambda name: list(map(finish, self.options.parse(by_name[name], scope))),
            is_gone=is_gone,
            options=self.options,
        )
        skipped = left_out(update.rejected, self.options.say)
        read = len(documents) - len(skipped)
        return make_report(read, update, skipped, time.perf_counter() - begin)

    def _rows(self, documents: Sequence[Document]) -> dict[str, SourceDocument]:
        model = self.embedder.model_name
        return {file.name: document_row(file, model, self.options) for file in documents}
