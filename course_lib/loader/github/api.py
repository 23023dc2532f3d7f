"""The parts of GitHub's REST API that a download needs: refs, trees, and files by their size.

A file of 1 MB or less comes as JSON in base64, one of up to 100 MB as it is, and a larger one not
at all. Whatever comes is held against the hash that was listed.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from course_lib.loader.github.answers import RAW
from course_lib.loader.github.client import GitHubClient
from course_lib.loader.github.errors import AnswerError, NotFoundError
from course_lib.loader.github.names import is_sha
from course_lib.loader.github.tree import LINK, TREE, ReadTree, TreeEntry, blob_sha

MOST_BASE64, MOST_RAW = 1_000_000, 100_000_000


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
    etag
        With it, the same question costs nothing as long as the answer is the same.
    """

    commit: str
    tree: str
    web: str
    etag: str = ""


def resolve_ref(client: GitHubClient, repo: str, ref: str, etag: str = "") -> Revision | None:
    """Return the commit that a ref stands for; None if it is the one that `etag` came with.

    Raises
    ------
    NotFoundError
        If there is no such repository, or no such ref in it; the message says which.
    EmptyRepositoryError
        If it has no commit yet.
    """
    place = f"repos/{repo}/commits/{quote(ref, safe='/')}"
    try:
        # A commit lists the files that it changes, up to 300 a page; one is enough.
        answer = client.get(place, {"per_page": "1"}, etag=etag)
    except NotFoundError:
        try:
            known = client.json(f"repos/{repo}")
        except NotFoundError as error:
            raise NotFoundError(f"there is no repository {repo}", hint=error.hint) from None
        raise NotFoundError(
            f"{repo} has no branch, tag or commit {ref}",
            hint=f"Its default branch is {_text(known, 'default_branch') or 'not told'}.",
        ) from None
    if answer.status == 304:
        return None
    value = _object(json.loads(answer.body), "a commit")
    commit, tree = _text(value, "sha"), _text(value, "commit", "tree", "sha")
    if not is_sha(commit) or not is_sha(tree):
        raise AnswerError(f"{repo} gave no commit for {ref}", hint="Check GITHUB_API_URL.")
    page, _, _ = _text(value, "html_url").partition("/commit/")
    web = page if page.startswith(("https://", "http://")) else f"https://github.com/{repo}"
    return Revision(commit, tree, web, answer.headers.get("etag", ""))


def tree_reader(client: GitHubClient, repo: str) -> ReadTree:
    """Return what asks for one tree of a repository: see `list_tree`."""

    def read(sha: str, recursive: bool) -> tuple[Sequence[TreeEntry], bool]:
        place = f"repos/{repo}/git/trees/{sha}"
        value = _object(client.json(place, {"recursive": "1"} if recursive else None), "a tree")
        entries = [_entry(one) for one in value.get("tree") or ()]
        return entries, bool(value.get("truncated"))

    return read


@dataclass(frozen=True, slots=True)
class FileReader:
    """Reads files of one commit.

    Attributes
    ----------
    api
        The REST API.
    raw
        The host of raw files; None to do without it.
    repo, commit
        Which revision.
    """

    api: GitHubClient
    raw: GitHubClient | None
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
        size = entry.size or 0
        if size > MOST_RAW:
            raise UnavailableError(f"has {size / 1e6:.0f} MB; GitHub gives 100 MB at most")
        reason = ""
        for way in self._ways(entry, size):
            try:
                content = way(entry)
            except NotFoundError:
                reason = reason or "is not there any more"
                continue
            found = blob_sha(content)
            if found == entry.sha:
                return content
            reason = (
                f"is not what was listed: its SHA-1 is {found[:12]}… instead of {entry.sha[:12]}…"
            )
        raise UnavailableError(reason)

    def _ways(self, entry: TreeEntry, size: int) -> Sequence[Callable[[TreeEntry], bytes]]:
        """Return how to get a file, the best way first; the last asks for it by its hash."""
        if entry.mode == LINK:
            # The Contents API gives the file that a link leads to.
            return (self._blob,)
        if self.raw:
            return (self._raw_host, self._raw_blob)
        return (self._contents if size <= MOST_BASE64 else self._raw_contents, self._raw_blob)

    def _contents(self, entry: TreeEntry) -> bytes:
        return _decoded(self.api.json(self._place(entry), {"ref": self.commit}))

    def _raw_contents(self, entry: TreeEntry) -> bytes:
        return self.api.get(self._place(entry), {"ref": self.commit}, accept=RAW).body

    def _blob(self, entry: TreeEntry) -> bytes:
        return _decoded(self.api.json(f"repos/{self.repo}/git/blobs/{entry.sha}"))

    def _raw_blob(self, entry: TreeEntry) -> bytes:
        return self.api.get(f"repos/{self.repo}/git/blobs/{entry.sha}", accept=RAW).body

    def _raw_host(self, entry: TreeEntry) -> bytes:
        assert self.raw is not None
        place = f"{self.repo}/{self.commit}/{quote(entry.path, safe='/')}"
        return self.raw.get(place, accept="*/*").body

    def _place(self, entry: TreeEntry) -> str:
        return f"repos/{self.repo}/contents/{quote(entry.path, safe='/')}"


def _entry(value: Any) -> TreeEntry:
    path, mode, sha = (_text(value, name) for name in ("path", "mode", "sha"))
    if not (path or mode == TREE) or not mode or not is_sha(sha):
        raise AnswerError("a tree has an entry of another form", hint="Check GITHUB_API_URL.")
    size = value.get("size")
    return TreeEntry(path, mode, sha, size if isinstance(size, int) else None)


def _decoded(value: Any) -> bytes:
    """Return the content out of JSON; nothing where it is not there, as for a file over 1 MB."""
    content, encoding = _text(value, "content"), _text(value, "encoding")
    try:
        return base64.b64decode(content) if encoding == "base64" else b""
    except ValueError:
        return b""


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise AnswerError(f"the answer is not {what}", hint="Check GITHUB_API_URL.")
    return value


def _text(value: Any, *keys: str) -> str:
    """Return the text at some keys of a JSON object, or nothing where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""
