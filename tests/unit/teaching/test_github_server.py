"""The local GitHub: git's own hashes and archives, and what it refuses.

Its limits and pages, and the faults of `tests/github_faults.py`, are those that
`tests/unit/loader/` and `tests/blackbox/` need to come.
"""

import io
import os
import tarfile
from pathlib import Path

import pytest

from course_lib.teaching.github_server import (
    Entry,
    Repository,
    link,
    sample_repository,
    submodule,
)
from course_lib.teaching.github_server.archives import archive_of
from course_lib.teaching.github_server.clones import run_git
from tests.needs import needs
from tests.repositories import git

MODULE = "3f0a1c5d7e9b2468ace013579bdf02468ace1357"


@pytest.fixture
def repository() -> Repository:
    repository = Repository("heron/platform")
    repository.commit({"old.md": b"old"}, message="First", tag="v1")
    repository.commit(
        {
            "README.md": b"# Read me\n",
            "docs/a.md": b"# A\n",
            "docs/deep/b.md": b"# B\n",
            "run.sh": Entry(b"#!/bin/sh\n", "100755"),
            "link.md": link("docs/a.md"),
            "lost.md": link("../elsewhere.md"),
            "vendor": submodule(MODULE),
            "docs.md": b"sorted before docs/",
        },
        tag="v2",
    )
    return repository


@needs("git")
def test_a_bare_repository_is_one_that_git_takes_with_every_hash_in_it(
    repository: Repository, tmp_path: Path
) -> None:
    git(repository.write_bare(tmp_path / "made.git"), "fsck", "--strict")
    repository = sample_repository()
    bare = repository.write_bare(tmp_path / "bare.git")
    git(bare, "fsck", "--strict")
    git(tmp_path, "clone", "--quiet", "--depth=1", "--filter=blob:none", bare.as_uri(), "clone")
    assert git(tmp_path / "clone", "rev-parse", "HEAD") == repository.resolve("main")


def test_without_git_a_clone_says_where_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "https://git-scm.com" in run_git(tmp_path / "clone", "checkout")


@pytest.mark.skipif(os.name == "nt", reason="needs modes and links")
@needs("git")
def test_an_archive_holds_what_git_puts_into_one(tmp_path: Path) -> None:
    marks = b"*.md export-subst\ndocs/secret.txt export-ignore\n"
    files: dict[str, bytes | Entry] = {
        ".gitattributes": marks,
        "README.md": b"At $Format:%H$.\n",
        f"{'deep/' * 30}a.txt": b"deep",
        "docs/secret.txt": b"secret",
        "docs/run.sh": Entry(b"#!/bin/sh\n", "100755"),
        "link": link("README.md"),
    }
    repository = Repository("ada/notes")
    sha = repository.commit(files)
    git(tmp_path, "init", "--quiet")
    for path, entry in files.items():
        content = entry if isinstance(entry, bytes) else entry.content
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        if path == "link":
            (tmp_path / path).symlink_to(content.decode())
        else:
            (tmp_path / path).write_bytes(content)
            (tmp_path / path).chmod(0o755 if path.endswith(".sh") else 0o644)
    git(tmp_path, "add", "--all")
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Heron"), ("EMAIL", "heron@example.com"))
        + (("DATE", "2024-03-01T09:00:00+0000"),)
    }
    git(tmp_path, "commit", "--quiet", "--message", "A change", **who)
    assert git(tmp_path, "rev-parse", "HEAD") == sha
    top = f"--prefix=ada-notes-{sha[:7]}/"
    git(tmp_path, "archive", "--format=tar.gz", top, "--output=made.tar.gz", "HEAD")
    assert held(archive_of(repository, sha)) == held((tmp_path / "made.tar.gz").read_bytes())


def held(archive: bytes) -> tuple[dict[str, str], dict[str, tuple[bytes, str, bytes, int]]]:
    """Return what an archive says of itself, and name → type, target, content and mode."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        found = {
            one.name: (
                one.type,
                one.linkname,
                file.read() if one.isfile() and (file := members.extractfile(one)) else b"",
                one.mode & 0o100,
            )
            for one in members
        }
        return members.pax_headers, found
