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
)
from tests.needs import needs

FILE = "100644"


@needs("git")
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
