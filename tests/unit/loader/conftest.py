"""What the tests of downloads share: a small repository, and a folder that it is brought to."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from course_lib.loader.github import Download
    from course_lib.teaching.github_server import GitHubServer, Repository

FILES = {
    "README.md": b"# Read me\n",
    "apps/a.yaml": b"kind: A\n",
    "apps/b.YAML": b"kind: B\r\n",
    "apps/deep/c.yaml": b"kind: C\n",
    "common/d.yaml": b"kind: D\n",
    "common/empty.yaml": b"",
    "common/d.py": b"print()\n",
    "Dockerfile": b"FROM scratch\n",
}


@dataclass
class Clock:
    """A clock that only waits move, and they take no time."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return time.time()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock by which downloads wait, from now on."""
    from course_lib.loader.github import waiting

    made = Clock()

    class Event(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            made.now += timeout or 0.0
            return self.is_set()

    monkeypatch.setattr(waiting, "time", made)
    monkeypatch.setattr(waiting, "threading", SimpleNamespace(Lock=threading.Lock, Event=Event))
    return made


@pytest.fixture
def repository(github: GitHubServer) -> Repository:
    """heron/platform with a few files, five of them YAML."""
    from course_lib.teaching.github_server import Repository

    repository = Repository("heron/platform")
    repository.commit(FILES, branch="main", tag="v1")
    github.add(repository)
    return repository


@dataclass
class Checkout:
    """A destination of the YAML files of heron/platform."""

    github: GitHubServer
    dest: Path

    files = FILES
    yaml = {path: content for path, content in FILES.items() if path.lower().endswith(".yaml")}

    def download(
        self, ref: str = "main", extensions: Any = (".yaml",), paths: Any = (), **options: Any
    ) -> Download:
        """Download with little patience."""
        from course_lib.loader.github import download_github_code
        from course_lib.loader.github.waiting import Patience

        quick = Patience(attempts=3, first=0.01, secondary=0.05)
        given: dict[str, Any] = {"dest": self.dest, "max_wait": 5, "patience": quick} | options
        return download_github_code("heron/platform", ref, extensions, paths, **given)

    def there(self) -> dict[str, bytes]:
        """Return all files in the destination, but the download's own."""
        return {
            path.relative_to(self.dest).as_posix(): path.read_bytes()
            for path in self.dest.rglob("*")
            if path.is_file() and not path.name.startswith(".github-download")
        }

    def asked(self) -> int:
        """Return how many requests were about the content of a file."""
        return sum(map(self.github.count, ("/contents/", "/blobs/", "raw/")))


@pytest.fixture
def checkout(github: GitHubServer, tmp_path: Path) -> Checkout:
    return Checkout(github, tmp_path / "dest")
