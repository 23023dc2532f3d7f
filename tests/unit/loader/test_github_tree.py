"""Trees: git's hashes, listings of any size, what is wanted, and where links lead."""

import subprocess
from pathlib import Path

import pytest

from course_lib.loader.github.errors import AnswerError
from course_lib.loader.github.tree import (
    LINK,
    SUBMODULE,
    TREE,
    TreeEntry,
    blob_sha,
    follow_link,
    is_folder,
    is_wanted,
    is_within,
    list_tree,
)

FILE = "100644"


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\0\xff" * 1000, "ünïcode\r\n".encode()])
def test_a_blobs_hash_is_the_one_that_git_gives(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    told = subprocess.run(
        ["git", "hash-object", "--no-filters", "file"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert blob_sha(content) == told.stdout.strip()


class Server:
    """Lists folders, and no more than so many entries at once."""

    def __init__(self, folders: dict[str, list[TreeEntry]], most: int) -> None:
        self.folders = folders
        self.most = most
        self.asked: list[tuple[str, bool]] = []

    def read(self, sha: str, recursive: bool) -> tuple[list[TreeEntry], bool]:
        self.asked.append((sha, recursive))
        found = self.walk(sha) if recursive else self.folders[sha]
        return found[: self.most], len(found) > self.most

    def walk(self, sha: str, prefix: str = "") -> list[TreeEntry]:
        found = []
        for entry in self.folders[sha]:
            found.append(TreeEntry(prefix + entry.path, entry.mode, entry.sha, entry.size))
            if entry.mode == TREE:
                found += self.walk(entry.sha, f"{prefix}{entry.path}/")
        return found


def folder(name: str, sha: str) -> TreeEntry:
    return TreeEntry(name, TREE, sha)


def files(*names: str) -> list[TreeEntry]:
    return [TreeEntry(name, FILE, name, 1) for name in names]


FOLDERS = {
    "root": [*files("a"), folder("x", "X"), folder("y", "Y")],
    "X": [*files("b", "c"), folder("deep", "D")],
    "D": files("d", "e"),
    "Y": files("f"),
}
ALL = ["a", "x/b", "x/c", "x/deep/d", "x/deep/e", "y/f"]


def test_a_tree_that_fits_costs_one_request() -> None:
    server = Server(FOLDERS, most=100)
    assert [entry.path for entry in list_tree(server.read, "root")] == ALL
    assert server.asked == [("root", True)]


@pytest.mark.parametrize("most", [3, 4, 5, 8])
def test_a_truncated_tree_is_listed_folder_by_folder_and_whole(most: int) -> None:
    server = Server(FOLDERS, most)
    assert [entry.path for entry in list_tree(server.read, "root")] == ALL
    assert server.asked[:2] == [("root", True), ("root", False)]


def test_only_folders_on_the_way_to_what_is_wanted_are_listed() -> None:
    server = Server(FOLDERS, most=3)
    found = list_tree(server.read, "root", within=["x/deep"])
    assert [entry.path for entry in found] == ["a", "x/b", "x/c", "x/deep/d", "x/deep/e"]
    assert ("Y", True) not in server.asked


def test_a_folder_that_is_too_much_by_itself_is_an_error_and_no_gap() -> None:
    with pytest.raises(AnswerError, match="the folder / has more entries than GitHub lists"):
        list_tree(Server(FOLDERS, most=2).read, "root")


def test_links_and_submodules_are_listed_and_folders_are_not() -> None:
    entries = [TreeEntry("l", LINK, "1"), TreeEntry("s", SUBMODULE, "2"), folder("x", "3")]
    server = Server({"root": entries, "3": []}, most=9)
    assert [entry.path for entry in list_tree(server.read, "root")] == ["l", "s"]


@pytest.mark.parametrize(
    ("path", "endings", "paths", "wanted"),
    [
        ("a/b.yaml", [".yaml"], [], True),
        ("a/b.YAML", [".yaml"], [], True),
        ("a/b.yml", [".yaml"], [], False),
        ("a/yaml", [".yaml"], [], False),
        ("a/.yaml", [".yaml"], [], True),
        ("a/Dockerfile", ["dockerfile"], [], True),
        ("a/Dockerfile.dev", ["dockerfile"], [], False),
        ("a/b.yaml", [".yaml"], ["a"], True),
        ("ab/b.yaml", [".yaml"], ["a"], False),
        ("a/b/c.yaml", [".yaml"], ["x", "a/b"], True),
        ("a/Makefile", [".yaml"], ["a/Makefile"], True),
        ("a.tar.gz", [".tar.gz"], [], True),
    ],
)
def test_endings_and_paths_say_what_is_wanted(
    path: str, endings: list[str], paths: list[str], wanted: bool
) -> None:
    assert is_wanted(path, endings, paths) is wanted


def test_folders_are_known_by_what_lies_below_them() -> None:
    ordered = sorted(["a-b/c", "a.md", "a/b/c.md", "a0/c", "b"])
    found = {path for path in ("", "a", "a-b", "a/b", "a0", "a0/c", "b", "c") if
             is_folder(path, ordered)}  # fmt: skip
    assert found == {"", "a", "a-b", "a/b", "a0"}
    assert is_folder("", [])


def test_a_folder_is_told_from_one_whose_name_begins_like_it() -> None:
    assert is_within("apps", "apps") and is_within("apps/a", "apps") and is_within("a", "")
    assert not is_within("apps2/a", "apps")


LINKS = {
    "now": "v2",
    "docs/same.md": "a.md",
    "docs/up.md": "../v2/b.md",
    "docs/through.md": "../now/b.md",
    "docs/chain.md": "same.md",
    "docs/out.md": "../../etc/passwd",
    "docs/absolute.md": "/etc/passwd",
    "docs/nowhere.md": "missing.md",
    "docs/loop.md": "pool.md",
    "docs/pool.md": "loop.md",
    "docs/folder.md": "../v2",
    "docs/self.md": "./../docs//a.md",
    "docs/module.md": "../vendor",
    "docs/root.md": "..",
    "docs/empty.md": "",
    "docs/endless.md": "x/" * 40_000,
}


def entries() -> dict[str, TreeEntry]:
    found = {path: TreeEntry(path, FILE, path) for path in ("docs/a.md", "v2/b.md")}
    found |= {path: TreeEntry(path, LINK, path) for path in LINKS}
    return found | {"vendor": TreeEntry("vendor", SUBMODULE, "1")}


def followed(path: str) -> TreeEntry:
    return follow_link(path, entries(), lambda link: LINKS[link.path])


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("docs/same.md", "docs/a.md"),
        ("docs/up.md", "v2/b.md"),
        ("docs/through.md", "v2/b.md"),
        ("docs/chain.md", "docs/a.md"),
        ("docs/self.md", "docs/a.md"),
    ],
)
def test_a_link_leads_to_its_file(path: str, target: str) -> None:
    assert followed(path).path == target


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("docs/out.md", "leads out of the repository"),
        ("docs/absolute.md", "leads out of the repository"),
        ("docs/nowhere.md", "to docs/missing.md, which is not in the repository"),
        ("docs/loop.md", "leads to itself"),
        ("docs/folder.md", "to the folder v2, whose files are listed there"),
        ("docs/root.md", "to the folder /, whose files are listed there"),
        ("docs/empty.md", "is a link of no or of more than 4,096 characters"),
        ("docs/endless.md", "is a link of no or of more than 4,096 characters"),
        ("docs/module.md", "to vendor, which is not in the repository"),
    ],
)
def test_a_link_that_leads_to_no_file_says_why(path: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        followed(path)
