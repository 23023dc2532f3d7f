"""Trees: git's hashes, listings of any size, what is wanted, and where links lead."""

import subprocess
from pathlib import Path

import pytest

from course_lib.loader.github.tree import (
    LINK,
    SUBMODULE,
    TreeEntry,
    blob_sha,
    follow_link,
    is_wanted,
    list_tree,
    plan_update,
)
from course_lib.teaching.checks.lab10 import Trees
from tests.needs import needs

FILE = "100644"


@needs("git")
@pytest.mark.parametrize("content", [b"", b"\0\xff" * 1000])
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


@pytest.mark.parametrize(
    ("path", "endings", "paths", "wanted"),
    [
        ("a/yaml", [".yaml"], [], False),
        ("a/.yaml", [".yaml"], [], True),
        ("a/Dockerfile.dev", ["dockerfile"], [], False),
        ("ab/b.yaml", [".yaml"], ["a"], False),
        ("a/Makefile", [".yaml"], ["a/Makefile"], True),
        ("a.tar.gz", [".tar.gz"], [], True),
    ],
)
def test_endings_and_paths_say_what_is_wanted(
    path: str, endings: list[str], paths: list[str], wanted: bool
) -> None:
    assert is_wanted(path, endings, paths) is wanted


LINKS = {
    "docs/same.md": "a.md",
    "docs/chain.md": "same.md",
    "docs/absolute.md": "/etc/passwd",
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
        ("docs/chain.md", "docs/a.md"),
        ("docs/self.md", "docs/a.md"),
    ],
)
def test_a_link_leads_to_its_file(path: str, target: str) -> None:
    assert followed(path).path == target


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("docs/absolute.md", "leads out of the repository"),
        ("docs/root.md", "to the folder /, whose files are listed there"),
        ("docs/empty.md", "is a link of no or of more than 4,096 characters"),
        ("docs/endless.md", "is a link of no or of more than 4,096 characters"),
        ("docs/module.md", "to vendor, which is not in the repository"),
    ],
)
def test_a_link_that_leads_to_no_file_says_why(path: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        followed(path)


@pytest.mark.parametrize(
    ("most", "files", "within", "listed", "asked"),
    [
        (9, ["a.md", "x/b.md"], (), ["a.md", "x/b.md"], ["root"]),
        (3, ["a.md", "x/b.md", "x/y/c.md"], (), ["a.md", "x/b.md", "x/y/c.md"],
         ["root", "root alone", "tree of b.md y/c.md"]),
        (2, ["x/a.md", "x/b.md", "y/a.md"], ["x"], ["x/a.md", "x/b.md"],
         ["root", "root alone", "tree of a.md b.md"]),
        (2, ["app/a.md", "apps/b.md"], ["apps"], ["apps/b.md"],
         ["root", "root alone", "tree of b.md"]),
    ],
)  # fmt: skip
def test_a_tree_is_listed_with_no_more_requests_than_it_needs(
    most: int, files: list[str], within: list[str], listed: list[str], asked: list[str]
) -> None:
    read = Trees(most, *files)
    assert [one.path for one in list_tree(read, "root", within=within)] == listed
    assert read.asked == asked


def test_a_plan_downloads_each_new_content_once_and_removes_what_is_gone() -> None:
    listed = {"a.md": "2", "b.md": "1", "c.md": "2", "README.md": "9"}
    kept = {"a.md": "1", "b.md": "1", "readme.md": "9"}
    wanted = {"2": ["a.md", "c.md"], "9": ["README.md"]}, {"readme.md"}
    assert plan_update(listed, kept) == wanted
