"""Getting documents: parameters of a pipeline go in, the documents of a source come out.

Whether a step may be skipped because it ran before depends on what it would read, and not only on
its parameters: a folder is read for its fingerprint, and a branch is pinned to its commit, first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from course_lib.errors import InputError
from course_lib.ignored import ignored_in_words, without_ignored
from course_lib.loader.splitting import IngestOptions, Origin, read_source
from course_lib.pipeline.corpus import LoadedDocuments, say
from course_lib.records import Scope
from course_lib.settings import project_root


def read_folder(
    source: str,
    *,
    tenant: str = "local",
    repo: str = "documents",
    partition: str = "documentation",
) -> LoadedDocuments:
    """Read the documents of a folder, but those that `course ingest` ignores.

    Parameters
    ----------
    source
        A folder: absolute, or relative to the project, whose place in an image is where a volume
        with documents is mounted.
    tenant, repo, partition
        Where the documents belong in the index.

    Returns
    -------
    LoadedDocuments

    Raises
    ------
    InputError
        If there is no such folder, or no document in it.

    Examples
    --------
    >>> corpus = read_folder("data/documents")
    >>> len(corpus.documents), corpus.documents[0].name
    (5, 'ci-cd-for-ml.md')
    """
    if not source.strip():
        raise InputError("the source is empty", hint="Name a folder; the course's own is data.")
    documents, skipped = read_source(project_root() / source, IngestOptions(say=say))
    kept, ignored = without_ignored(skipped)
    if ignored:
        say(f"ignored: {ignored_in_words(ignored)}")
    scope = Scope(tenant=tenant, repo=repo, partition=partition)
    return LoadedDocuments(Origin(scope, kept=tuple(kept)), documents)


def pin_commit(repo: str, ref: str) -> str:
    """Return the hash of the commit that a branch, a tag or ``HEAD`` stands for now.

    Raises
    ------
    InputError
        If a name is out of its form.
    GitHubError
        If there is no such repository or ref, or GitHub cannot be asked.
    """
    from contextlib import closing

    from course_lib.loader.github.client import open_client
    from course_lib.loader.github.files import resolve_ref
    from course_lib.loader.github.names import check_ref, check_repository

    check_repository(repo)
    check_ref(ref)
    with closing(open_client()) as api:
        return resolve_ref(api, repo, ref).commit


def github_code(
    repo: str,
    ref: str,
    extensions: Sequence[str],
    paths: Sequence[str] = (),
    *,
    commit: str = "",
    tenant: str = "local",
    partition: str = "documentation",
) -> LoadedDocuments:
    """Download the files of one commit of a repository.

    Parameters
    ----------
    repo, ref, extensions, paths
        As in `course_lib.loader.github.download_github_code`; the ref is what the version is called
        in the index.
    commit
        What the ref was pinned to; empty asks GitHub.
    tenant, partition
        Whose the files are, and where they belong in the index.

    Returns
    -------
    LoadedDocuments

    Raises
    ------
    InputError, GitHubError
        As `download_github_code`.
    """
    from course_lib.loader.github import DownloadOptions, Selection, download_github_code
    from course_lib.loader.github.download import default_folder

    selection = Selection(repo, commit or ref, extensions, paths)
    options = DownloadOptions(dest=default_folder(repo, ref), say=say)
    download = download_github_code(selection, options)
    scope = Scope(tenant=tenant, repo=repo, branch=ref, partition=partition)
    return LoadedDocuments(Origin(scope, download.commit, download.web), download.documents())


def github_issues(repo: str, since: str = "", *, tenant: str = "local") -> LoadedDocuments:
    """Download the issues of a repository, a document each.

    Parameters
    ----------
    repo
        As in `course_lib.loader.github.download_github_issues`.
    since
        Only those that changed then or later; empty for all.
    tenant
        Whose they are in the index.

    Returns
    -------
    LoadedDocuments

    Raises
    ------
    InputError, GitHubError
        As `download_github_issues`.
    """
    from course_lib.loader.github import DownloadOptions, download_github_issues
    from course_lib.loader.github.issue_records import PARTITION, issue_document

    found = download_github_issues(repo, since or None, DownloadOptions(say=say))
    scope = Scope(tenant=tenant, repo=repo, partition=PARTITION)
    origin = Origin(scope, complete=found.since is None)
    return LoadedDocuments(origin, [issue_document(issue) for issue in found.issues])


def copy_questions(file: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy a file with labelled questions, which is relative to the project or absolute.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    path = project_root() / file
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"the questions in {path} cannot be read: {error.strerror or error}",
            hint="Name a file of JSON Lines, as in data/questions, with the parameter `questions`.",
        ) from error
    Path(target).write_bytes(content)
