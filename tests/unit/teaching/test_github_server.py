"""The local GitHub: git's own hashes and archives, and what it refuses.

Its limits, pages and faults are those that `tests/unit/loader/` and `tests/blackbox/` need to come.
"""

import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from course_lib.teaching.github_server import (
    Entry,
    GitHubServer,
    Repository,
    link,
    sample_repository,
    submodule,
)
from course_lib.teaching.github_server.archives import archive_of
from tests.needs import needs

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


@pytest.fixture
def server(repository: Repository) -> Iterator[GitHubServer]:
    with GitHubServer([repository]) as server:
        yield server


@pytest.fixture
def web(server: GitHubServer) -> Iterator[httpx.Client]:
    mounts = {"all://127.0.0.1": None}
    base = f"{server.url}/repos/heron/platform"
    with httpx.Client(base_url=base, mounts=mounts, headers={"User-Agent": "test"}) as client:
        yield client


def git(folder: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *arguments],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


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


def test_an_archive_is_on_another_host_which_takes_no_token(
    web: httpx.Client, server: GitHubServer, repository: Repository
) -> None:
    repository.private = True
    token = {"Authorization": "Bearer ghp_secret"}
    assert web.get("/tarball/v2").status_code == 404
    assert web.get("/tarball/v9", headers=token).status_code == 404
    there = web.get("/tarball/v2", headers=token)
    place = httpx.URL(there.headers["location"])
    assert there.status_code == 302 and f"127.0.0.1:{place.port}" not in server.url
    assert web.get(place.copy_with(query=None)).status_code == 404
    assert "README.md" in str(held(web.get(place).content))
    assert web.get(place.copy_with(path="/heron/platform/zip/v2")).status_code == 404


def test_what_is_not_there_is_refused_as_github_does(
    web: httpx.Client, server: GitHubServer, repository: Repository
) -> None:
    assert web.get("/commits/nothing").status_code == 422
    assert "No commit found" in web.get("/commits/nothing").json()["message"]
    assert web.get("/contents/nothing.md").status_code == 404
    assert web.get("/git/trees/nothing").status_code == 404
    assert web.get(f"/git/blobs/{'0' * 40}").status_code == 404
    assert web.get("/nothing").status_code == 404
    assert web.get(f"{server.url}/repos/heron/nothing").status_code == 404
    assert web.get(f"{server.url}/zen").status_code == 404
    server.add(Repository("heron/empty"))
    assert web.get(f"{server.url}/repos/heron/empty/commits/main").status_code == 409
    assert web.get(f"{server.url}/repos/heron/empty/git/trees/main").status_code == 409
    repository.blocked = True
    assert web.get("/commits/main").status_code == 451
    repository.blocked, repository.private = False, True
    assert web.get("/commits/main").status_code == 404
    token = {"Authorization": "Bearer x"}
    assert web.get("/commits/main", headers=token).status_code == 200
    server.tokens = frozenset({"y"})
    assert web.get("/commits/main", headers=token).status_code == 401
    assert web.get("/commits/main", headers={"Authorization": "token y"}).status_code == 200
