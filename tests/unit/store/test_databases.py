"""Fresh databases: separate, private, gone with their owner, kept while it lives."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from course_lib.errors import DatabaseError
from course_lib.settings import settings
from course_lib.store import databases
from course_lib.store.connections import connect, url_for
from course_lib.store.databases import (
    default_url,
    find_database,
    fresh_database,
    list_databases,
)
from course_lib.store.postmaster import is_postmaster_of, read_pid_file
from course_lib.store.server import (
    claimed_server,
    ensure_server,
    remove_server,
    server_status,
    stop_server,
)

OWNER = (
    "import sys, time\n"
    "from course_lib.store.databases import fresh_database\n"
    "database = fresh_database(sys.argv[1])\n"
    "print(database.name, database.url, flush=True)\n"
    "time.sleep(120)\n"
)


@pytest.fixture(scope="module", autouse=True)
def state() -> Iterator[Path]:
    """A server of this module's own, for this process and for those that it starts."""
    folder = Path(tempfile.mkdtemp(prefix="course-test-"))
    folder.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COURSE_STATE", str(folder / "state"))
        for name in ("DATABASE_URL", "COURSE_DB_PORT", "PGPASSWORD"):
            patch.delenv(name, raising=False)
        settings.cache_clear()
        yield folder / "state"
        remove_server(folder / "state")
    settings.cache_clear()
    shutil.rmtree(folder)


@pytest.fixture
def admin() -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(ensure_server().url(), autocommit=True) as conn:
        yield conn


def exists(admin: psycopg.Connection[tuple[object, ...]], name: str) -> tuple[bool, bool]:
    """Return whether database and role exist."""
    found = admin.execute(
        "SELECT EXISTS (SELECT FROM pg_database WHERE datname = %(n)s),"
        " EXISTS (SELECT FROM pg_roles WHERE rolname = %(n)s)",
        {"n": name},
    ).fetchone()
    assert found is not None
    return bool(found[0]), bool(found[1])


def start_owner(label: str) -> tuple[subprocess.Popen[str], str, str]:
    """Start a process that owns a database, and return it with the database's name and URL."""
    command = [sys.executable, "-c", OWNER, label]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8")
    assert process.stdout is not None
    name, url = process.stdout.readline().split()
    return process, name, url


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def test_a_fresh_database_is_empty_has_pgvector_and_belongs_to_a_plain_role() -> None:
    with fresh_database("05") as database, connect(database.url) as conn:
        assert database.name.startswith("lab_05_") and len(database.name) <= 63
        row = conn.execute(
            "SELECT current_database(), current_user, rolsuper OR rolcreatedb OR rolcreaterole"
            " FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert row == (database.name, database.name, False)
        assert conn.execute("SELECT '[3,4]'::vector <-> '[0,0]'").fetchone() == (5.0,)
        tables = conn.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
        assert tables.fetchone() == (0,)
        conn.execute("CREATE SCHEMA own CREATE TABLE t (v vector(2))")


def test_another_role_cannot_enter_it() -> None:
    with fresh_database("a") as first, fresh_database("b") as second:
        login = conninfo_to_dict(first.url)
        for other in (second.name, "postgres", "template1", "course"):
            default_url()
            url = url_for(first.url, other, str(login["user"]), str(login["password"]))
            with pytest.raises(DatabaseError, match="permission denied for database"):
                connect(url)


def test_two_of_the_same_name_live_side_by_side(
    admin: psycopg.Connection[tuple[object, ...]],
) -> None:
    with fresh_database("05") as first, fresh_database("05") as second:
        assert first.name != second.name
        second.drop()
        assert exists(admin, first.name) == (True, True)
        assert exists(admin, second.name) == (False, False)


def test_dropping_ends_what_is_connected_and_a_second_drop_does_nothing(
    admin: psycopg.Connection[tuple[object, ...]],
) -> None:
    database = fresh_database("busy")
    conn = connect(database.url)
    database.drop()
    database.drop()
    with pytest.raises(psycopg.OperationalError):
        conn.execute("SELECT 1")
    conn.close()
    assert exists(admin, database.name) == (False, False)


def test_one_that_nobody_holds_any_more_is_dropped(
    admin: psycopg.Connection[tuple[object, ...]],
) -> None:
    name = fresh_database("forgotten").name
    gc.collect()
    assert exists(admin, name) == (False, False)


def test_an_owner_that_ends_takes_its_database_along(
    admin: psycopg.Connection[tuple[object, ...]],
) -> None:
    script = "from course_lib.store.databases import *; d = fresh_database('x'); print(d.name)"
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert exists(admin, ended.stdout.strip()) == (False, False)
    assert ended.stderr == ""


def test_after_a_killed_owner_the_next_call_clears_up_and_spares_the_living(
    admin: psycopg.Connection[tuple[object, ...]],
) -> None:
    dead, dead_name, _ = start_owner("05")
    living, living_name, _ = start_owner("05")
    try:
        kill(dead)
        deadline = time.monotonic() + 20
        while exists(admin, dead_name)[0] and time.monotonic() < deadline:
            fresh_database("06").drop()
        assert exists(admin, dead_name) == (False, False)
        assert exists(admin, living_name) == (True, True)
    finally:
        kill(living)


def test_a_living_owner_keeps_its_database_over_a_restart_of_the_server() -> None:
    """The restart takes its lock away; nobody may take its database for abandoned."""
    owner, name, url = start_owner("05")
    try:
        stop_server()
        with fresh_database("06"), connect(url) as conn:
            assert conn.execute("SELECT current_database()").fetchone() == (name,)
    finally:
        kill(owner)


def test_a_forked_child_that_ends_takes_nothing_along(
    admin: psycopg.Connection[tuple[object, ...]],
) -> None:
    if not hasattr(os, "fork"):
        return
    script = (
        "import os, sys\n"
        "from course_lib.store.databases import fresh_database\n"
        "from course_lib.store.connections import connect\n"
        "database = fresh_database('fork')\n"
        "if os.fork() == 0:\n    sys.exit(0)\n"
        "os.wait(); connect(database.url).close(); print('alive')\n"
    )
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (ended.returncode, ended.stdout) == (0, "alive\n"), ended.stderr


def test_many_at_once_do_not_disturb_each_other(
    admin: psycopg.Connection[tuple[object, ...]],
) -> None:
    names, errors = [], []

    def use() -> None:
        try:
            with fresh_database("crowd") as database, connect(database.url) as conn:
                conn.execute("CREATE TABLE t (n int)")
                names.append(database.name)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and len(set(names)) == 6
    assert not any(exists(admin, name)[0] for name in names)


@pytest.mark.parametrize("label", ["", "x" * 200, 'a"; DROP DATABASE course; --', "Übung 5", "05"])
def test_any_label_gives_a_safe_name_and_is_found_again(label: str) -> None:
    with fresh_database(label) as database:
        assert len(database.name) <= 63 and database.name.isascii()
        assert find_database(label) == database.url
        assert find_database(database.name) == database.url


def test_the_newest_living_one_is_found() -> None:
    with fresh_database("05") as older, fresh_database("05") as newer:
        assert find_database("05") == newer.url
        assert [info.name for info in list_databases()][:2] == [newer.name, older.name]
        assert all(info.alive for info in list_databases())
    assert find_database("05") is None


def test_the_course_database_is_made_once_and_its_role_gets_back_in_after_a_lost_password(
    state: Path,
) -> None:
    with connect() as conn:
        conn.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
    (state / "server.json").unlink()
    with connect() as conn:
        assert conn.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_a_role_that_may_create_databases_and_roles_is_enough(
    admin: psycopg.Connection[tuple[object, ...]],
) -> None:
    """The way of infra/init.sql: the extension is in template1."""
    server = ensure_server()
    with psycopg.connect(server.url("template1"), autocommit=True) as conn:
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    admin.execute("CREATE ROLE teacher LOGIN CREATEDB CREATEROLE PASSWORD 'pw'")
    admin.execute("GRANT CONNECT ON DATABASE postgres TO teacher")
    url = server.url("postgres", "teacher", "pw")
    with fresh_database("05", url=url) as database, connect(database.url) as conn:
        row = conn.execute("SELECT current_user, '[1]'::vector::text").fetchone()
        assert row == (database.name, "[1]")
        assert find_database("05", url=url) == database.url
    assert exists(admin, database.name) == (False, False)
    with psycopg.connect(server.url("template1"), autocommit=True) as conn:
        conn.execute("DROP EXTENSION vector")
    with pytest.raises(DatabaseError, match="template1|lacks a right") as caught:
        fresh_database("05", url=url)
    assert "infra/init.sql" in caught.value.hint
    assert list_databases() == []


def test_a_role_that_may_not_gets_a_clear_error(
    admin: psycopg.Connection[tuple[object, ...]],
) -> None:
    admin.execute("CREATE ROLE guest LOGIN PASSWORD 's3cret'")
    admin.execute("GRANT CONNECT ON DATABASE postgres TO guest")
    with pytest.raises(DatabaseError, match="lacks a right") as caught:
        fresh_database("05", url=ensure_server().url("postgres", "guest", "s3cret"))
    assert "CREATEDB" in caught.value.hint and "s3cret" not in str(caught.value)


def test_a_server_that_runs_is_reached_by_a_login_and_no_look_at_processes() -> None:
    default_url()
    program = """
import sys
from course_lib.store import connect
with connect() as conn:
    assert conn.execute("SELECT current_user").fetchone() == ("course",)
assert "psutil" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_connecting_completes_a_course_database_that_was_left_half_made(
    admin: psycopg.Connection[tuple[object, ...]],
) -> None:
    default_url()
    with psycopg.connect(ensure_server().url("course"), autocommit=True) as conn:
        conn.execute("DROP EXTENSION vector CASCADE")
    admin.execute("COMMENT ON DATABASE course IS NULL")
    databases._known.clear()
    with connect() as conn:
        assert conn.execute("SELECT '[1]'::vector::text").fetchone() == ("[1]",)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_connecting_revives_a_server_whose_files_still_say_that_it_runs() -> None:
    server = ensure_server()
    claim = read_pid_file(server.pgdata)
    assert claim is not None
    os.kill(claim.pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while is_postmaster_of(claim.pid, server.pgdata) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert claimed_server() is not None and server_status() is None
    with connect() as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)
