"""What befalls the embedded server: kills, full disks, strangers in its place, lost files."""

from __future__ import annotations

import ctypes
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from course_lib.errors import ServerError
from course_lib.store.server import ensure_server, remove_server, server_status, stop_server
from tests.e2e.server.acts import (
    START,
    answers,
    has_the_row,
    keep_a_row,
    kill_postmaster,
    postmaster_pid,
    run_start,
)
from tests.faults.small_disks import Disk
from tests.waiting import is_alive, until

pytestmark = pytest.mark.long

WRITER = """
import sys, psycopg
conn = psycopg.connect(sys.argv[1], autocommit=True)
for n in range(10**9):
    conn.execute('INSERT INTO t VALUES (%s)', (n,)); print(n, flush=True)
"""
COMPUTER = """
import sys, psycopg
conn = psycopg.connect(sys.argv[1])
conn.execute('SELECT count(*) FROM (SELECT generate_series(1, (10^10)::bigint)) AS n')
"""


def start_script(state: Path, then: str = "", **options: object) -> subprocess.Popen[str]:
    script = START + "ensure_server(Path(sys.argv[1]))\n" + then
    command = [sys.executable, "-c", script, str(state)]
    return subprocess.Popen(command, encoding="utf-8", **options)  # type: ignore[call-overload,no-any-return]


def test_a_postmaster_killed_under_load_is_recovered_with_every_committed_row(state: Path) -> None:
    server = ensure_server(state)
    command = [sys.executable, "-c"]
    with psycopg.connect(server.url(), autocommit=True) as conn:
        conn.execute("CREATE TABLE t (n bigint)")
        writer = subprocess.Popen(
            [*command, WRITER, server.url()],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        # A backend that computes does not notice that its postmaster is gone.
        reader = subprocess.Popen([*command, COMPUTER, server.url()], stderr=subprocess.PIPE)
        busy = (
            "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%(10^10)%' AND state = 'active' "
            "AND pid <> pg_backend_pid()"
        )
        until(lambda: reader.poll() is not None or conn.execute(busy.encode()).fetchone())
        assert reader.poll() is None, reader.communicate()
    assert writer.stdout is not None
    seen = [writer.stdout.readline() for _ in range(50)]
    kill_postmaster(server)
    # Several processes ask for it while it recovers.
    starters = [start_script(state) for _ in range(2)]
    again = ensure_server(state)
    assert [starter.wait(120) for starter in starters] == [0, 0]
    committed = int([*seen, *writer.stdout][-1])
    writer.wait()
    reader.communicate()
    assert again.port == server.port
    with psycopg.connect(again.url()) as conn:
        row = conn.execute("SELECT count(*), count(DISTINCT n), max(n) FROM t").fetchone()
    assert row is not None
    assert row[0] == row[1] == row[2] + 1 and row[2] in {committed, committed + 1}


@pytest.fixture
def unreaped() -> Iterator[None]:
    """Orphans come to this process, which does not reap them, like many containers' first one."""
    if sys.platform != "linux":
        pytest.skip("zombies of others can be arranged on Linux only")
    set_child_subreaper = 36
    libc = ctypes.CDLL(None)
    assert libc.prctl(set_child_subreaper, 1, 0, 0, 0) == 0
    yield
    libc.prctl(set_child_subreaper, 0, 0, 0, 0)
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        pass


def test_a_postmaster_that_is_a_zombie_counts_as_dead(unreaped: None, state: Path) -> None:
    server = ensure_server(state)
    pid = kill_postmaster(server)
    until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    assert server_status(state) is None
    again = ensure_server(state)
    assert psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert answers(again) and postmaster_pid(again) != pid
    stop_server(state)


def test_an_unrelated_process_with_the_number_of_the_old_server_is_left_alone(state: Path) -> None:
    server = ensure_server(state)
    stop_server(state)
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    try:
        claim = server.pgdata / "postmaster.pid"
        lines = [stranger.pid, server.pgdata, 1, server.port, "", "127.0.0.1", "", "ready"]
        claim.write_text("\n".join(map(str, lines)) + "\n", encoding="utf-8")
        with socket.create_server(("127.0.0.1", server.port)):
            assert server_status(state) is None
            assert not stop_server(state)
            again = ensure_server(state)
        assert again.port != server.port and answers(again)
        remove_server(state)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_the_server_outlives_the_process_group_that_started_it(state: Path) -> None:
    starter = start_script(
        state,
        "print('up', flush=True); sys.stdin.read()",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert starter.stdout is not None and starter.stdout.readline() == "up\n"
    os.killpg(starter.pid, signal.SIGKILL)
    starter.communicate()
    server = server_status(state)
    assert server is not None and answers(server)


def test_a_start_that_is_interrupted_is_completed_by_the_next(state: Path) -> None:
    """Once while the data directory is made, and once when the server comes up in it."""
    for reached in ("pgdata-new-*/*", "pgdata/postmaster.pid"):
        starter = start_script(state, stderr=subprocess.DEVNULL, start_new_session=True)
        # Not `Path.glob`, which in Python 3.11 stops at a folder that is removed meanwhile.
        until(lambda place=state / reached: glob.glob(str(place)), 240)  # type: ignore[misc]
        os.killpg(starter.pid, signal.SIGKILL)
        starter.wait()
    # The server holds nothing that its starter waits for: a pipe would hang `make test | tee log`.
    run_start(state)
    server = ensure_server(state)
    assert answers(server)
    assert not list(server.pgdata.parent.glob("pgdata-new-*"))


def test_data_that_are_not_this_server_s_are_named_and_left_alone(
    state: Path, open_folder: Path
) -> None:
    """A folder of somebody else, a file in its place, another version's data, broken data."""
    other = open_folder / "other"
    (other / "pgdata").mkdir(parents=True)
    (other / "pgdata" / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(ServerError, match="is not a PostgreSQL data directory"):
        ensure_server(other)
    remove_server(other)
    assert (other / "pgdata" / "thesis.txt").read_text(encoding="utf-8") == "years of work"
    (open_folder / "file").write_text("", encoding="utf-8")
    with pytest.raises(ServerError, match="cannot be used"):
        ensure_server(open_folder / "file")
    server = ensure_server(state)
    stop_server(state)
    version = (server.pgdata / "PG_VERSION").read_text(encoding="utf-8")
    (server.pgdata / "PG_VERSION").write_text("16\n", encoding="utf-8")
    with pytest.raises(ServerError, match=r"was made by PostgreSQL 16, .* PostgreSQL 18") as caught:
        ensure_server(state)
    assert "Move it out of the way" in caught.value.hint
    (server.pgdata / "PG_VERSION").write_text(version, encoding="utf-8")
    (server.pgdata / "global" / "pg_control").write_bytes(b"\0" * 8192)
    with pytest.raises(ServerError, match=r"Its last lines:\n(.*\n)+.*control file"):
        ensure_server(state)


def test_a_folder_that_moves_while_its_server_runs_takes_server_and_data_along(
    open_folder: Path,
) -> None:
    first = ensure_server(open_folder / "state")
    keep_a_row(first)
    pid = postmaster_pid(first)
    busy = psycopg.connect(first.url())
    (open_folder / "state").rename(open_folder / "moved")
    assert server_status(open_folder / "moved") is None
    second = ensure_server(open_folder / "moved")
    busy.close()
    assert second.port == first.port and has_the_row(second)
    assert second.pgdata == (open_folder / "moved" / "pgdata").resolve() and not is_alive(pid)


def test_a_password_that_does_not_fit_is_explained_and_nothing_is_lost(state: Path) -> None:
    server = ensure_server(state)
    keep_a_row(server)
    facts = (state / "server.json").read_text(encoding="utf-8")
    facts = facts.replace(server.password, "another")
    (state / "server.json").write_text(facts, encoding="utf-8")
    with pytest.raises(ServerError, match="does not let us in") as caught:
        ensure_server(state)
    assert is_alive(postmaster_pid(server))
    assert "delete server.json" in caught.value.hint and server.password not in str(caught.value)
    (state / "server.json").unlink()
    assert has_the_row(ensure_server(state))


def test_lost_passwords_are_replaced_and_lost_data_are_made_anew(state: Path) -> None:
    first = ensure_server(state)
    keep_a_row(first)
    passwords = {first.password}
    for running in (True, False):
        if not running:
            stop_server(state)
        (state / "server.json").write_text("{", encoding="utf-8")
        server = ensure_server(state)
        passwords.add(server.password)
        assert has_the_row(server)
    assert len(passwords) == 3

    def is_removed() -> bool:
        # While it is removed, the server makes new files in it.
        shutil.rmtree(server.pgdata, ignore_errors=True)
        return not server.pgdata.exists()

    until(is_removed)
    again = ensure_server(state)
    assert answers(again) and again.pgdata.is_dir()


def test_a_full_disk_is_named_and_nothing_committed_is_lost(small_disk: Disk) -> None:
    small_disk.fill(spare=18 * 1024**2)
    state = small_disk.path / "state"
    with pytest.raises(ServerError, match="is full") as caught:
        ensure_server(state)
    assert "COURSE_STATE" in caught.value.hint
    assert not (state / "pgdata").exists()
    small_disk.empty()
    keep_a_row(ensure_server(state))
    stop_server(state)
    small_disk.fill()
    with pytest.raises(ServerError, match="is full"):
        ensure_server(state)
    small_disk.empty()
    assert has_the_row(ensure_server(state))
