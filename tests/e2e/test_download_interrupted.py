"""Downloads that are hit in their middle, two at once, and certificates that lie."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response

from course_lib.loader.github import DownloadOptions, Selection, download_github_code
from course_lib.loader.github.errors import UnreachableError
from course_lib.loader.github.tree import blob_sha
from course_lib.store import connect
from course_lib.store.databases import FreshDatabase
from course_lib.teaching.github_server import Repository, environment
from tests import github_faults as faults
from tests.certificates import certificate
from tests.github_faults import FaultyGitHub

PROGRAM = Path(__file__).parents[1] / "faults" / "hash_course.py"
FILES = 30
WANTED = Selection("heron/platform", "main", [".md"])
PATIENCE = 60
OTHERS = {f"images/{number:02}.png": b"%d" % number for number in range(40)}
"""So many that the files are less than half of the tree, and come one by one."""


@pytest.fixture
def repository(github: FaultyGitHub) -> Repository:
    repository = Repository("heron/platform")
    repository.commit(contents() | OTHERS)
    github.add(repository)
    return repository


def contents() -> dict[str, bytes]:
    """Return 30 files of 3 chunks each."""
    words = ("one", "two", "three")
    return {
        f"docs/{number:02}.md": "\n\n".join(
            f"File {number} of the first version says {word}. " * 3 for word in words
        ).encode()
        for number in range(FILES)
    }


@dataclass
class Bench:
    """Runs `course ingest-repo` in processes of their own."""

    github: FaultyGitHub
    database: FreshDatabase
    dest: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start `course ingest-repo`."""
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM), "ingest-repo", "heron/platform", "--ref", "main"]
            + ["--ext", ".md", "--dest", str(self.dest), "--json", *options]
            + ["--chunk-size", "150", "--chunk-overlap", "0"],
            env=os.environ
            | environment(self.github)
            | {"GITHUB_RAW_URL": "", "DATABASE_URL": self.database.url},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.processes.append(process)
        return process

    def complete(self, *options: str) -> dict[str, Any]:
        process = self.start(*options)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        return dict(json.loads(out))

    def downloaded(self) -> int:
        return len(list(self.dest.glob("docs/*.md")))

    def chunks(self) -> int:
        """Return the number of all chunks."""
        with connect(self.database.url) as conn:
            row = conn.execute("SELECT count(*) FROM document_chunks").fetchone()
            return int(row[0]) if row else 0


@pytest.fixture
def bench(
    github: FaultyGitHub, repository: Repository, database: FreshDatabase, tmp_path: Path
) -> Iterator[Bench]:
    bench = Bench(github, database, tmp_path / "dest")
    yield bench
    for process in bench.processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_download_that_is_killed_is_continued_by_the_next_run(bench: Bench) -> None:
    released = held_back(bench)
    process = bench.start()
    wait_until(lambda: bench.downloaded() == 4)
    process.kill()
    process.communicate(timeout=PATIENCE)
    released.set()
    there = bench.downloaded()
    assert there == 4
    for path in bench.dest.glob("docs/*.md"):
        assert path.read_bytes() == contents()[f"docs/{path.name}"]
    bench.github.heal()
    report = bench.complete()
    assert (report["fetched"], report["reused"]) == (FILES - there, there)
    assert bench.chunks() == 3 * FILES
    assert not list(bench.dest.glob("*.part"))


def held_back(bench: Bench) -> threading.Event:
    """Let four files come, and the others only when the event is set."""
    released = threading.Event()

    def hold(answer: Response) -> Response:
        released.wait(PATIENCE)
        return answer

    bench.github.fail("blobs", hold, times=math.inf, after=4)
    return released


def test_two_runs_into_the_same_destination_do_the_work_once(bench: Bench) -> None:
    released = held_back(bench)
    first = bench.start()
    wait_until(lambda: bench.downloaded() > 0)
    second = bench.start()
    assert second.stderr is not None
    assert "another download into" in second.stderr.readline()
    released.set()
    reports = []
    for process in (first, second):
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        reports.append(json.loads(out))
    assert [report["fetched"] for report in reports] == [FILES, 0]
    assert bench.github.count("/blobs/") == FILES
    assert bench.chunks() == 3 * FILES


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("when", ["waiting", "downloading"])
def test_ctrl_c_ends_it_at_once_and_without_a_traceback(bench: Bench, when: str) -> None:
    if when == "waiting":
        bench.github.set_limit(5, window=300)
    released = held_back(bench)
    process = bench.start()
    assert process.stderr is not None
    if when == "waiting":
        assert "the hourly limit is used up: waiting" in process.stderr.readline()
    # Who waits says so before the files that have come are written.
    wait_until(lambda: bench.downloaded() > 0)
    process.send_signal(signal.SIGINT)
    # Four requests hang for a minute: whoever ends it does not want to wait for them.
    out, err = process.communicate(timeout=PATIENCE / 2)
    released.set()
    assert (process.returncode, out) == (130, "")
    assert "stopped" in err and "Traceback" not in err
    bench.github.set_limit(5000)
    bench.github.heal()
    assert bench.complete()["reused"] > 0


# --- what stands in the way ---


@pytest.mark.parametrize(
    ("names", "is_trusted", "is_taken"),
    [
        (("127.0.0.1",), True, True),
        (("127.0.0.1",), False, False),
        (("api.github.com",), True, False),
    ],
)
def test_a_certificate_that_does_not_match_ends_it_before_the_token_is_sent(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
    is_trusted: bool,
    is_taken: bool,
) -> None:
    pem = certificate(tmp_path, *names)
    repository = Repository("heron/platform")
    repository.commit({"a.md": b"# A\n"})
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_secret")
    with FaultyGitHub([repository], certificate=pem) as server:
        monkeypatch.setenv("GITHUB_API_URL", server.url)

        def download() -> int:
            return download_github_code(WANTED, DownloadOptions(dest=tmp_path / "dest")).fetched

        if is_taken:
            assert download() == 1
        else:
            with pytest.raises(UnreachableError, match="a certificate that does not match") as e:
                download()
            assert "ghp_secret" not in str(e.value) and "SSL_CERT_FILE" in e.value.hint
            assert server.seen == []


@pytest.mark.parametrize(
    "fault",
    [faults.short_body(), faults.short_body(0.01), faults.hang_up(), faults.broken_json()]
    + [faults.status(502), faults.status(429, 0), faults.changed_content()],
)
def test_every_file_is_whole_although_each_fails_once(
    github: FaultyGitHub,
    repository: Repository,
    tmp_path: Path,
    fault: faults.Fault,
    clock: object,
) -> None:
    for content in contents().values():
        github.fail(f"blobs/{blob_sha(content)}", fault)
    found = download_github_code(WANTED, DownloadOptions(dest=tmp_path / "dest"))
    assert found.fetched == FILES
    for name, content in contents().items():
        assert (tmp_path / "dest" / name).read_bytes() == content


@pytest.mark.long
def test_nothing_that_is_written_or_said_holds_the_token(bench: Bench) -> None:
    os.environ["GITHUB_TOKEN"] = "ghp_0123456789secret"  # the fixture `github` takes it back
    said = []
    for fault in (None, faults.status(401), faults.status(500, 0), faults.html_page()):
        if fault:
            bench.github.fail("commits", fault, times=99)
        out, err = bench.start("--max-wait", "1").communicate(timeout=PATIENCE)
        said += [out, err]
        bench.github.heal()
    assert any(one.has_token for one in bench.github.seen)
    with connect(bench.database.url) as conn:
        for query in ("SELECT d::text FROM documents d", "SELECT c::text FROM document_chunks c"):
            stored = [text for (text,) in conn.execute(query.encode()).fetchall()]
            assert len(stored) >= FILES
            said += stored
    said += [path.read_text(encoding="utf-8") for path in bench.dest.rglob("*") if path.is_file()]
    said += [one.path for one in bench.github.seen]
    assert len(said) > FILES
    assert not [text for text in said if "secret" in text]
