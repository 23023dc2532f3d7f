"""What the cluster's database is made with, run on a server of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from course_lib.store import create_schema, service_url
from course_lib.store.server import Server, ensure_server, remove_server
from course_lib.store.urls import url_for
from tests.unit.infra.tools import INFRA

SCRIPT = INFRA / "k8s" / "base" / "postgres-init.sh"
PASSWORD = 'it\'s "quoted"; \\q $HOME'
BASH = shutil.which("bash") if sys.platform != "win32" else None

pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="course-test-"))
    folder.chmod(0o755)
    yield ensure_server(folder / "state")
    remove_server(folder / "state")
    shutil.rmtree(folder)


def run_on(server: Server, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program as the image of PostgreSQL does when its volume is new."""
    environment = {
        **{"PGHOST": server.host, "PGPORT": str(server.port), "PGPASSWORD": server.password},
        **{"POSTGRES_USER": server.superuser, "RAG_PASSWORD": PASSWORD},
        "PATH": f"{server.bin_dir}{os.pathsep}{os.environ['PATH']}",
    }
    return subprocess.run(
        [*map(str, command)],
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_the_role_owns_its_database_is_no_superuser_and_its_reader_cannot_write(
    server: Server,
) -> None:
    """The script, and then what two replicas do when they start."""
    assert BASH
    done = run_on(server, BASH, SCRIPT)
    assert done.returncode == 0, done.stderr
    url = url_for(server.url(), "rag", "rag", PASSWORD)
    with psycopg.connect(url, autocommit=True) as conn:
        rights = conn.execute(
            "SELECT rolsuper, rolbypassrls, rolcreatedb, rolcreaterole "
            "FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert rights == (False, False, False, True)
        create_schema(conn)
        readers = [service_url("reader", url=url) for _replica in ("one", "two")]
    assert readers[0] == readers[1]
    with psycopg.connect(readers[0]) as conn:
        assert conn.execute("SELECT count(*) FROM document_chunks").fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("DELETE FROM document_chunks")
    again = run_on(server, BASH, SCRIPT)
    assert again.returncode != 0 and 'role "rag" already exists' in again.stderr
    assert PASSWORD not in again.stdout + again.stderr


def test_compose_s_script_gives_pgvector_to_every_database_that_is_made_later(
    server: Server,
) -> None:
    words = ("--username", server.superuser, "--dbname", "postgres", "-v", "ON_ERROR_STOP=1")
    done = run_on(server, server.bin_dir / "psql", *words, "--file", INFRA / "init.sql")
    assert done.returncode == 0, done.stderr
    with psycopg.connect(server.url(), autocommit=True) as conn:
        conn.execute("CREATE DATABASE later")
    for name in ("postgres", "later"):
        url = url_for(server.url(), name, server.superuser, server.password)
        with psycopg.connect(url) as conn:
            assert conn.execute("SELECT '[1,2]'::vector").fetchone() == ("[1,2]",)
