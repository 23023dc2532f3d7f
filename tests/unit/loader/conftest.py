"""What the tests of downloads share: a small repository, and a folder that it is brought to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from course_lib.loader.github import Download
    from course_lib.teaching.github_server import Repository
    from tests.github_faults import FaultyGitHub

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


@pytest.fixture
def repository(github: FaultyGitHub) -> Repository:
    """heron/platform with a few files, five of them YAML."""
    from course_lib.teaching.github_server import Repository

    repository = Repository("heron/platform")
    repository.commit(FILES, branch="main", tag="v1")
    github.add(repository)
    return repository


@dataclass
class Checkout:
    """A destination of the YAML files of heron/platform."""

    github: FaultyGitHub
    dest: Path

    files = FILES
    yaml = {path: content for path, content in FILES.items() if path.lower().endswith(".yaml")}

    def download(
        self, ref: str = "main", extensions: Any = (".yaml",), paths: Any = (), **options: Any
    ) -> Download:
        """Download by a clock that waits move and that takes no time."""
        from course_lib.loader.github import DownloadOptions, Selection, download_github_code

        given: dict[str, Any] = {"dest": self.dest, "max_wait": 300} | options
        selection = Selection("heron/platform", ref, extensions, paths)
        return download_github_code(selection, DownloadOptions(**given))

    def there(self) -> dict[str, bytes]:
        """Return all files in the destination, but the download's own."""
        return {
            path.relative_to(self.dest).as_posix(): path.read_bytes()
            for path in self.dest.rglob("*")
            if path.is_file() and not path.name.startswith(".github-download")
        }

    def asked(self) -> int:
        """Return how many requests were about the content of a file."""
        return sum(map(self.github.count, ("/blobs/", "raw/", "codeload/")))


@pytest.fixture
def checkout(github: FaultyGitHub, tmp_path: Path, clock: object) -> Checkout:
    return Checkout(github, tmp_path / "dest")
