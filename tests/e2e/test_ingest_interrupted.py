"""An ingest that is hit in its middle: nothing half-written, and the next run completes it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from course_lib.errors import DatabaseError
from course_lib.store import connect, fresh_database
from course_lib.store.databases import FreshDatabase
from course_lib.store.server import ensure_server, remove_server

COURSE = Path(__file__).parents[1] / "faults" / "slow_course.py"
DOCUMENTS = 30
PATIENCE = 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 documents of 3 chunks."""
    folder = tmp_path_factory.mktemp("docs")
    for number in range(DOCUMENTS):
        lines = [f"Document {number} says {word}. " * 4 for word in ("one", "two", "three")]
        (folder / f"{number:02}.md").write_text("\n\n".join(lines), encoding="utf-8")
    return folder


@dataclass
class Bench:
    """Where ingests run, and the processes that were started."""

    folder: Path
    environment: dict[str, str]
    url: str
    gate: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, *, held: bool = False) -> subprocess.Popen[str]:
        """Start `course ingest` in a process of its own; a held one stays in its middle."""
        gate = {"COURSE_TEST_GATE": str(self.gate)} if held else {}
        if held:
            self.gate.touch()
        process = subprocess.Popen(
            [sys.executable, str(COURSE), "ingest", str(self.folder), "--json"]
            + ["--chunk-size", "120", "--chunk-overlap", "0"],
            env=os.environ | self.environment | gate,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        self.processes.append(process)
        return process

    def release(self) -> None:
        """Let the held ones go on."""
        self.gate.unlink(missing_ok=True)

    def complete(self) -> dict[str, Any]:
        """Run an ingest to its end and return its report."""
        process = self.start()
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, err) == (0, "")
        return dict(json.loads(out))

    def wait_for_the_middle(self) -> int:
        """Wait until some documents are written, but not all, and return how many."""
        deadline = time.monotonic() + PATIENCE
        with connect(self.url, autocommit=True) as conn:
            while time.monotonic() < deadline:
                if conn.execute("SELECT to_regclass('documents') IS NOT NULL").fetchone() == (
                    True,
                ):
                    row = conn.execute("SELECT count(*) FROM documents").fetchone()
                    if row and 0 < row[0] < DOCUMENTS:
                        return int(row[0])
                time.sleep(0.01)
        raise AssertionError("no ingest was seen in its middle")

    def documents(self) -> dict[str, list[int]]:
        """Return name → places of its chunks, of all that is in either table."""
        with connect(self.url) as conn:
            rows = conn.execute(
                "SELECT document_name, array_agg(chunk_index ORDER BY chunk_index) FROM documents"
                " FULL JOIN document_chunks"
                " USING (partition, tenant_id, repo_slug, branch, document_name)"
                " GROUP BY document_name"
            ).fetchall()
        return dict(rows)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return everything but ids and times."""
        with connect(self.url) as conn:
            documents = conn.execute(
                "SELECT partition, tenant_id, repo_slug, branch, document_name, commit_sha,"
                " citation_url, content, content_hash, parser, settings, model, metadata"
                " FROM documents ORDER BY 1, 2, 3, 4, 5"
            ).fetchall()
            chunks = conn.execute(
                "SELECT partition, tenant_id, repo_slug, branch, document_name, chunk_index,"
                " commit_sha, kind, name, namespace, citation_url, content, content_hash, metadata,"
                " embedding::text FROM document_chunks ORDER BY 1, 2, 3, 4, 5, 6"
            ).fetchall()
        return documents + chunks


@pytest.fixture
def bench(own_database: FreshDatabase, folder: Path, tmp_path: Path) -> Iterator[Bench]:
    url = own_database.url
    bench = Bench(folder, {"DATABASE_URL": url}, url, tmp_path / "gate")
    yield bench
    end(bench)


def end(bench: Bench) -> None:
    bench.release()
    for process in bench.processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def undisturbed(folder: Path) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of an index that was built in peace."""
    with fresh_database("peace") as database:
        bench = Bench(folder, {"DATABASE_URL": database.url}, database.url, folder / "no-gate")
        report = bench.complete()
        assert (report["documents"], report["inserted"]) == (DOCUMENTS, 3 * DOCUMENTS)
        yield bench.rows()


def nothing_is_half_written(bench: Bench) -> None:
    found = bench.documents()
    assert 0 < len(found) < DOCUMENTS
    assert set(map(tuple, found.values())) == {(0, 1, 2)}


def the_next_run_completes_it(bench: Bench, undisturbed: list[tuple[Any, ...]]) -> None:
    there = 3 * len(bench.documents())
    report = bench.complete()
    assert report["inserted"] == 3 * DOCUMENTS - there
    assert (report["unchanged"], report["updated"], report["deleted"]) == (there, 0, 0)
    assert bench.rows() == undisturbed
    assert bench.complete()["unchanged"] == 3 * DOCUMENTS


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.skipif("DATABASE_URL" in os.environ, reason="kills the server, which is not ours then")
def test_a_postmaster_that_is_killed(
    tmp_path: Path, folder: Path, undisturbed: list[tuple[Any, ...]]
) -> None:
    server = ensure_server(tmp_path)
    gate = tmp_path / "gate"
    bench = Bench(folder, {"COURSE_STATE": str(tmp_path)}, server.url("course"), gate)
    try:
        process = bench.start(held=True)
        wait_for_database(server.url("course"))
        bench.wait_for_the_middle()
        postmaster = int((server.pgdata / "postmaster.pid").read_text(encoding="utf-8").split()[0])
        os.kill(postmaster, signal.SIGKILL)
        bench.release()
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out) == (1, "")
        assert "the database went away after" in err
        assert "Traceback" not in err
        # The next command finds the server dead, starts it and waits for its recovery.
        report = bench.complete()
        bench.url = ensure_server(tmp_path).url("course")
        assert 0 < report["inserted"] < 3 * DOCUMENTS
        assert report["inserted"] + report["unchanged"] == 3 * DOCUMENTS
        assert bench.rows() == undisturbed
    finally:
        end(bench)
        remove_server(tmp_path)


def wait_for_database(url: str) -> None:
    """Wait until a database is there and whole."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return connect(url).close()
        except DatabaseError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c(bench: Bench, undisturbed: list[tuple[Any, ...]]) -> None:
    process = bench.start(held=True)
    bench.wait_for_the_middle()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, ""), err
    assert "stopped" in err
    assert "Traceback" not in err
    nothing_is_half_written(bench)
    the_next_run_completes_it(bench, undisturbed)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_ctrl_c_while_waiting_for_another_ingest(
    bench: Bench, undisturbed: list[tuple[Any, ...]]
) -> None:
    first = bench.start(held=True)
    bench.wait_for_the_middle()
    second = bench.start()
    assert second.stderr is not None
    assert "waiting" in second.stderr.readline()
    second.send_signal(signal.SIGINT)
    _, err = second.communicate(timeout=PATIENCE)
    assert second.returncode == 130
    assert "Traceback" not in err
    bench.release()
    out, err = first.communicate(timeout=PATIENCE)
    assert (first.returncode, err) == (0, "")
    assert json.loads(out)["inserted"] == 3 * DOCUMENTS
    assert bench.rows() == undisturbed


@pytest.mark.long
def test_whoever_waits_takes_over_when_the_first_is_killed(
    bench: Bench, undisturbed: list[tuple[Any, ...]]
) -> None:
    first = bench.start(held=True)
    bench.wait_for_the_middle()
    second = bench.start()
    assert second.stderr is not None
    assert "waiting" in second.stderr.readline()
    first.kill()
    out, err = second.communicate(timeout=PATIENCE)
    assert second.returncode == 0, err
    report = json.loads(out)
    assert 0 < report["inserted"] < 3 * DOCUMENTS
    assert report["inserted"] + report["unchanged"] == 3 * DOCUMENTS
    assert bench.rows() == undisturbed
