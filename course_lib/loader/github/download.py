"""Code from GitHub: a repository and a ref go in, the files of exactly one commit come out.

The ref is resolved first, and the commit's hash is used for everything after it. Every file is held
against the hash that was listed for it; what could not be had is an error, never a gap.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, unquote

from course_lib.loader.documents import read_documents
from course_lib.loader.github.client import MAX_WAIT_SECONDS, GitHubClient, open_client
from course_lib.loader.github.errors import IncompleteDownloadError
from course_lib.loader.github.folder import Destination
from course_lib.loader.github.names import (
    check_endings,
    check_ref,
    check_repository,
    citation_url,
    clean_path,
)
from course_lib.loader.github.sync import CodeRun, listed
from course_lib.records import Chunk, Document, Skipped
from course_lib.settings import state_dir


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files of which version of a repository.

    Attributes
    ----------
    repo
        ``OWNER/NAME`` on the server in `GITHUB_API_URL`.
    ref
        A branch, a tag or a commit; ``HEAD`` is the default branch.
    extensions
        How the names of the files end (``.yaml``), or whole names (``Dockerfile``).
    paths
        Folders or files; empty for the whole repository.
    """

    repo: str
    ref: str
    extensions: Sequence[str]
    paths: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadOptions:
    """How to ask GitHub, where files are kept, and who is told.

    Attributes
    ----------
    token
        Who asks; None takes `GITHUB_TOKEN`, and an empty one means none. It goes to the API and
        nowhere else.
    dest
        The folder for files; by default one for each repository and ref, below the course's own.
    max_wait
        Seconds that rate limits may cost in all.
    partial
        Whether files that cannot be had are listed as `failed` instead of being an error.
    progress
        Whether to show a bar on a terminal.
    say
        Called with a sentence about what is noteworthy.
    """

    token: str | None = field(default=None, repr=False)
    dest: str | os.PathLike[str] | None = None
    max_wait: float = MAX_WAIT_SECONDS
    partial: bool = False
    progress: bool = False
    say: Callable[[str], None] = lambda sentence: None

    def client(self) -> GitHubClient:
        """Return who asks the server in `GITHUB_API_URL`; close it afterwards."""
        return open_client(self.token, self.max_wait)


@dataclass(frozen=True, slots=True)
class Download:
    """Files of one commit in a folder.

    Attributes
    ----------
    repo, ref, commit
        What was asked for, and the commit that the ref stood for.
    web
        The repository's page.
    folder
        Where the files are.
    files
        Path → hash of its content, for all files that were asked for and are there.
    skipped
        What is not text of this repository: submodules, pointers to Git LFS, links to elsewhere.
    failed
        What could not be had; empty unless partial results were allowed.
    fetched
        How many files came over the network in this run.
    targets
        Path of a symbolic link → path of the file that it leads to.
    """

    repo: str
    ref: str
    commit: str
    web: str
    folder: Path
    files: dict[str, str]
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Skipped, ...] = ()
    fetched: int = 0
    targets: Mapping[str, str] = field(default_factory=dict)

    def citation_url(
        self, path: str, line_start: int | None = None, line_end: int | None = None
    ) -> str:
        """Return where a reader finds the lines of a file, in this very commit.

        For a link, GitHub shows only where it leads to, so the file there is cited.
        """
        real = self.targets.get(path, path)
        return citation_url(self.web, self.commit, real, line_start, line_end)

    def documents(self, on_skip: Callable[[Skipped], None] | None = None) -> list[Document]:
        """Return the files that are texts, named by their paths; `on_skip` gets the others.

        Their metadata holds `commit`, `blob`, `ref` and `citation_url` as well.
        """
        report = on_skip or (lambda skipped: None)
        found = []
        for path, sha in sorted(self.files.items()):
            unread: list[Skipped] = []
            for document in read_documents(self.folder / path, on_skip=unread.append):
                metadata = document.metadata | {
                    "relative_path": path,
                    "ref": self.ref,
                    "commit": self.commit,
                    "blob": sha,
                    "citation_url": self.citation_url(path),
                }
                found.append(replace(document, name=path, metadata=metadata))
            for file in unread:
                report(Skipped(path, file.reason))
        return found


def download_github_code(selection: Selection, options: DownloadOptions | None = None) -> Download:
    """Bring a folder up to date with one revision of a repository.

    Files that the folder holds already at their paths cost no download. Where most of a version is
    missing, it comes as one archive, and otherwise file by file. A second run
    into the same folder waits until the first is done. What was stopped is completed by running it
    again.

    Parameters
    ----------
    selection
        Which files of which version.
    options
        How to ask, where to keep them, and who is told.

    Returns
    -------
    Download

    Raises
    ------
    InputError
        If an argument or the folder cannot be used.
    NotFoundError
        If there is no such repository, ref or path, or no file that was asked for.
    IncompleteDownloadError
        If files could not be had and `partial` is false. What was had is kept.
    GitHubError
        If GitHub refuses, cannot be reached, or lets us wait for too long; see `github.errors`.
    """
    options = options or DownloadOptions()
    repo, ref, dest = selection.repo, selection.ref, options.dest
    check_repository(repo)
    check_ref(ref)
    endings = check_endings(selection.extensions)
    paths = tuple(sorted(set(map(clean_path, selection.paths)) - {""}))
    folder = Path(dest) if dest is not None else default_folder(repo, ref)
    with (
        closing(options.client()) as api,
        Destination(folder, repo).open(options.say) as destination,
    ):
        run = CodeRun(api, destination, repo, ref, endings, paths)
        revision = run.bring_up_to_date(options.progress)
        note = destination.note
    download = Download(
        repo=repo,
        ref=ref,
        commit=revision.commit,
        web=revision.web,
        folder=folder,
        files=note.files,
        skipped=listed(run.skipped),
        failed=listed(run.failed),
        fetched=run.fetched,
        targets=run.targets,
    )
    if download.failed and not options.partial:
        raise _incomplete(download)
    return download


def cite(chunk: Chunk, web: str, commit: str, page: str) -> Chunk:
    """Return a record that says which commit it is from, and where its lines can be read.

    Parameters
    ----------
    chunk
        What a parser gave for a file of the repository.
    web, commit
        As in `Download`.
    page
        The `citation_url` of its document: for a link, it is that of the target.
    """
    base = citation_url(web, commit, "")
    path = unquote(page.removeprefix(base)) if page.startswith(base) else chunk.source_path
    url = citation_url(web, commit, path, chunk.line_start, chunk.line_end)
    meta = chunk.custom_meta | {"commitSha": commit, "citationUrl": url}
    return chunk.model_copy(update={"custom_meta": meta})


def default_folder(repo: str, ref: str) -> Path:
    """Return where a revision is kept unless one says otherwise."""
    return state_dir().joinpath("github", *repo.lower().split("/"), quote(ref, safe=""))


def _incomplete(download: Download) -> IncompleteDownloadError:
    failed = download.failed
    names = "".join(f"\n  {file.name} {file.reason}" for file in failed[:10])
    more = f"\n  and {len(failed) - 10} more" if len(failed) > 10 else ""
    return IncompleteDownloadError(
        f"{len(failed)} of {len(failed) + len(download.files)} files of {download.repo} could not "
        f"be had:{names}{more}",
        failed=failed,
        hint=f"The others are kept in {download.folder}. Run the same command again if the server "
        "or the disk was at fault. `course ingest-repo --partial` (in Python: partial=True) goes "
        "on without what cannot be had.",
    )
