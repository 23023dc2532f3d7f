"""Fresh databases: separate, private, gone with their owner, kept while it lives."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from course_lib.errors import DatabaseError
from course_lib.store import databases
from course_lib.store.connections import connect
from course_lib.store.databases import default_url, fresh_database, lab_databases
from course_lib.store.server import ensure_server, known_server, server_status, stop_server
from course_lib.store.urls import url_for
from tests.e2e.server.acts import kill_postmaster

pytestmark = pytest.mark.usefixtures("embedded")

Admin = psycopg.Connection[tuple[object, ...]]
OWNER = (
    "import sys\n"
    "from course_lib.store.databases import fresh_database\n"
    "database = fresh_database(sys.argv[1])\n"
    "print(database.name, database.url, flush=True)\n"
    "sys.stdin.read()\n"
)


@pytest.fixture
def admin() -> Iterator[Admin]:
    with psycopg.connect(ensure_server().url(), autocommit=True) as conn:
        yield conn


def exists(admin: Admin, name: str) -> tuple[bool, bool]:
    """Return whether database and role exist."""
    found = admin.execute(
        "SELECT EXISTS (SELECT FROM pg_database WHERE datname = %(n)s),"
        " EXISTS (SELECT FROM pg_roles WHERE rolname = %(n)s)",
        {"n": name},
    ).fetchone()
    assert found is not None
    return bool(found[0]), bool(found[1])


@contextmanager
def owner_of(label: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """Start a process that owns a database; give it with the database's name and URL."""
    command = [sys.executable, "-c", OWNER, label]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            name, url = process.stdout.readline().split()
            yield process, name, url
        finally:
            process.kill()


def test_a_fresh_database_is_empty_has_pgvector_and_belongs_to_a_plain_role(admin: Admin) -> None:
    with fresh_database("05") as first, fresh_database("05") as second:
        for database in (first, second):
            assert database.name.startswith("lab_05_") and len(database.name) <= 63
            with connect(database.url) as conn:
                row = conn.execute(
                    "SELECT current_database(), current_user, rolsuper OR rolcreatedb OR "
                    "rolcreaterole FROM pg_roles WHERE rolname = current_user"
                ).fetchone()
                assert row == (database.name, database.name, False)
                assert conn.execute("SELECT '[3,4]'::vector <-> '[0,0]'").fetchone() == (5.0,)
                tables = conn.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
                assert tables.fetchone() == (0,)
                conn.execute("CREATE SCHEMA own CREATE TABLE t (v vector(2))")
        known = lab_databases(admin)
        assert known[first.name] and known[second.name]
        login = conninfo_to_dict(first.url)
        default_url()
        for other in (second.name, "postgres", "template1", "course"):
            url = url_for(first.url, other, str(login["user"]), str(login["password"]))
            with pytest.raises(DatabaseError, match="permission denied for database"):
                connect(url)
        busy = connect(second.url)
        second.drop()
        second.drop()
        with pytest.raises(psycopg.OperationalError):
            busy.execute("SELECT 1")
        busy.close()
        assert exists(admin, second.name) == (False, False)
        assert exists(admin, first.name) == (True, True)
    assert second.name not in lab_databases(admin)


def test_one_that_nobody_holds_any_more_is_dropped(admin: Admin) -> None:
    name = fresh_database("forgotten").name
    gc.collect()
    assert exists(admin, name) == (False, False)


def test_an_owner_that_ends_takes_its_database_along_and_a_forked_child_does_not(
    admin: Admin,
) -> None:
    script = (
        "import os, sys\n"
        "from course_lib.store import connect, fresh_database\n"
        "database = fresh_database('fork')\n"
        "if hasattr(os, 'fork'):\n"
        "    if os.fork() == 0:\n        sys.exit(0)\n"
        "    os.wait()\n"
        "connect(database.url).close(); print(database.name)\n"
    )
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert exists(admin, ended.stdout.strip()) == (False, False)


def test_a_killed_owners_database_is_cleared_up_and_a_living_ones_outlives_a_restart(
    admin: Admin,
) -> None:
    with owner_of("05") as (dead, dead_name, _), owner_of("05") as (_, living_name, url):
        dead.kill()
        dead.wait()
        deadline = time.monotonic() + 60
        while exists(admin, dead_name)[0] and time.monotonic() < deadline:
            fresh_database("06").drop()
        assert exists(admin, dead_name) == (False, False)
        stop_server()
        # The URL of a database of the embedded server starts it again.
        with connect(url) as conn, fresh_database("06"):
            assert conn.execute("SELECT current_database()").fetchone() == (living_name,)


def test_what_another_machines_process_has_is_left_alone(admin: Admin) -> None:
    """A process number says nothing about the processes of another machine."""
    name = "lab_05_00000000_1_abcd"
    admin.execute(f"CREATE ROLE {name}")
    try:
        fresh_database("06").drop()
        assert lab_databases(admin)[name] and exists(admin, name)[1]
    finally:
        admin.execute(f"DROP ROLE {name}")


@pytest.mark.parametrize("label", ["x" * 200, 'Ü"; DROP DATABASE course; --'])
def test_any_label_gives_a_safe_name(label: str, admin: Admin) -> None:
    with fresh_database(label) as database:
        assert len(database.name) <= 63 and database.name.isascii()
        assert lab_databases(admin)[database.name]


def test_the_course_role_gets_back_in_after_a_lost_password(embedded: Path) -> None:
    with connect() as conn:
        conn.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
    (embedded / "server.json").unlink()
    with connect() as conn:
        assert conn.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_a_role_that_may_create_databases_and_roles_is_enough(admin: Admin) -> None:
    """The way of infra/init.sql: the extension is in template1."""
    server = ensure_server()
    with psycopg.connect(server.url("template1"), autocommit=True) as conn:
        conn.execute("CREATE EXTENSION IF NOT EXISTS vector")
    admin.execute("CREATE ROLE teacher LOGIN CREATEDB CREATEROLE PASSWORD 'pw'")
    admin.execute("CREATE ROLE guest LOGIN PASSWORD 's3cret'")
    admin.execute("GRANT CONNECT ON DATABASE postgres TO teacher, guest")
    url = server.url("postgres", "teacher", "pw")
    with fresh_database("05", url=url) as database, connect(database.url) as conn:
        row = conn.execute("SELECT current_user, '[1]'::vector::text").fetchone()
        assert row == (database.name, "[1]")
    assert exists(admin, database.name) == (False, False)
    with psycopg.connect(server.url("template1"), autocommit=True) as conn:
        conn.execute("DROP EXTENSION vector")
    with pytest.raises(DatabaseError, match="template1|lacks a right") as caught:
        fresh_database("05", url=url)
    assert "infra/init.sql" in caught.value.hint
    with pytest.raises(DatabaseError, match="lacks a right") as caught:
        fresh_database("05", url=server.url("postgres", "guest", "s3cret"))
    assert "CREATEDB" in caught.value.hint and "s3cret" not in str(caught.value)
    assert lab_databases(admin) == {}


def test_connecting_completes_a_course_database_that_was_left_half_made(admin: Admin) -> None:
    default_url()
    with psycopg.connect(ensure_server().url("course"), autocommit=True) as conn:
        conn.execute("DROP EXTENSION vector CASCADE")
    databases._course_url.cache_clear()
    with connect() as conn:
        assert conn.execute("SELECT '[1]'::vector::text").fetchone() == ("[1]",)


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_connecting_revives_a_server_whose_files_still_say_that_it_runs() -> None:
    kill_postmaster(ensure_server())
    assert known_server() is not None and server_status() is None
    with connect() as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)
