"""Trees: the hash of a tree goes in, all its files come out, and which of them are wanted.

A tree is listed by its hash, which stands for one content forever: between listing and download
nothing can change unnoticed.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from course_lib.loader.github.errors import AnswerError

LINK, SUBMODULE, TREE = "120000", "160000", "040000"
MOST_LINKS = 40
"""More links than this, one after the other, are taken for a circle."""

LONGEST_LINK = 4_096
"""Characters of where a link points; no system follows a longer one."""

LFS_MARK = b"version https://git-lfs.github.com/spec/"
"""How a file begins that stands for a large one which is stored elsewhere (Git LFS)."""


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One entry of a tree.

    Attributes
    ----------
    path
        Relative to the tree that was asked for, with forward slashes.
    mode
        Git's: a file, a program, a link, a submodule, or a tree (a folder).
    sha
        The hash of its content; of a submodule, its commit.
    size
        In bytes, of files and links; None for trees and submodules.
    """

    path: str
    mode: str
    sha: str
    size: int | None = None


ReadTree = Callable[[str, bool], tuple[Sequence[TreeEntry], bool]]
"""(hash of a tree, with all that is below it?) → its entries, and whether they were truncated."""


def blob_sha(content: bytes) -> str:
    r"""Return the hash that git gives to a file's content, in hexadecimal.

    It is the SHA-1 of the word ``blob``, a space, the number of bytes, a NUL byte, and the bytes.

    Examples
    --------
    >>> blob_sha(b"hello\n")
    'ce013625030ba8dba906f756967f9e9ca394464a'
    >>> blob_sha(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    head = f"blob {len(content)}\0".encode("ascii")
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()


def list_tree(
    read: ReadTree, sha: str, prefix: str = "", within: Sequence[str] = ()
) -> list[TreeEntry]:
    """Return all files, links and submodules below a tree, however many there are.

    One request lists a tree with everything below it. If this is too much, the answer is truncated.
    Then one request lists the tree alone, and each folder in it is listed in the same way.

    Parameters
    ----------
    read
        Requests one tree.
    sha
        The hash of the tree.
    prefix
        Text before each path: empty, or a folder with a slash at its end.
    within
        Saves requests if folders have to be listed one by one. A folder is listed only if it is
        one of these paths, or is below one, or contains one. The result may still have other files.
        If it is empty, every folder is listed.

    Raises
    ------
    AnswerError
        If one folder alone has too many entries for one answer.

    Examples
    --------
    >>> trees = {"root": [TreeEntry("a.md", "100644", "1"), TreeEntry("sub", TREE, "2")],
    ...          "2": [TreeEntry("b.md", "100644", "3")]}
    >>> def read(sha, recursive):  # this server never lists more than one folder
    ...     return trees[sha], recursive and sha == "root"
    >>> [entry.path for entry in list_tree(read, "root")]
    ['a.md', 'sub/b.md']
    """
    entries, truncated = read(sha, True)
    if not truncated:
        files = [entry for entry in entries if entry.mode != TREE]
        return [replace(entry, path=prefix + entry.path) for entry in files]
    entries, truncated = read(sha, False)
    if truncated:
        raise AnswerError(
            f"the folder {prefix or '/'} has more entries than GitHub lists",
            hint="Nothing was changed. Clone the repository and use `course ingest` instead.",
        )
    found: list[TreeEntry] = []
    for entry in entries:
        path = prefix + entry.path
        if entry.mode != TREE:
            found.append(replace(entry, path=path))
        # This folder is below a wanted path, or contains one.
        elif not within or any(is_within(path, one) or is_within(one, path) for one in within):
            found += list_tree(read, entry.sha, f"{path}/", within)
    return found


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is a folder, or is below it; all are below the empty one.

    Examples
    --------
    >>> is_within("apps/kfp/a.yaml", "apps"), is_within("apps2/a.yaml", "apps")
    (True, False)
    """
    return not folder or path == folder or path.startswith(f"{folder}/")


def is_wanted(path: str, extensions: Iterable[str], paths: Sequence[str] = ()) -> bool:
    """Return whether a file is asked for.

    Parameters
    ----------
    path
        Where it is.
    extensions
        Endings of names (``.yaml``), or whole names (``Dockerfile``), in any case.
    paths
        Folders, or files, which count whatever they end in; empty for the whole repository.

    Examples
    --------
    >>> is_wanted("apps/a.YAML", [".yaml"]), is_wanted("Dockerfile", ["dockerfile"])
    (True, True)
    >>> is_wanted("apps/a.yaml", [".yaml"], ["common"])
    False
    """
    if path in paths:
        return True
    if paths and not any(is_within(path, folder) for folder in paths):
        return False
    name = path.rsplit("/", 1)[-1].lower()
    return any(
        name.endswith(ending) if ending.startswith(".") else name == ending
        for ending in map(str.lower, extensions)
    )


def is_folder(path: str, paths: Iterable[str]) -> bool:
    """Return whether one of some paths is below a path; the root is the empty one.

    A list of all folders could be far larger than the paths: one of 10,000 names has 10,000.

    Examples
    --------
    >>> paths = ["README.md", "apps-2/a.md", "apps/kfp/a.md"]
    >>> [path for path in ("", "apps", "apps/kfp", "app", "README.md") if is_folder(path, paths)]
    ['', 'apps', 'apps/kfp']
    """
    return not path or any(one.startswith(f"{path}/") for one in paths)


def follow_link(
    path: str,
    entries: Mapping[str, TreeEntry],
    text_of: Callable[[TreeEntry], str],
) -> TreeEntry:
    """Return the file that a symbolic link leads to, over other links if need be.

    Goes from name to name: `past` is the path so far, `ahead` are the names still to come. The
    name of a link is taken back, and the names in its text come next: they start from its folder.

    Parameters
    ----------
    path
        Where the link is.
    entries
        All files, links and submodules of the repository by their paths.
    text_of
        Gives the text of a link: where it points.

    Raises
    ------
    ValueError
        If it leads out of the repository, to a folder, to nothing, or in a circle, or is too long;
        the message says which.

    Examples
    --------
    >>> entries = {"docs/now.md": TreeEntry("docs/now.md", LINK, "1"),
    ...            "v2/a.md": TreeEntry("v2/a.md", "100644", "2")}
    >>> follow_link("docs/now.md", entries, lambda link: "../v2/a.md").path
    'v2/a.md'
    """
    ahead, past, links = deque(path.split("/")), list[str](), 0
    while ahead:
        part = ahead.popleft()
        if part in {"", "."}:
            continue
        if part == "..":
            if not past:
                raise ValueError("is a link that leads out of the repository")
            past.pop()
            continue
        past.append(part)
        entry = entries.get("/".join(past))
        if entry is None or entry.mode != LINK:
            continue  # a folder, a file, or nothing: which, is seen at the end
        links += 1
        if links > MOST_LINKS:
            raise ValueError("is a link that leads to itself")
        # One that is too long is not even asked for.
        text = text_of(entry) if (entry.size or 0) <= LONGEST_LINK else ""
        if not 0 < len(text) <= LONGEST_LINK:
            raise ValueError(f"is a link of no or of more than {LONGEST_LINK:,} characters")
        if text.startswith("/"):
            raise ValueError("is a link that leads out of the repository")
        past.pop()
        ahead.extendleft(reversed(text.split("/")))
    target = "/".join(past)
    found = entries.get(target)
    if found is None and is_folder(target, entries):
        raise ValueError(f"is a link to the folder {target or '/'}, whose files are listed there")
    if found is None or found.mode == SUBMODULE:
        raise ValueError(f"is a link to {target}, which is not in the repository")
    return found
