"""GitHub's REST semantics for reading a repository: what each address answers.

Commits, trees, contents, blobs, archives and the raw host, with the limits that GitHub documents:
100,000 entries of a tree and 100 MB of a file. Every endpoint takes the repository that is asked
for and the request; the hosts are the first part of the path.
"""

from __future__ import annotations

import base64
import hashlib
import posixpath
from collections.abc import Callable
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from course_lib.teaching.github_server.archives import archive_of
from course_lib.teaching.github_server.git import LINK, Node, Repository
from course_lib.teaching.github_server.issues import list_comments, list_issues

Endpoint = Callable[[Repository, Request], Response]


@dataclass
class Sizes:
    """How much GitHub gives at once; lowered, so that few files meet a limit.

    Attributes
    ----------
    tree_entries
        Entries of one answer about a tree; with more it is truncated.
    raw_bytes
        The largest file.
    """

    tree_entries: int = 100_000
    raw_bytes: int = 100_000_000


def describe(repository: Repository, request: Request) -> Response:
    """Answer what a repository is."""
    return JSONResponse(
        {
            "full_name": repository.name,
            "private": repository.private,
            "default_branch": repository.default_branch,
            "html_url": f"{repository.web}/{repository.name}",
        }
    )


def commit(repository: Repository, request: Request) -> Response:
    """Answer which commit a ref stands for."""
    _check_not_empty(repository)
    ref = request.path_params["ref"]
    sha = repository.resolve(ref)
    if sha is None:
        raise HTTPException(422, f"No commit found for SHA: {ref}")
    page = f"{repository.web}/{repository.name}/commit/{sha}"
    tree_sha = repository.commits[sha].tree
    return JSONResponse({"sha": sha, "html_url": page, "commit": {"tree": {"sha": tree_sha}}})


def tree(repository: Repository, request: Request) -> Response:
    """Answer what is in a tree; with `recursive`, of whatever value, what is below it as well."""
    _check_not_empty(repository)
    sha = repository.tree_of(request.path_params["ref"])
    if sha is None:
        raise HTTPException(404, "Not Found")
    if "recursive" in request.query_params:
        entries = repository.walk(sha)
    else:
        entries = [(node.name, node) for node in repository.trees[sha]]
    listed = [
        {
            **{"path": path, "mode": node.mode, "type": node.type, "sha": node.sha},
            **({"size": len(repository.blobs[node.sha])} if node.type == "blob" else {}),
        }
        for path, node in entries[: request.state.sizes.tree_entries]
    ]
    return JSONResponse({"sha": sha, "tree": listed, "truncated": len(listed) < len(entries)})


def blob(repository: Repository, request: Request) -> Response:
    """Answer with the file that has a hash."""
    content = repository.blobs.get(request.path_params["sha"])
    if content is None:
        raise HTTPException(404, "Not Found")
    return _raw(content, request)


def contents(repository: Repository, request: Request) -> Response:
    """Answer with the file at a path, or the one that a link leads to: in base64, or raw."""
    ref = request.query_params.get("ref", "HEAD")
    root = repository.tree_of(ref)
    if root is None:
        raise HTTPException(404, f"No commit found for the ref {ref}")
    path = request.path_params["path"]
    node = repository.find(root, path)
    if node and node.mode == LINK:
        target = repository.blobs[node.sha].decode("utf-8")
        place = posixpath.join(posixpath.dirname(path), target)
        node = repository.find(root, posixpath.normpath(place))
    content = _content(repository, node)
    raw = _raw(content, request)
    if "raw" in request.headers.get("accept", ""):
        return raw
    return JSONResponse(
        {
            "path": path,
            "sha": node.sha if node else None,
            "size": len(content),
            "type": "file",
            "encoding": "base64",
            "content": base64.encodebytes(content).decode("ascii"),
        }
    )


def tarball(repository: Repository, request: Request) -> Response:
    """Lead to the archive of a ref, which another host has."""
    sha = repository.resolve(request.path_params["ref"])
    if sha is None:
        raise HTTPException(404, "Not Found")
    key = f"?token={_key(repository, sha)}" if repository.private else ""
    place = f"{request.state.codeload}/{repository.name}/legacy.tar.gz/{sha}{key}"
    return RedirectResponse(place, 302)


def archive(repository: Repository, request: Request) -> Response:
    """Answer with the archive of a commit."""
    sha = request.path_params["commit"]
    is_open = not repository.private or request.query_params.get("token") == _key(repository, sha)
    if sha not in repository.commits or not is_open:
        raise HTTPException(404, "Not Found")
    return Response(archive_of(repository, sha), media_type="application/x-gzip")


def raw_file(repository: Repository, request: Request) -> Response:
    """Answer with a public file as it is."""
    is_hidden = repository.private or repository.blocked or repository.denied
    root = None if is_hidden else repository.tree_of(request.path_params["ref"])
    node = repository.find(root, request.path_params["path"]) if root else None
    return PlainTextResponse(_content(repository, node))


API: dict[str, Endpoint] = {
    "": describe,
    "/commits/{ref:path}": commit,
    "/git/trees/{ref:path}": tree,
    "/git/blobs/{sha}": blob,
    "/contents/{path:path}": contents,
    "/tarball/{ref:path}": tarball,
    "/issues": list_issues,
    "/issues/comments": list_comments,
    "/issues/{issue:int}/comments": list_comments,
}
ENDPOINTS: dict[str, Endpoint] = {
    **{f"/api/repos/{{owner}}/{{name}}{path}": endpoint for path, endpoint in API.items()},
    **{f"/api/repositories/{{number:int}}{path}": endpoint for path, endpoint in API.items()},
    "/raw/{owner}/{name}/{ref}/{path:path}": raw_file,
    "/codeload/{owner}/{name}/legacy.tar.gz/{commit}": archive,
}
"""Path (host in front) → what answers it."""


def _check_not_empty(repository: Repository) -> None:
    if not repository.commits:
        raise HTTPException(409, "Git Repository is empty.")


def _content(repository: Repository, node: Node | None) -> bytes:
    if node is None or node.type != "blob":
        raise HTTPException(404, "Not Found")
    return repository.blobs[node.sha]


def _raw(content: bytes, request: Request) -> Response:
    if len(content) > request.state.sizes.raw_bytes:
        raise HTTPException(403, "This API returns blobs up to 100 MB in size.")
    return Response(content, media_type="application/vnd.github.raw+json")


def _key(repository: Repository, sha: str) -> str:
    """Return what opens the archive of a private repository without the caller's own token."""
    return hashlib.sha256(f"{repository.name} {sha}".encode()).hexdigest()[:20]
