"""Connections: what is checked, what errors say, and that no password is ever shown."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from course_lib.errors import DatabaseError
from course_lib.store import connections
from course_lib.store.connections import connect, psql_command
from course_lib.store.databases import default_url
from course_lib.store.server import ensure_server, server_status
from course_lib.store.urls import hide_password, split_settings, url_for, with_settings

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


MISLEADING = {
    **{"PGSERVICE": "none", "PGHOSTADDR": "192.0.2.1", "PGHOST": "192.0.2.1", "PGPORT": "1"},
    **{"PGTARGETSESSIONATTRS": "standby", "PGGSSENCMODE": "require", "PGTZ": "nowhere"},
    **{"PGSSLMODE": "require", "PGSSLROOTCERT": "system", "PGSSLNEGOTIATION": "direct"},
    **{"PGCLIENTENCODING": "LATIN1", "PGOPTIONS": "-c search_path=none"},
    **{"PGCHANNELBINDING": "require", "PGREQUIREAUTH": "none", "PGUSER": "nobody"},
    **{"PGDATABASE": "none", "PGPASSFILE": "none", "PGPASSWORD": "wrong"},
    **{"PGCONNECT_TIMEOUT": "soon", "PGDATESTYLE": "none"},
}
"""What a shell's profile may hold for other servers."""


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", MISLEADING)
def test_no_variable_of_libpq_leads_a_connection_to_the_own_server_astray(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_server()
    monkeypatch.setenv(name, MISLEADING[name])
    assert server_status() and os.environ[name]  # who only looks leaves it to other connections
    with connect() as conn:
        row = conn.execute("SELECT current_user, %s", ["\u0439"]).fetchone()
    assert row == ("course", "\u0439") and name not in os.environ


@pytest.mark.timeout(60)
def test_the_own_server_is_reached_whatever_the_environment_says_of_others() -> None:
    lines = """
        import psycopg
        from course_lib.store import connect, fresh_database
        from course_lib.teaching.doctor import database_finding
        print(database_finding(None).detail.split(" on ")[0])
        with connect() as conn:
            print(*conn.execute("SELECT current_user, %s", ["\u0439"]).fetchone())
        with fresh_database("env") as fresh, psycopg.connect(fresh.url) as plain:
            print(plain.execute("SHOW client_encoding").fetchone()[0])
    """
    code = "\n".join(line[8:] for line in lines.splitlines())
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code],
        env=os.environ | MISLEADING, capture_output=True, encoding="utf-8", timeout=60,
    )  # fmt: skip
    said = done.stdout.splitlines()
    assert said[1:] == ["course \u0439", "UTF8"] and said[0].endswith(" runs"), done.stderr


def test_a_server_of_ones_own_is_asked_with_the_environments_settings_and_in_utf8(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = changed(default_url(), host="localhost", client_encoding="SQL_ASCII")
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    monkeypatch.setenv("PGTZ", "Asia/Tokyo")
    with connect(url) as conn:
        row = conn.execute("SELECT current_setting('TimeZone'), %s", ["\u0439"]).fetchone()
    assert row == ("Asia/Tokyo", "\u0439")


@pytest.mark.parametrize(
    ("options", "chosen", "rest"),
    [
        ("-csearch_path=a", {"search_path": "a"}, None),
        ("-c search_path=a\\ b,c --role=r", {"search_path": "a b,c", "role": "r"}, None),
        ("-c jit=off -crole=r -c geqo=on", {"role": "r"}, "-c jit=off -c geqo=on"),
        ("endpoint=x", {}, "endpoint=x"),
        ("-c my.role=x", {}, "-c my.role=x"),
    ],
)
def test_collection_and_role_are_taken_out_of_the_options_and_the_rest_stays(
    options: str, chosen: dict[str, str], rest: str | None
) -> None:
    plain, found = split_settings(make_conninfo("host=h dbname=d", options=options))
    assert found == chosen
    assert conninfo_to_dict(plain).get("options") == rest


def test_of_two_collections_in_a_url_the_last_one_counts() -> None:
    url = with_settings("postgresql://h/d?options=-csearch_path%3Da", {"search_path": "b"})
    assert split_settings(url)[1] == {"search_path": "b"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("-crole=nobody-of-this-name", "cannot be reached with these settings"),
        ("-csearch_path=nothing_here", "outside of the search_path"),
    ],
)
def test_a_setting_in_the_url_that_the_server_refuses_is_told(options: str, said: str) -> None:
    with pytest.raises(DatabaseError, match=said) as caught:
        connect(changed(default_url(), options=options))
    assert "`options`" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PGSSLMODE", "require"),
        ("PGSERVICE", "nothing-here"),
        ("PGTARGETSESSIONATTRS", "standby"),
        ("PGTARGETSESSIONATTRS", "bogus"),
        ("PGSSLROOTCERT", "system"),
        ("PGGSSENCMODE", "require"),
    ],
)
def test_a_variable_that_keeps_a_server_of_ones_own_away_is_looked_for(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = changed(default_url(), host="localhost")
    monkeypatch.setenv(name, value)
    with pytest.raises(DatabaseError, match="cannot be reached with these settings") as caught:
        connect(url)
    assert "begins with PG" in str(caught.value.hint)
