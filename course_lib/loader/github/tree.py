"""Trees: the hash of a tree goes in, all its files come out, and which of them are wanted.

A tree is listed by its hash, which stands for one content forever: between listing and download
nothing can change unnoticed.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

LINK, SUBMODULE, TREE = "120000", "160000", "040000"
MOST_LINKS = 40
"""More links than this, one after the other, are taken for a circle."""

LONGEST_LINK = 4_096
"""Characters of where a link points; no system follows a longer one."""


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

    First ask for the tree with everything below it.
    If this answer is truncated, ignore it, and ask for the tree alone.
    Then list each folder in it in the same way, if `leads_to(path of the folder, within)`.
    Folders have the mode `TREE`. They are not in the result.
    Put `prefix` before each path. Mode, hash and size stay.

    Parameters
    ----------
    read
        ``read(sha, True)`` asks for a tree with everything below it, ``read(sha, False)`` alone.
        It returns the entries, and whether they are truncated. Here, a tree alone never is.
    sha
        The hash of the tree.
    prefix
        Empty, or a folder with a slash at its end.
    within
        The wanted paths; empty for all. Use them only to save requests. The result may have
        other files, too.

    Examples
    --------
    >>> trees = {"root": [TreeEntry("a.md", "100644", "1"), TreeEntry("sub", TREE, "2")],
    ...          "2": [TreeEntry("b.md", "100644", "3")]}
    >>> def read(sha, recursive):  # one folder an answer
    ...     return trees[sha], recursive and sha == "root"
    >>> [entry.path for entry in list_tree(read, "root")]
    ['a.md', 'sub/b.md']
    """
    entries, truncated = read(sha, True)
    if truncated:
        entries, _ = read(sha, False)
    found: list[TreeEntry] = []
    for entry in entries:
        path = prefix + entry.path
        if entry.mode != TREE:
            found.append(replace(entry, path=path))
        elif truncated and leads_to(path, within):
            found += list_tree(read, entry.sha, f"{path}/", within)
    return found


def leads_to(folder: str, within: Sequence[str]) -> bool:
    """Return whether a folder is below one of some paths, or contains one; all do without paths.

    Examples
    --------
    >>> [leads_to(folder, ["apps/kfp"]) for folder in ("apps", "apps/kfp/base", "web")]
    [True, True, False]
    """
    return not within or any(is_within(folder, one) or is_within(one, folder) for one in within)


def plan_update(
    listed: Mapping[str, str], kept: Mapping[str, str]
) -> tuple[dict[str, list[str]], set[str]]:
    """Return what has to be downloaded, and what has to be removed.

    A file is up to date if a file of this path is kept and has the listed hash.
    Download the content of all other listed files: each content once.
    Remove each kept file that is no longer listed.

    Parameters
    ----------
    listed, kept
        Path → hash of the content: of the version that is wanted, and of the files that we have.

    Returns
    -------
    tuple
        Hash → paths that need this content, in the order of `listed`; and the set of paths to
        remove.

    Examples
    --------
    >>> plan_update({"a.md": "1", "b.md": "2", "c.md": "2"}, {"a.md": "1", "old.md": "9"})
    ({'2': ['b.md', 'c.md']}, {'old.md'})
    """
    missing: dict[str, list[str]] = {}
    for path, sha in listed.items():
        if kept.get(path) != sha:
            missing.setdefault(sha, []).append(path)
    return missing, kept.keys() - listed.keys()


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
