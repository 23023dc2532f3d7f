"""Connections: what is checked, what errors say, and that no password is ever shown."""

from __future__ import annotations

import socket

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from course_lib.errors import DatabaseError
from course_lib.store import connections
from course_lib.store.connections import connect, psql_command
from course_lib.store.databases import default_url
from course_lib.store.server import ensure_server
from course_lib.store.urls import hide_password, url_for

pytestmark = pytest.mark.usefixtures("embedded")


def changed(url: str, **parts: str | int) -> str:
    return make_conninfo(url, **parts)


def test_without_a_url_it_is_the_database_course_as_a_role_that_is_no_superuser() -> None:
    with connect() as conn:
        row = conn.execute(
            "SELECT current_database(), current_user, rolsuper, rolcreatedb, rolcreaterole,"
            " current_setting('application_name') FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
    assert row == ("course", "course", False, False, False, "course")


def test_an_unreachable_server_is_named_without_its_password() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"postgresql://ada:s3cret@127.0.0.1:{unused.getsockname()[1]}/course"
        with pytest.raises(DatabaseError, match="cannot be reached") as caught:
            connect(url)
    assert "s3cret" not in str(caught.value) and "ada:***@" in str(caught.value)
    assert "DATABASE_URL" in caught.value.hint
    assert caught.value.__suppress_context__, "the cause would show the URL in a traceback"


def test_a_database_without_the_extension_gets_a_hint_that_works() -> None:
    admin = ensure_server().url()
    with psycopg.connect(admin, autocommit=True) as conn:
        conn.execute("CREATE DATABASE bare TEMPLATE template0")
    bare = url_for(admin, "bare")
    with pytest.raises(DatabaseError, match="lacks the extension vector") as caught:
        connect(bare)
    hint = caught.value.hint
    assert "`CREATE EXTENSION vector`" in hint
    with psycopg.connect(bare, autocommit=True) as conn:
        conn.execute("CREATE EXTENSION vector")
    connect(bare).close()


def test_a_database_that_is_not_in_utf8_is_refused_at_once_and_the_hint_works() -> None:
    admin = ensure_server().url()
    with psycopg.connect(admin, autocommit=True) as conn:
        conn.execute("CREATE DATABASE latin1 ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
        with pytest.raises(DatabaseError, match="is in LATIN1; the database has to be") as bad:
            connect(url_for(admin, "latin1"))
        conn.execute("DROP DATABASE latin1")
        statement = bad.value.hint.partition(": ")[2].rstrip(".")
        conn.execute(statement)
        rag = url_for(admin, "rag")
        with pytest.raises(DatabaseError, match="lacks the extension vector"):
            connect(rag)
        conn.execute("DROP DATABASE rag")


@pytest.mark.parametrize(
    ("name", "needed", "message"),
    [("OLDEST_POSTGRES", 99, "is PostgreSQL 18"), ("OLDEST_PGVECTOR", (99, 0), "has pgvector 0.8")],
)
def test_an_old_server_is_refused(
    name: str, needed: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, name, needed)
    with pytest.raises(DatabaseError, match=message):
        connect(changed(default_url(), application_name=name))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://a:p@h/d", "postgresql://a:***@h/d"),
        ("postgres://a:p:@x@h:1/d?sslmode=require", "postgres://a:***@h:1/d?sslmode=require"),
        ("postgresql://h/d?user=a&password=p%20q&x=1", "postgresql://h/d?user=a&password=***&x=1"),
        ("postgresql://a@h/d", "postgresql://a@h/d"),
        ("host=h password = 'a \\' b' user=u", "host=h password = *** user=u"),
        ("", ""),
    ],
)
def test_passwords_are_hidden_wherever_they_stand(url: str, shown: str) -> None:
    assert hide_password(url) == shown


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://a:p%40@localhost:5432/x?sslmode=disable",
        "host=/tmp port=5 user=a dbname=x",
        "host=h1,h2 port=1,2 dbname=x",
        "postgresql://[::1]:5/x",
        "dbname=x",
    ],
)
def test_another_database_keeps_the_rest_of_the_url(url: str) -> None:
    found = url_for(url, "my db/ä")
    assert found.startswith("postgresql://")
    assert conninfo_to_dict(found) == conninfo_to_dict(url) | {"dbname": "my db/ä"}


def test_a_password_is_not_on_the_command_line_of_psql() -> None:
    command, _ = psql_command(default_url())
    assert str(conninfo_to_dict(default_url())["password"]) not in " ".join(command)


def test_a_connection_that_dies_before_it_is_handed_out_is_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = changed(default_url(), application_name="dies")  # not checked yet
    check = connections.check_database

    def end_and_check(conn: psycopg.Connection, url: str) -> str:
        with psycopg.connect(url) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [conn.info.backend_pid])
        return check(conn, url)

    monkeypatch.setattr(connections, "check_database", end_and_check)
    with pytest.raises(DatabaseError, match="terminating connection|closed") as caught:
        connect(url)
    assert caught.value.hint
