"""An ingest that is killed in the middle, and ingests at the same time: nothing is lost or twice.

Where it is in the middle is no matter of luck: a row that the test has written, and not yet
committed, holds the ingest up at its last batch.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from operator import itemgetter
from pathlib import Path

import psycopg
import pytest

from tests.blackbox.places import Place, new_place
from tests.blackbox.serving import until
from tests.blackbox.snapshots import Snapshot, marks, of, snapshot

NOTES = 300
"""Of one chunk each: more than two batches."""
LAST = f"{NOTES - 1:03}.md"
SAME = """
    INSERT INTO documents (partition, tenant_id, repo_slug, branch, document_name, content,
        content_hash, parser, settings, model)
    SELECT partition, tenant_id, repo_slug, branch, %s, 'Not mine.', 'x', parser, settings, model
    FROM documents WHERE repo_slug = 'notes' LIMIT 1
"""
WAITING = """
    SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE NOT granted AND datname = current_database() AND locktype = ANY(%s)
"""
NUMBER = "SELECT count(*) FROM document_chunks"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of many notes."""
    folder = tmp_path_factory.mktemp("many") / "notes"
    folder.mkdir()
    for number in range(NOTES):
        text = f"# Note {number}\n\nOn the number {number}.\n"
        (folder / f"{number:03}.md").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def expected(database_url: str, folder: Path) -> Snapshot:
    """The rows of an index that was built in peace."""
    with new_place(database_url) as quiet:
        quiet.course("ingest", folder).ok()
        return snapshot(quiet)


@pytest.fixture
def begun(place: Place, folder: Path) -> Place:
    """An index of the first note, into which all others are to come."""
    place.course("ingest", folder / "000.md", "--repo", "notes").ok()
    return place


def waits(place: Place, *kinds: str) -> bool:
    """Tell whether a session waits for a lock of such a kind."""
    return bool(place.one(WAITING, list(kinds)) > 0)


@contextmanager
def holding(place: Place, running: subprocess.Popen[str]) -> Iterator[None]:
    """Hold a started ingest, or its twin, up at its last batch until the end of the block."""
    with psycopg.connect(place.url) as conn:
        conn.execute(SAME, [LAST])
        until(lambda: waits(place, "transactionid") or running.poll() is not None)
        assert running.poll() is None, running.communicate()
        yield
        conn.rollback()


def test_an_ingest_that_was_killed_is_completed_by_running_it_again(
    begun: Place, folder: Path, expected: Snapshot
) -> None:
    """What was written until then is whole, stays, and is not encoded or written again."""
    with begun.course.process("ingest", folder) as running, holding(begun, running):
        running.kill()
        running.wait()
        there = begun.one(NUMBER)
        assert 128 <= there < NOTES
        half, before = snapshot(begun), marks(begun)
        names = {row["document_name"] for row in half["documents"]}
        assert half == {
            table: [row for row in rows if row["document_name"] in names]
            for table, rows in expected.items()
        }
    report = begun.course("ingest", folder, "--json").json()
    assert (report["inserted"], report["unchanged"]) == (NOTES - there, there)
    assert snapshot(begun) == expected
    assert before.items() <= marks(begun).items()


def test_two_at_once_do_the_work_once_and_another_source_does_not_wait(
    begun: Place, folder: Path, expected: Snapshot
) -> None:
    """The second waits, says so, and finds everything done; other sources go on meanwhile."""
    words = ("ingest", folder, "--json")
    with begun.course.process(*words) as first, begun.course.process(*words) as second:
        with holding(begun, first):
            until(lambda: waits(begun, "advisory"))
            assert (first.poll(), second.poll()) == (None, None)
            alone = ("ingest", folder / "001.md", "--repo", "other")
            with begun.course.process(*alone) as other:
                said, _ = other.communicate(timeout=60)
            assert said.startswith("1 document, 1 chunk: 1 inserted")
        told = [process.communicate(timeout=120) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), told
    reports = sorted((json.loads(out) for out, _ in told), key=itemgetter("inserted"))
    assert [(one["inserted"], one["unchanged"]) for one in reports] == [
        (0, NOTES),
        (NOTES - 1, 1),
    ]
    waited = "another ingest of the same source is running: waiting for it to end\n"
    assert sorted(err for _, err in told) == ["", waited]
    found = snapshot(begun)
    assert of(found, repo_slug="notes") == expected
    assert len(of(found, repo_slug="other")["chunks"]) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is another signal there")
def test_ctrl_c_ends_who_works_and_who_waits_and_another_takes_over(
    begun: Place, folder: Path, expected: Snapshot
) -> None:
    """130 and one word; what was written is whole, and whoever waits writes what is missing."""
    words, waiting = ("ingest", folder, "--json"), "another ingest of the same source is running"
    with begun.course.process(*words) as first, ExitStack() as others:
        with holding(begun, first):
            second = others.enter_context(begun.course.process(*words))
            until(lambda: waits(begun, "advisory"))
            second.send_signal(signal.SIGINT)
            out, err = second.communicate(timeout=60)
            assert (second.returncode, out, first.poll()) == (130, "", None)
            assert err.startswith(waiting) and err.endswith("\nstopped\n")
            third = others.enter_context(begun.course.process(*words))
            until(lambda: waits(begun, "advisory"))
            there = begun.one(NUMBER)
            assert 128 <= there == begun.one("SELECT count(*) FROM documents") < NOTES
            first.send_signal(signal.SIGINT)
            out, err = first.communicate(timeout=60)
            assert (first.returncode, out, err) == (130, "", "stopped\n")
        report = json.loads(third.communicate(timeout=120)[0])
    assert (third.returncode, report["inserted"], report["unchanged"]) == (0, NOTES - there, there)
    assert snapshot(begun) == expected


PARTS = {"first.txt": 130, "second.txt": 2}
"""Document → its lines, each a chunk; 128 or more are written by themselves."""
SMALL = ("--chunk-size", "16", "--chunk-overlap", "0")
ROW = "SELECT 1 FROM documents WHERE document_name = 'second.txt' FOR UPDATE"
LOST = """
    SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE NOT granted AND datname = current_database() AND locktype = 'transactionid'
"""


def say(folder: Path, word: str) -> None:
    """Let all lines of two documents say a word."""
    folder.mkdir(exist_ok=True)
    for name, count in PARTS.items():
        text = "".join(f"{word} of {line:03}\n\n" for line in range(count))
        (folder / name).write_text(text, encoding="utf-8")


def said(place: Place) -> dict[str, str]:
    """Return document → the word that it says, after making sure that its chunks say the same."""
    found: dict[str, str] = {}
    for row in place.rows("SELECT document_name, content FROM documents"):
        name, word = row["document_name"], row["content"].split()[0]
        texts = place.rows("SELECT content FROM document_chunks WHERE document_name = %s", name)
        assert [text["content"].split()[0] for text in texts] == [word] * PARTS[name], name
        found[name] = word
    return found


def test_an_update_that_is_stopped_leaves_each_document_old_or_new(
    place: Place, database_url: str, tmp_path: Path
) -> None:
    """Killed, or left by the database, which is said; the next run does the rest."""
    folder, words = tmp_path / "parts", ("ingest", tmp_path / "parts", *SMALL)
    say(folder, "Rain")
    place.course(*words).ok()
    for before, word in (("Rain", "Snow"), ("Snow", "Hail")):
        say(folder, word)
        with place.course.process(*words) as running, psycopg.connect(place.url) as conn:
            conn.execute(ROW)
            until(lambda: waits(place, "transactionid") or running.poll() is not None)
            if word == "Snow":
                running.kill()
            else:
                assert place.one(LOST)
            _, err = running.communicate(timeout=120)
        assert said(place) == {"first.txt": word, "second.txt": before}
        report = place.course(*words, "--json").json()
        assert (report["updated"], report["unchanged"]) == (2, 130)
        assert said(place) == dict.fromkeys(PARTS, word)
    assert (running.returncode, err) == (
        1,
        "error: the database went away after 1 of 2 documents were written\n"
        "Nothing half-written was left. Run the same command again to complete the rest.\n",
    )
    with new_place(database_url) as quiet:
        quiet.course(*words).ok()
        assert snapshot(place) == snapshot(quiet)
