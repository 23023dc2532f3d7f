"""A repository in memory: files go in, git's own objects come out: blobs, trees, commits, refs.

The hashes are git's, so that a client can verify what it downloads as it would against GitHub. A
name is stored as it is given, however hostile: to refuse it is the client's business.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

FILE, PROGRAM, LINK, SUBMODULE, TREE = "100644", "100755", "120000", "160000", "040000"
_SHORT = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is at a path: a file, the target of a link, or the commit of a submodule."""

    content: bytes
    mode: str = FILE


def link(target: str) -> Entry:
    """Return a symbolic link."""
    return Entry(target.encode("utf-8"), LINK)


def submodule(commit: str) -> Entry:
    """Return a submodule that is at a commit of another repository."""
    return Entry(commit.encode("ascii"), SUBMODULE)


@dataclass(frozen=True, slots=True)
class Node:
    """One entry of a tree."""

    name: str
    mode: str
    sha: str

    @property
    def type(self) -> str:
        """What GitHub calls it: blob, tree or commit."""
        return {TREE: "tree", SUBMODULE: "commit"}.get(self.mode, "blob")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: the tree that it stands for, and the commits before it."""

    sha: str
    tree: str
    parents: tuple[str, ...]


def object_sha(kind: str, body: bytes) -> str:
    r"""Return the name that git gives to an object.

    Examples
    --------
    >>> object_sha("blob", b"hello\n")
    'ce013625030ba8dba906f756967f9e9ca394464a'
    """
    return hashlib.sha1(_with_head(kind, body), usedforsecurity=False).hexdigest()


def _with_head(kind: str, body: bytes) -> bytes:
    return f"{kind} {len(body)}\0".encode() + body


@dataclass
class Repository:
    r"""A repository and its issues.

    Attributes
    ----------
    name
        ``owner/name``.
    default_branch
        What ``HEAD`` stands for.
    web
        Where its pages would be: the host does not exist, so that nobody takes it for GitHub.
    issues
        Issues and pull requests, as `read_issues` gives them; None where they are switched off.
    private
        Whether one without a token is told that there is no such repository.
    denied
        Whether the token's rights do not suffice (403).
    blocked
        Whether it may not be shown, for legal reasons (451).

    Examples
    --------
    >>> repository = Repository("heron/platform")
    >>> sha = repository.commit({"README.md": b"# Heron\n"}, tag="v1.0")
    >>> repository.resolve("v1.0") == repository.resolve("main") == sha
    True
    """

    name: str
    default_branch: str = "main"
    web: str = "https://github.example"
    issues: list[dict[str, Any]] | None = field(default_factory=list)
    private: bool = False
    denied: bool = False
    blocked: bool = False
    refs: dict[str, str] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    trees: dict[str, tuple[Node, ...]] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def number(self) -> int:
        """The number by which links to further pages name it."""
        return int(hashlib.sha256(self.name.lower().encode()).hexdigest()[:7], 16)

    def commit(
        self,
        files: Mapping[str, Entry | bytes],
        *,
        branch: str | None = None,
        tag: str | None = None,
        message: str = "A change",
        date: str = "2024-03-01T09:00:00Z",
    ) -> str:
        """Add a commit whose tree holds exactly these files, and return its name.

        Parameters
        ----------
        files
            Path → content. Folders come about by themselves.
        branch
            Which branch moves to it; the default one if None.
        tag
            A tag that is set to it as well.
        message, date
            What the commit says; the date in ISO 8601, with a Z.
        """
        branch = branch or self.default_branch
        given = {path: one if isinstance(one, Entry) else Entry(one) for path, one in files.items()}
        tree = self._add_tree(given)
        before = self.refs.get(f"heads/{branch}")
        parents = (before,) if before else ()
        when = f"Heron <heron@example.com> {int(datetime.fromisoformat(date).timestamp())} +0000"
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {when}", f"committer {when}", "", message, ""]
        body = "\n".join(lines)
        sha = self._keep("commit", body.encode("utf-8"))
        self.commits[sha] = Commit(sha, tree, parents)
        self.refs[f"heads/{branch}"] = sha
        if tag:
            self.refs[f"tags/{tag}"] = sha
        return sha

    def write_bare(self, folder: Path) -> Path:
        """Write it to a new folder as a bare repository, which git itself can clone."""
        files = {
            f"objects/{sha[:2]}/{sha[2:]}": zlib.compress(one) for sha, one in self.objects.items()
        }
        files |= {f"refs/{name}": f"{sha}\n".encode() for name, sha in self.refs.items()}
        files["HEAD"] = f"ref: refs/heads/{self.default_branch}\n".encode()
        # As GitHub does: a client may leave out blobs, and ask for some of them later.
        options = "\tallowFilter = true\n\tallowAnySHA1InWant = true\n"
        files["config"] = f"[core]\n\tbare = true\n[uploadpack]\n{options}".encode()
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return folder

    def resolve(self, ref: str) -> str | None:
        """Return the commit that a branch, a tag, HEAD or the beginning of a hash stands for."""
        if ref in self.commits:
            return ref
        if ref == "HEAD":
            ref = f"heads/{self.default_branch}"
        short = ref.removeprefix("refs/")
        for name in (short, f"heads/{short}", f"tags/{short}"):
            if name in self.refs:
                return self.refs[name]
        if _SHORT.fullmatch(ref):
            found = [sha for sha in self.commits if sha.startswith(ref)]
            return found[0] if len(found) == 1 else None
        return None

    def tree_of(self, name: str) -> str | None:
        """Return the tree that a hash of a tree or a commit, or a ref, stands for."""
        if name in self.trees:
            return name
        sha = self.resolve(name)
        return self.commits[sha].tree if sha else None

    def find(self, tree: str, path: str) -> Node | None:
        """Return what is at a path below a tree; the tree itself for an empty path."""
        node = Node("", TREE, tree)
        for part in path.split("/") if path else ():
            if node.mode != TREE:
                return None
            found = [one for one in self.trees[node.sha] if one.name == part]
            if not found:
                return None
            node = found[0]
        return node

    def walk(self, tree: str, prefix: str = "") -> list[tuple[str, Node]]:
        """Return everything below a tree with its path, a folder before what is in it."""
        found: list[tuple[str, Node]] = []
        for node in self.trees[tree]:
            path = f"{prefix}{node.name}"
            found.append((path, node))
            if node.mode == TREE:
                found += self.walk(node.sha, f"{path}/")
        return found

    def _add_tree(self, files: Mapping[str, Entry]) -> str:
        folders: dict[str, dict[str, Entry]] = {}
        nodes = []
        for path, entry in files.items():
            head, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(head, {})[rest] = entry
            elif entry.mode == SUBMODULE:
                nodes.append(Node(head, SUBMODULE, entry.content.decode("ascii")))
            else:
                sha = self._keep("blob", entry.content)
                self.blobs[sha] = entry.content
                nodes.append(Node(head, entry.mode, sha))
        nodes += [Node(name, TREE, self._add_tree(inner)) for name, inner in folders.items()]
        # Git sorts a folder as if its name ended in a slash.
        nodes.sort(key=lambda node: (node.name + ("/" if node.mode == TREE else "")).encode())
        body = b"".join(
            f"{node.mode.removeprefix('0')} {node.name}\0".encode() + bytes.fromhex(node.sha)
            for node in nodes
        )
        sha = self._keep("tree", body)
        self.trees[sha] = tuple(nodes)
        return sha

    def _keep(self, kind: str, body: bytes) -> str:
        sha = object_sha(kind, body)
        self.objects[sha] = _with_head(kind, body)
        return sha


def read_folder(folder: Path, at: str = "") -> dict[str, Entry]:
    """Return path → entry for the files of a folder, below the path `at`; shell scripts may run.

    Files and folders whose names begin with a dot are left out, but ``.gitattributes``.
    """
    found: dict[str, Entry] = {}
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in inner.parts) and path.name != ".gitattributes"
        if path.is_file() and not hidden and "__pycache__" not in inner.parts:
            name = f"{at}/{inner.as_posix()}" if at else inner.as_posix()
            found[name] = Entry(path.read_bytes(), PROGRAM if path.suffix == ".sh" else FILE)
    return found
