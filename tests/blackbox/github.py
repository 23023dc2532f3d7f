"""A GitHub of a test's own on this machine, which remembers what was asked and what it gave."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.blackbox.course import Done
from tests.blackbox.places import Place
from tests.blackbox.surface import FaultyGitHub, Repository

REPO = "heron/shop"
EXT = ("--ext", ".md,.txt,.yaml,.py,.sh")


@dataclass
class Hub:
    """A repository, the server that has it, and the index that it is brought to.

    Attributes
    ----------
    server, repository
        Who is asked, and for what.
    place
        Where the rows go.
    state
        Where downloads are kept.
    has_raw
        Whether files are fetched from the host that does not count.
    """

    server: FaultyGitHub
    repository: Repository
    place: Place
    state: Path
    has_raw: bool = True

    def __call__(self, *words: str | Path, ref: str = "main", **environment: str) -> Done:
        """Run `course ingest-repo` after the log was emptied."""
        self.server.seen.clear()
        variables = {"GITHUB_API_URL": self.server.url}
        if self.has_raw:
            variables["GITHUB_RAW_URL"] = self.server.raw_url
        given = words if words and str(words[0]).count("/") == 1 else (REPO, *words)
        if "--ext" not in given:
            given = (*given, *EXT)
        if "--dest" not in given:
            given = (*given, "--dest", self.state / given[0] / (ref or "none"))
        return self.place.course("ingest-repo", *given, "--ref", ref, **(variables | environment))

    def report(self, *words: str | Path, ref: str = "main", **environment: str) -> dict[str, Any]:
        """Return the report of `--json`, without times."""
        done = self(*words, "--json", ref=ref, **environment)
        found: dict[str, Any] = done.json()
        for report in (found, *found["partitions"].values()):
            assert report.pop("seconds") >= 0
            report.pop("chunks_per_second", None)
        return found

    def commit(self, files: Mapping[str, Any], **options: Any) -> str:
        """Commit exactly these files."""
        return self.repository.commit(files, **options)

    @property
    def given(self) -> Counter[str]:
        """How many bytes each path has been answered with since the last call."""
        found: Counter[str] = Counter()
        for one in self.server.seen:
            found[one.host + one.path] += one.size
        return found

    def files(self) -> list[str]:
        """Return the requests for contents of files since the last call, in order of names."""
        pattern = re.compile(r"^raw/|^codeload/|/contents/|/git/blobs/")
        return sorted(self.tidy(path) for path in self.given if pattern.search(path))

    def arrived(self) -> int:
        """Return how many contents of files came since the last call."""
        paths = (one.path for one in self.server.seen if one.status == 200)
        return sum("/contents/" in path or "/git/blobs/" in path for path in paths)

    def asked(self) -> list[str]:
        """Return all requests since the last call and how they were answered, sorted."""
        return sorted(f"{one.status} {one.host}{self.tidy(one.path)}" for one in self.server.seen)

    def tidy(self, text: str) -> str:
        """Return a text without addresses of this run."""
        for address, name in (
            (self.server.url, "API"),
            (self.server.raw_url, "RAW"),
            (str(self.state.parent), "FOLDER"),
        ):
            text = text.replace(address, name)
        return text


@contextmanager
def hub_of(place: Place, folder: Path, files: Mapping[str, Any], **options: Any) -> Iterator[Hub]:
    """Run a GitHub with one repository of these files on its branch `main`."""
    repository = Repository(REPO)
    repository.commit(files)
    with FaultyGitHub([repository], **options) as server:
        yield Hub(server, repository, place, folder / "state")
