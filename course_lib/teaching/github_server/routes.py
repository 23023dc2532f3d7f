"""GitHub's REST semantics for reading a repository: a request goes in, an answer comes out.

Commits and refs, trees, contents, blobs, archives and the raw host, with the limits that GitHub
documents: 100,000 entries of a tree, 1,000 of a folder, 1 MB in base64 and 100 MB raw.
"""

from __future__ import annotations

import base64
import hashlib
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from course_lib.teaching.github_server.answers import (
    Answer,
    Request,
    json_answer,
    raw_answer,
    refusal,
)
from course_lib.teaching.github_server.archives import archive_of
from course_lib.teaching.github_server.git import LINK, SUBMODULE, TREE, Node, Repository
from course_lib.teaching.github_server.issues import issues_answer

NOT_FOUND = refusal(404, "Not Found")
_EMPTY = refusal(409, "Git Repository is empty.")


@dataclass
class Sizes:
    """How much GitHub gives at once; lowered, so that few files meet a limit.

    Attributes
    ----------
    tree_entries
        Entries of one answer about a tree; with more it is truncated.
    folder_entries
        Entries of a folder in the Contents API, which leaves out the others without a word.
    base64_bytes
        The largest file whose content stands in JSON.
    raw_bytes
        The largest file at all.
    """

    tree_entries: int = 100_000
    folder_entries: int = 1_000
    base64_bytes: int = 1_048_576
    raw_bytes: int = 100_000_000


def route(
    request: Request, repositories: Mapping[str, Repository], sizes: Sizes, codeload: str = ""
) -> Answer:
    """Answer a request.

    Parameters
    ----------
    request
        What is asked.
    repositories
        By their names in lower case.
    sizes
        How much is given at once.
    codeload
        Address of the host that gives archives, to which the API sends who asks for one.
    """
    parts = request.path.strip("/").split("/")
    if request.host == "raw":
        return _raw(request, repositories, parts)
    if request.host == "codeload":
        return _archive(request, repositories, parts)
    repository = None
    if parts[0] == "repos" and len(parts) >= 3:
        repository = repositories.get("/".join(parts[1:3]).lower())
        parts = parts[3:]
    elif parts[0] == "repositories" and len(parts) >= 2:
        found = {str(one.number): one for one in repositories.values()}
        repository = found.get(parts[1])
        parts = parts[2:]
    if repository is None or (repository.private and not request.token):
        return NOT_FOUND
    if repository.blocked:
        block = {"reason": repository.blocked, "html_url": f"{repository.web}/notices/1"}
        return refusal(451, "Repository access blocked", block=block)
    if repository.denied:
        return refusal(403, "Resource not accessible by personal access token")
    if not parts:
        return json_answer(
            {
                "id": repository.number,
                "full_name": repository.name,
                "private": repository.private,
                "default_branch": repository.default_branch,
                "html_url": f"{repository.web}/{repository.name}",
                "has_issues": repository.issues is not None,
            }
        )
    if parts[0] == "issues":
        return issues_answer(repository, request, parts[1:])
    if parts[0] == "tarball":
        return _to_archive(repository, "/".join(parts[1:]) or "HEAD", codeload)
    return _git(request, repository, parts, sizes)


def _to_archive(repository: Repository, ref: str, codeload: str) -> Answer:
    commit = repository.resolve(ref)
    if commit is None:
        return NOT_FOUND
    key = f"?token={_key(repository, commit)}" if repository.private else ""
    place = f"{codeload}/{repository.name}/legacy.tar.gz/{commit}{key}"
    return Answer(302, b"", {"Location": place})


def _archive(request: Request, repositories: Mapping[str, Repository], parts: list[str]) -> Answer:
    owner, name, form, commit, *_ = [*parts, "", "", "", ""]
    repository = repositories.get(f"{owner}/{name}".lower())
    if repository is None or form != "legacy.tar.gz" or commit not in repository.commits:
        return NOT_FOUND
    if repository.private and request.query.get("token") != _key(repository, commit):
        return NOT_FOUND
    return raw_answer(archive_of(repository, commit), "application/x-gzip")


def _key(repository: Repository, commit: str) -> str:
    """Return what opens the archive of a private repository without the caller's own token."""
    return hashlib.sha256(f"{repository.name} {commit}".encode()).hexdigest()[:20]


def _git(request: Request, repository: Repository, parts: list[str], sizes: Sizes) -> Answer:
    rest = "/".join(parts[1:])
    deeper = "/".join(parts[2:])
    if parts[0] == "commits" and rest:
        return _commit(request, repository, rest)
    if parts[0] == "contents":
        return _contents(request, repository, rest, sizes)
    if parts[:2] == ["git", "ref"] and deeper:
        sha = repository.refs.get(deeper)
        ref = {"ref": f"refs/{deeper}", "object": {"type": "commit", "sha": sha}}
        return json_answer(ref) if sha else NOT_FOUND
    if parts[:2] == ["git", "commits"]:
        known = repository.commits.get(deeper)
        return json_answer({"sha": known.sha, "tree": {"sha": known.tree}}) if known else NOT_FOUND
    if parts[:2] == ["git", "trees"] and deeper:
        return _tree(request, repository, deeper, sizes)
    if parts[:2] == ["git", "blobs"]:
        return _blob(request, repository, deeper, sizes)
    return NOT_FOUND


def _commit(request: Request, repository: Repository, ref: str) -> Answer:
    if not repository.commits:
        return _EMPTY
    sha = repository.resolve(ref)
    if sha is None:
        return refusal(422, f"No commit found for SHA: {ref}")
    if "sha" in request.headers.get("accept", "").removeprefix("application/vnd.github."):
        return raw_answer(sha.encode(), "application/vnd.github.sha")
    commit = repository.commits[sha]
    return json_answer(
        {
            "sha": sha,
            "html_url": f"{repository.web}/{repository.name}/commit/{sha}",
            "commit": {
                "message": commit.message,
                "committer": {"name": "Heron", "date": commit.date},
                "tree": {"sha": commit.tree},
            },
            "parents": [{"sha": parent} for parent in commit.parents],
        }
    )


def _tree(request: Request, repository: Repository, name: str, sizes: Sizes) -> Answer:
    if not repository.commits:
        return _EMPTY
    tree = repository.tree_of(name)
    if tree is None:
        return NOT_FOUND
    # Any value switches it on, "0" and "false" too.
    if "recursive" in request.query:
        entries = repository.walk(tree)
    else:
        entries = [(node.name, node) for node in repository.trees[tree]]
    listed = [
        {
            "path": path,
            "mode": node.mode,
            "type": node.type,
            "sha": node.sha,
            **({"size": len(repository.blobs[node.sha])} if node.type == "blob" else {}),
        }
        for path, node in entries[: sizes.tree_entries]
    ]
    return json_answer({"sha": tree, "tree": listed, "truncated": len(listed) < len(entries)})


def _blob(request: Request, repository: Repository, sha: str, sizes: Sizes) -> Answer:
    content = repository.blobs.get(sha)
    if content is None:
        return NOT_FOUND
    if len(content) > sizes.raw_bytes:
        return _too_large()
    if request.wants_raw:
        return raw_answer(content)
    return json_answer(
        {
            "sha": sha,
            "size": len(content),
            "encoding": "base64",
            "content": base64.encodebytes(content).decode("ascii"),
        }
    )


def _contents(request: Request, repository: Repository, path: str, sizes: Sizes) -> Answer:
    if not repository.commits:
        return refusal(404, "This repository is empty.")
    ref = request.query.get("ref", "HEAD")
    tree = repository.tree_of(ref)
    if tree is None:
        return refusal(404, f"No commit found for the ref {ref}")
    node = repository.find(tree, path)
    if node is None:
        return NOT_FOUND
    if node.mode == TREE:
        inner = repository.trees[node.sha][: sizes.folder_entries]
        return json_answer([_described(repository, _below(path, one.name), one) for one in inner])
    if node.mode == SUBMODULE:
        return json_answer(_described(repository, path, node) | {"type": "submodule"})
    if node.mode == LINK:
        target = posixpath.normpath(
            posixpath.join(posixpath.dirname(path), repository.blobs[node.sha].decode("utf-8"))
        )
        aim = repository.find(tree, target)
        if aim is None or aim.type != "blob":
            text = repository.blobs[node.sha].decode("utf-8")
            described = _described(repository, path, node)
            return json_answer(described | {"type": "symlink", "target": text})
        node = aim
    content = repository.blobs[node.sha]
    if len(content) > sizes.raw_bytes:
        return _too_large()
    if request.wants_raw:
        return raw_answer(content)
    small = len(content) <= sizes.base64_bytes
    return json_answer(
        _described(repository, path, node)
        | {
            "encoding": "base64" if small else "none",
            "content": base64.encodebytes(content).decode("ascii") if small else "",
        }
    )


def _raw(request: Request, repositories: Mapping[str, Repository], parts: list[str]) -> Answer:
    repository = repositories.get("/".join(parts[:2]).lower())
    hidden = repository and (repository.private or repository.blocked or repository.denied)
    if repository is None or hidden:
        return Answer(404, b"404: Not Found", {"Content-Type": "text/plain"})
    for end in range(3, len(parts)):
        # A ref may hold slashes: the shortest beginning that is one counts.
        tree = repository.tree_of("/".join(parts[2:end]))
        node = repository.find(tree, "/".join(parts[end:])) if tree else None
        if node and node.type == "blob":
            return raw_answer(repository.blobs[node.sha], "text/plain; charset=utf-8")
    return Answer(404, b"404: Not Found", {"Content-Type": "text/plain"})


def _described(repository: Repository, path: str, node: Node) -> dict[str, Any]:
    return {
        "name": path.rsplit("/", 1)[-1],
        "path": path,
        "sha": node.sha,
        "size": len(repository.blobs.get(node.sha, b"")),
        # Submodules are listed as files, as on GitHub.
        "type": "dir" if node.mode == TREE else "symlink" if node.mode == LINK else "file",
        "html_url": f"{repository.web}/{repository.name}/blob/HEAD/{quote(path)}",
    }


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _too_large() -> Answer:
    return refusal(
        403,
        "This API returns blobs up to 100 MB in size.",
        errors=[{"resource": "Blob", "field": "data", "code": "too_large"}],
    )
