"""A repository in the index: downloaded, split, encoded and stored as exactly one revision of it.

Its files go to the source's partition, its issues to `issues`. Every document says which commit it
is from, and every result where its lines can be read. What is gone from the revision leaves the
index.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.indexing.citations import renew_citations
from course_lib.indexing.directory import IngestReport, index_documents
from course_lib.loader.github.download import (
    DownloadOptions,
    Selection,
    default_folder,
    download_github_code,
)
from course_lib.loader.github.issue_records import PARTITION as ISSUES
from course_lib.loader.github.issue_records import issue_document
from course_lib.loader.github.issues import download_github_issues
from course_lib.loader.splitting import IngestOptions, Origin, document_row
from course_lib.records import Report, Scope, Skipped


@dataclass(frozen=True, slots=True)
class RepositoryReport(Report):
    """What an ingest of a repository found and did.

    Attributes
    ----------
    repo, ref, commit
        What was asked for, and the commit that is in the index now.
    partitions
        Partition → report: of the files, and of the issues if they were asked for.
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
        Where they belong. By default it has the names of the repository and the ref.
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
    index = partial(index_documents, options=options, conn=conn, embedder=embedder)
    origin = Origin(scope, code.commit, code.web, kept=code.failed)
    report = index(documents, origin, is_gone=origin.has_lost)
    refused = {file.name for file in report.skipped}
    current = [file for file in documents if file.name not in refused]
    rows = [document_row(file, embedder.model_name, options) for file in current]
    renew_citations(conn, scope, rows, code.commit)
    reports = {scope.partition: report}
    if found is not None:
        # They are about the repository and not about one version of it.
        origin = Origin(scope.within(partition=ISSUES, branch=""), complete=found.since is None)
        pages = [issue_document(issue) for issue in found.issues]
        reports[ISSUES] = index(pages, origin, is_gone=origin.has_lost)
    return RepositoryReport(
        repo=repo,
        ref=ref,
        commit=code.commit,
        partitions=reports,
        fetched=code.fetched,
        reused=len(code.files) - min(code.fetched, len(code.files)),
        skipped=tuple(skipped),
        failed=code.failed,
        seconds=round(time.perf_counter() - begin, 3),
    )
