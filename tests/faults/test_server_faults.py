"""What befalls the embedded server: kills, full disks, strangers in its place, closed folders."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from course_lib.errors import ServerError
from course_lib.store import account, place, postmaster
from course_lib.store.binaries import PACKAGE, find_binaries
from course_lib.store.server import (
    Server,
    ensure_server,
    remove_server,
    server_status,
    stop_server,
)

pytestmark = pytest.mark.long

START = "import sys; from pathlib import Path; from course_lib.store.server import ensure_server\n"


@pytest.fixture(autouse=True)
def no_pinned_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COURSE_DB_PORT", raising=False)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every account can enter."""
    folder = Path(tempfile.mkdtemp(prefix="course-test-"))
    folder.chmod(0o755)
    yield folder
    for state in sorted({path.parent for path in folder.rglob("server.lock")}):
        remove_server(state)
    shutil.rmtree(folder)


@pytest.fixture
def state(open_folder: Path) -> Path:
    return open_folder / "state"


@pytest.fixture
def root() -> None:
    if not account.is_root():
        pytest.skip("needs root")


@pytest.fixture
def small_disk(open_folder: Path, root: None) -> Iterator[Path]:
    """A disk of 48 MB: room for a data directory, and easily filled."""
    disk = open_folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=48m,mode=755", "tmpfs", str(disk)]
    if sys.platform != "linux" or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("may not mount a small disk here")
    try:
        yield disk
    finally:
        (disk / "filler").unlink(missing_ok=True)
        remove_server(disk / "state")
        subprocess.run(["umount", str(disk)], check=True)


def postmaster_pid(server: Server) -> int:
    claim = postmaster.read_pid_file(server.pgdata)
    assert claim is not None
    return claim.pid


def kill_postmaster(server: Server) -> int:
    pid = postmaster_pid(server)
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while postmaster.is_postmaster_of(pid, server.pgdata) and time.monotonic() < deadline:
        time.sleep(0.005)  # the signal arrives a little later
    return pid


def answers(server: Server) -> bool:
    with psycopg.connect(server.url()) as conn:
        return conn.execute("SELECT 1").fetchone() == (1,)


def run_start(state: Path, *, before: str = "", **options: object) -> str:
    """Start the server from a process of its own and return what that says."""
    script = START + textwrap.dedent(before) + "print(ensure_server(Path(sys.argv[1])).port)"
    command = [sys.executable, "-c", script, str(state)]
    ended = subprocess.run(  # type: ignore[call-overload]
        command, capture_output=True, encoding="utf-8", timeout=240, **options
    )
    assert ended.returncode == 0, ended.stderr
    return str(ended.stdout).strip()


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


@pytest.mark.parametrize("given", ["port", "0", "65536", "-1", "²"])
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


def test_a_disk_without_room_for_the_data_is_named(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"\0" * 30 * 1024**2)
    with pytest.raises(ServerError, match="is full") as caught:
        ensure_server(small_disk / "state")
    assert "COURSE_STATE" in caught.value.hint
    assert not (small_disk / "state" / "pgdata").exists()
    (small_disk / "filler").unlink()
    assert answers(ensure_server(small_disk / "state"))


def test_a_disk_that_fills_up_later_is_named_and_nothing_committed_is_lost(
    small_disk: Path,
) -> None:
    state = small_disk / "state"
    with psycopg.connect(ensure_server(state).url()) as conn:
        conn.execute("CREATE TABLE kept AS SELECT 7 AS n")
    stop_server(state)
    with (small_disk / "filler").open("wb", buffering=0) as filler:
        while True:
            try:
                if not filler.write(b"\0" * 4096):
                    break
            except OSError:
                break
    with pytest.raises(ServerError, match="is full"):
        ensure_server(state)
    (small_disk / "filler").unlink()
    with psycopg.connect(ensure_server(state).url()) as conn:
        assert conn.execute("SELECT n FROM kept").fetchone() == (7,)


# Accounts and closed folders.


def test_as_root_the_server_runs_under_an_account_without_rights(root: None, state: Path) -> None:
    server = ensure_server(state)
    process = psutil.Process(postmaster_pid(server))
    assert process.uids().effective != 0 and process.gids().effective != 0
    assert process.uids().effective == server.pgdata.stat().st_uid
    assert server.pgdata == state / "pgdata"


@pytest.fixture
def closed(open_folder: Path, root: None) -> Path:
    """A folder like root's home: nobody else may enter."""
    folder = open_folder / "closed"
    folder.mkdir(mode=0o700)
    return folder


def copy_of_the_wheel(target: Path) -> Path:
    bundle = find_binaries().bundle
    assert bundle is not None
    for part in bundle.glob(f"{PACKAGE}*"):
        shutil.copytree(part, target / part.name, ignore=shutil.ignore_patterns("pginstall"))
    return target


def test_a_checkout_and_programs_below_a_closed_folder_work(closed: Path) -> None:
    site = copy_of_the_wheel(closed / "site")
    run_start(closed / "state", env=os.environ | {"PYTHONPATH": str(site)})
    server = ensure_server(closed / "state")
    assert answers(server)
    house = server.pgdata.parent
    assert (closed / "state" / "pgdata").is_symlink() and closed not in server.bin_dir.parents
    assert house in server.bin_dir.parents
    assert (house.stat().st_uid, house.stat().st_mode & 0o777) == (0, 0o711)
    assert closed.stat().st_mode & 0o777 == 0o700
    writable = [
        path
        for path in server.bin_dir.parent.rglob("*")
        if not path.is_symlink() and (path.stat().st_uid != 0 or path.stat().st_mode & 0o022)
    ]
    assert writable == []
    with psycopg.connect(server.url()) as conn:
        conn.execute("CREATE EXTENSION vector")
    remove_server(closed / "state")
    assert not house.exists()


def test_a_house_that_somebody_else_put_in_its_place_is_not_used(closed: Path) -> None:
    state = closed / "state"
    first = ensure_server(state)
    house = first.pgdata.parent
    stop_server(state)
    moved = house.with_name(house.name + "-away")
    house.rename(moved)
    try:
        house.mkdir(mode=0o711)
        (house / "state").write_text(str(state), encoding="utf-8")
        (house / "pgdata").mkdir()
        os.chown(house, 1, 1)
        second = ensure_server(state)
        assert second.pgdata.parent != house and answers(second)
        assert list((house / "pgdata").iterdir()) == []
    finally:
        shutil.rmtree(house)
        shutil.rmtree(moved)


def test_a_checkout_that_moves_behind_a_closed_door_takes_its_data_along(
    open_folder: Path, closed: Path
) -> None:
    with psycopg.connect(ensure_server(open_folder / "state").url()) as conn:
        conn.execute("CREATE TABLE kept AS SELECT 7 AS n")
    stop_server(open_folder / "state")
    (open_folder / "state").rename(closed / "state")
    with psycopg.connect(ensure_server(closed / "state").url()) as conn:
        assert conn.execute("SELECT n FROM kept").fetchone() == (7,)
    stop_server(closed / "state")
    (closed / "state").rename(closed / "elsewhere")
    with psycopg.connect(ensure_server(closed / "elsewhere").url()) as conn:
        assert conn.execute("SELECT n FROM kept").fetchone() == (7,)


def test_a_copied_checkout_does_not_share_the_data_of_its_original(closed: Path) -> None:
    original = ensure_server(closed / "state")
    shutil.copytree(closed / "state", closed / "copy", symlinks=True)
    assert server_status(closed / "copy") is None
    assert not stop_server(closed / "copy")
    copy = ensure_server(closed / "copy")
    assert copy.pgdata != original.pgdata and copy.port != original.port
    assert answers(original) and answers(copy)
    remove_server(closed / "copy")
    assert answers(original)


def test_a_long_path_to_the_socket_is_avoided_once_and_for_all(closed: Path) -> None:
    far = place.socket_folder(closed / ("x" * 100), None, None)
    assert far is not None
    try:
        assert place.socket_folder(closed / ("x" * 100), None, far) == far
        far.chmod(0o777)
        other = place.socket_folder(closed / ("x" * 100), None, far)
        assert other is not None and other != far
        other.rmdir()
    finally:
        far.rmdir()


BECOME_DAEMON = """
    import encodings.idna, os, psutil, psycopg, pwd, shlex, filelock, course_lib.store.databases
    psycopg.errors
    os.setgroups([]); os.setgid(1); os.setuid(1)
    os.environ["HOME"] = str(Path(sys.argv[1]).parent); os.chdir("/")
"""


def test_a_normal_user_starts_it_and_root_finds_it_and_they_take_turns(
    root: None, open_folder: Path
) -> None:
    site = copy_of_the_wheel(open_folder / "site")
    environment = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    home = open_folder / "home"
    home.mkdir(mode=0o700)
    os.chown(home, 1, 1)
    state = home / "state"
    port = run_start(state, before=BECOME_DAEMON, env=environment)
    server = server_status(state)
    assert server is not None and str(server.port) == port
    assert psutil.Process(postmaster_pid(server)).uids().effective == 1
    assert run_start(state, env=environment) == port
    stop_server(state)
    assert run_start(state, env=environment) == port
    again = server_status(state)
    assert again is not None
    assert psutil.Process(postmaster_pid(again)).uids().effective == 1
    assert run_start(state, before=BECOME_DAEMON, env=environment) == port


def test_a_state_folder_of_another_account_is_an_error_that_says_so(
    root: None, state: Path
) -> None:
    ensure_server(state)
    script = START + textwrap.dedent(BECOME_DAEMON) + "ensure_server(Path(sys.argv[1]))"
    command = [sys.executable, "-c", script, str(state)]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert "belongs to another account" in ended.stderr and "COURSE_STATE" in ended.stderr


def without(capabilities: str, state: Path) -> subprocess.CompletedProcess[str]:
    """Start the server as a root that lacks some rights, as root in a container does."""
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv (util-linux)")
    script = START + "print(ensure_server(Path(sys.argv[1])).port)"
    command = ["setpriv", f"--bounding-set={capabilities}", sys.executable, "-c", script]
    return subprocess.run([*command, str(state)], capture_output=True, encoding="utf-8")


def test_root_without_the_right_to_look_at_processes_finds_and_recovers_the_server(
    root: None, state: Path
) -> None:
    first = without("-sys_ptrace", state)
    second = without("-sys_ptrace", state)
    assert first.stdout == second.stdout != "", first.stderr
    server = ensure_server(state)
    with psycopg.connect(server.url()) as conn:
        conn.execute("CREATE TABLE kept AS SELECT 7 AS n")
    kill_postmaster(server)
    third = without("-sys_ptrace", state)
    assert third.stdout == first.stdout, third.stderr
    with psycopg.connect(ensure_server(state).url()) as conn:
        assert conn.execute("SELECT n FROM kept").fetchone() == (7,)


def test_root_that_may_not_change_its_account_gets_a_clear_error(root: None, state: Path) -> None:
    ended = without("-setuid,-setgid", state)
    assert "cannot be run under the account" in ended.stderr and "DATABASE_URL" in ended.stderr
