"""What befalls the embedded server: kills, full disks, strangers in its place, lost files."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from course_lib.errors import ServerError
from course_lib.store.server import ensure_server, remove_server, server_status, stop_server
from tests.faults.servers import START, answers, kill_postmaster, postmaster_pid, run_start
from tests.faults.small_disks import Disk

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_pinned_port")]


# Killed.


def test_a_postmaster_killed_under_load_is_recovered_with_every_committed_row(state: Path) -> None:
    server = ensure_server(state)
    with psycopg.connect(server.url(), autocommit=True) as conn:
        conn.execute("CREATE TABLE t (n bigint)")
    load = (
        "import sys, psycopg\n"
        "conn = psycopg.connect(sys.argv[1], autocommit=True)\n"
        "for n in range(10**9):\n"
        "    conn.execute('INSERT INTO t VALUES (%s)', (n,)); print(n, flush=True)\n"
    )
    busy = (
        "import sys, psycopg\n"
        "conn = psycopg.connect(sys.argv[1])\n"
        "conn.execute('SELECT count(*) FROM generate_series(1, 10^10::bigint)')\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", load, server.url()],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    # A backend that computes does not notice that its postmaster is gone.
    reader = subprocess.Popen([sys.executable, "-c", busy, server.url()], stderr=subprocess.DEVNULL)
    assert writer.stdout is not None
    for _ in range(50):
        writer.stdout.readline()
    time.sleep(0.5)
    kill_postmaster(server)
    again = ensure_server(state)
    committed = int(writer.stdout.read().split()[-1])
    writer.wait()
    reader.wait()
    assert again.port == server.port
    with psycopg.connect(again.url()) as conn:
        row = conn.execute("SELECT count(*), count(DISTINCT n), max(n) FROM t").fetchone()
    assert row is not None
    assert row[0] == row[1] == row[2] + 1 and row[2] in {committed, committed + 1}


def test_a_server_that_is_still_recovering_is_waited_for(state: Path) -> None:
    server = ensure_server(state)
    with psycopg.connect(server.url(), autocommit=True) as conn:
        conn.execute("CREATE TABLE t AS SELECT generate_series(1, 300000) AS n")
        conn.execute("UPDATE t SET n = n + 1")
        kill_postmaster(server)
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", START + "ensure_server(Path(sys.argv[1]))", str(state)]
        )
        for _ in range(3)
    ]
    assert answers(ensure_server(state))
    assert [starter.wait(timeout=120) for starter in starters] == [0, 0, 0]


def test_a_backend_killed_by_force_leaves_a_server_that_recovers(state: Path) -> None:
    server = ensure_server(state)
    with psycopg.connect(server.url()) as conn:
        os.kill(conn.info.backend_pid, signal.SIGKILL)
        with pytest.raises(psycopg.OperationalError):
            while True:
                conn.execute("SELECT pg_sleep(0.1)")
    from course_lib.store.connections import open_connection

    with open_connection(ensure_server(state).url()) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)


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
    deadline = time.monotonic() + 60  # it dies by and by
    while (status := psutil.Process(pid).status()) != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, status
        time.sleep(0.005)
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
        assert stranger.poll() is None
        stop_server(state)
        remove_server(state)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGHUP])
def test_the_server_outlives_whoever_started_it_and_their_process_group(
    number: signal.Signals, state: Path
) -> None:
    script = START + "ensure_server(Path(sys.argv[1])); print('up', flush=True); sys.stdin.read()"
    starter = subprocess.Popen(
        [sys.executable, "-c", script, str(state)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert starter.stdout is not None
    assert starter.stdout.readline() == b"up\n"
    os.killpg(starter.pid, number)
    starter.communicate()
    server = server_status(state)
    assert server is not None and answers(server)


@pytest.mark.parametrize("delay", [0.4, 0.8, 1.2, 1.6])
def test_a_start_that_is_interrupted_is_completed_by_the_next(delay: float, state: Path) -> None:
    starter = subprocess.Popen(
        [sys.executable, "-c", START + "ensure_server(Path(sys.argv[1]))", str(state)],
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(delay)
    os.killpg(starter.pid, signal.SIGKILL)
    starter.wait()
    server = ensure_server(state)
    assert answers(server)
    assert not list(server.pgdata.parent.glob("pgdata-new-*"))


def test_the_server_holds_nothing_that_its_starter_waits_for(state: Path) -> None:
    """A pipe that the server inherited would hang `make test | tee log` for ever."""
    begin = time.monotonic()
    run_start(state)
    assert server_status(state) is not None and time.monotonic() - begin < 200


# Ports, data directories, lost files.


def test_a_pinned_port_that_is_taken_is_named(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setenv("COURSE_DB_PORT", str(port))
        with pytest.raises(ServerError, match=f"Port {port} .* is taken") as caught:
            ensure_server(state)
    assert "COURSE_DB_PORT" in caught.value.hint
    assert ensure_server(state).port == port


@pytest.mark.parametrize(
    "given", ["port", "0", "65536", "-1", "²", "٥٤٣٢", pytest.param("9" * 5_000, id="long")]
)
def test_a_pinned_port_that_is_none_is_refused(
    given: str, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COURSE_DB_PORT", given)
    with pytest.raises(ServerError, match="which is no port"):
        ensure_server(state)


def test_data_of_another_major_version_are_named_and_left_alone(state: Path) -> None:
    server = ensure_server(state)
    stop_server(state)
    (server.pgdata / "PG_VERSION").write_text("16\n", encoding="utf-8")
    before = sorted(path.name for path in server.pgdata.iterdir())
    with pytest.raises(ServerError, match=r"was made by PostgreSQL 16, .* PostgreSQL 18") as caught:
        ensure_server(state)
    assert "Move it out of the way" in caught.value.hint
    assert sorted(path.name for path in server.pgdata.iterdir()) == before


def test_a_folder_of_somebody_else_in_the_place_of_the_data_is_left_alone(state: Path) -> None:
    (state / "pgdata").mkdir(parents=True)
    (state / "pgdata" / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(ServerError, match="is not a PostgreSQL data directory"):
        ensure_server(state)
    remove_server(state)
    assert (state / "pgdata" / "thesis.txt").read_text(encoding="utf-8") == "years of work"


def test_a_start_that_fails_shows_the_log(state: Path) -> None:
    server = ensure_server(state)
    stop_server(state)
    (server.pgdata / "global" / "pg_control").write_bytes(b"\0" * 8192)
    with pytest.raises(ServerError, match=r"Its last lines:\n(.*\n)+.*control file"):
        ensure_server(state)


@pytest.mark.parametrize("running", [True, False])
def test_a_lost_password_is_replaced_and_the_data_stay(running: bool, state: Path) -> None:
    first = ensure_server(state)
    with psycopg.connect(first.url()) as conn:
        conn.execute("CREATE TABLE kept AS SELECT 7 AS n")
    if not running:
        stop_server(state)
    (state / "server.json").write_text("{", encoding="utf-8")
    second = ensure_server(state)
    assert second.password != first.password
    with psycopg.connect(second.url()) as conn:
        assert conn.execute("SELECT n FROM kept").fetchone() == (7,)


def test_a_data_directory_removed_under_the_server_is_made_anew(state: Path) -> None:
    first = ensure_server(state)
    shutil.rmtree(first.pgdata)
    second = ensure_server(state)
    assert answers(second) and second.pgdata.is_dir()


def test_a_file_in_the_place_of_the_state_folder_is_an_error_that_says_so(
    open_folder: Path,
) -> None:
    (open_folder / "state").write_text("", encoding="utf-8")
    with pytest.raises(ServerError, match="cannot be used"):
        ensure_server(open_folder / "state")


# Disks.


def test_a_disk_without_room_for_the_data_is_named(small_disk: Disk) -> None:
    small_disk.fill(spare=18 * 1024**2)
    state = small_disk.path / "state"
    with pytest.raises(ServerError, match="is full") as caught:
        ensure_server(state)
    assert "COURSE_STATE" in caught.value.hint
    assert not (state / "pgdata").exists()
    small_disk.empty()
    assert answers(ensure_server(state))


def test_a_disk_that_fills_up_later_is_named_and_nothing_committed_is_lost(
    small_disk: Disk,
) -> None:
    state = small_disk.path / "state"
    with psycopg.connect(ensure_server(state).url()) as conn:
        conn.execute("CREATE TABLE kept AS SELECT 7 AS n")
    stop_server(state)
    small_disk.fill()
    with pytest.raises(ServerError, match="is full"):
        ensure_server(state)
    small_disk.empty()
    with psycopg.connect(ensure_server(state).url()) as conn:
        assert conn.execute("SELECT n FROM kept").fetchone() == (7,)
