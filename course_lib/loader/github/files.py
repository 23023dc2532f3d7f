"""What a download asks GitHub for: the commit of a ref, its tree, and the contents of files.

Files come a few at a time; see `github.archive` for many at once. Whatever comes is held against
the hash that was listed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from course_lib.addresses import is_link
from course_lib.loader.github.answers import RAW
from course_lib.loader.github.client import GitHubClient
from course_lib.loader.github.errors import (
    AnswerError,
    NotFoundError,
    TooLongError,
    UnreachableError,
)
from course_lib.loader.github.names import is_sha
from course_lib.loader.github.tree import LINK, TREE, ReadTree, TreeEntry, blob_sha

MOST_FILE_BYTES = 100_000_000
"""GitHub gives no larger file."""

CONCURRENCY = 4
"""Requests at once; GitHub asks for few."""

UNREACHABLE_IN_A_ROW = 5
"""So many files in a row, as they end, for which the server does not answer end the download."""


class UnavailableError(Exception):
    """One file cannot be had; the message says why, and the others go on."""


@dataclass(frozen=True, slots=True)
class Revision:
    """What a ref stands for now.

    Attributes
    ----------
    commit, tree
        Hashes of the commit and of its tree.
    web
        The repository's page.
    """

    commit: str
    tree: str
    web: str


def resolve_ref(client: GitHubClient, repo: str, ref: str) -> Revision:
    """Return the commit that a ref stands for.

    Raises
    ------
    NotFoundError
        If there is no such repository, or no such ref in it; the message says which.
    GitHubError
        If it has no commit yet; `GitHubClient.get` raises it.
    """
    place = f"repos/{repo}/commits/{quote(ref, safe='/')}"
    try:
        # A commit lists the files that it changes, up to 300 a page; one is enough.
        value = _object(client.json(place, {"per_page": "1"}), "a commit")
    except NotFoundError:
        try:
            known = client.json(f"repos/{repo}")
        except NotFoundError as error:
            raise NotFoundError(f"there is no repository {repo}", hint=error.hint) from None
        raise NotFoundError(
            f"{repo} has no branch, tag or commit {ref}",
            hint=f"Its default branch is {_text(known, 'default_branch') or 'not told'}.",
        ) from None
    commit, tree = _text(value, "sha"), _text(value, "commit", "tree", "sha")
    if not is_sha(commit) or not is_sha(tree):
        raise AnswerError(f"{repo} gave no commit for {ref}")
    page, _, _ = _text(value, "html_url").partition("/commit/")
    is_page = page.isascii() and is_link(page)
    web = page if is_page else f"https://github.com/{repo}"
    return Revision(commit, tree, web)


def tree_reader(client: GitHubClient, repo: str) -> ReadTree:
    """Return what asks for one tree of a repository, as `list_tree` wants it.

    It ends with an AnswerError where a folder alone is too large for one answer.
    """

    def read(sha: str, recursive: bool) -> tuple[Sequence[TreeEntry], bool]:
        place = f"repos/{repo}/git/trees/{sha}"
        value = _object(client.json(place, {"recursive": "1"} if recursive else None), "a tree")
        listed = value.get("tree")
        if not isinstance(listed, list):
            raise AnswerError(f"a tree of {repo} has no list")
        truncated = bool(value.get("truncated"))
        if truncated and not recursive:
            raise AnswerError(
                f"a folder of {repo} has more entries than GitHub lists",
                hint="Nothing was changed. Clone the repository and use `course ingest` instead.",
            )
        return [_entry(one) for one in listed], truncated

    return read


# --- one file ---


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads files of one commit.

    Attributes
    ----------
    api
        Whom to ask.
    repo, commit
        Which revision.
    """

    api: GitHubClient
    repo: str
    commit: str

    def read(self, entry: TreeEntry) -> bytes:
        """Return the content of a file, or the text of a link.

        Raises
        ------
        UnavailableError
            If it is too large, or what came is not what was listed.
        GitHubError
            As `GitHubClient.get`.
        """
        if (entry.size or 0) > MOST_FILE_BYTES:
            size = (entry.size or 0) / 1e6
            raise UnavailableError(f"has {size:.0f} MB; GitHub gives 100 MB at most")
        # The raw host costs none of the requests that are counted, but has no text of links. What
        # it does not give, or gives otherwise than it was listed, is asked for by its hash.
        ways = (self._raw_host if self.api.raw and entry.mode != LINK else self._blob, self._blob)
        reason = ""
        for ask in ways:
            try:
                content = ask(entry)
            except NotFoundError:
                reason = reason or "is not there any more"
                continue
            except TooLongError:
                reason = "is longer than what was listed"
                continue
            found = blob_sha(content)
            if found == entry.sha:
                return content
            reason = (
                f"is not what was listed: its SHA-1 is {found[:12]}… instead of {entry.sha[:12]}…"
            )
        raise UnavailableError(reason)

    def _blob(self, entry: TreeEntry) -> bytes:
        place = f"repos/{self.repo}/git/blobs/{entry.sha}"
        return self.api.get(place, accept=RAW, most_bytes=_most_bytes(entry)).body

    def _raw_host(self, entry: TreeEntry) -> bytes:
        place = f"{self.api.raw}/{self.repo}/{self.commit}/{quote(entry.path, safe='/')}"
        return self.api.get(place, accept="*/*", most_bytes=_most_bytes(entry)).body


def _most_bytes(entry: TreeEntry) -> int:
    """Return how long an answer with a file may be; packed, a small one is a little longer."""
    return (MOST_FILE_BYTES if entry.size is None else entry.size) + 1_000


def fetch_all(
    read: Callable[[TreeEntry], bytes], entries: Sequence[TreeEntry]
) -> Iterator[tuple[TreeEntry, bytes | BaseException]]:
    """Read files, a few at a time, and yield each with its content, or why it cannot be had.

    An UnavailableError is about one file; an UnreachableError is about the server, and ends all of
    it where it comes several times in a row.

    Raises
    ------
    GitHubError
        What ends it all: a limit that takes too long, a token that is refused, or a server that
        has stopped answering.
    """
    in_a_row = 0
    pool = ThreadPoolExecutor(CONCURRENCY)
    try:
        running = {pool.submit(read, entry): entry for entry in entries}
        for future in as_completed(running):
            entry, error = running.pop(future), future.exception()
            in_a_row = in_a_row + 1 if isinstance(error, UnreachableError) else 0
            if isinstance(error, UnavailableError) or 0 < in_a_row < UNREACHABLE_IN_A_ROW:
                yield entry, error or b""
            else:
                yield entry, future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


# --- JSON ---


def _entry(value: Any) -> TreeEntry:
    path, mode, sha = (_text(value, name) for name in ("path", "mode", "sha"))
    # A folder without a name is let pass here: its files are refused one by one, by their paths.
    if not (path or mode == TREE) or not mode or not is_sha(sha):
        raise AnswerError("a tree has an entry of another form")
    size = value.get("size")
    is_size = isinstance(size, int) and 0 <= size < 2**63
    return TreeEntry(path, mode, sha, size if is_size else None)


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise AnswerError(f"the answer is not {what}")
    return value


def _text(value: Any, *keys: str) -> str:
    """Return the text at some keys of a JSON object, or nothing where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""
