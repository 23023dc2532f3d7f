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

from course_lib.store.connections import url_for
from course_lib.store.server import Server, ensure_server, remove_server

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "infra" / "k8s" / "base" / "postgres-init.sh"
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


@pytest.fixture(scope="module")
def url(server: Server) -> str:
    """The URL of the role and the database that the script has made."""
    done = init(server)
    assert done.returncode == 0, done.stderr
    return url_for(server.url(), "rag", "rag", PASSWORD)


def init(server: Server) -> subprocess.CompletedProcess[str]:
    assert BASH
    environment = {
        "PATH": f"{server.bin_dir}{os.pathsep}{os.environ['PATH']}",
        "PGHOST": server.host,
        "PGPORT": str(server.port),
        "PGPASSWORD": server.password,
        "POSTGRES_USER": server.superuser,
        "RAG_PASSWORD": PASSWORD,
    }
    return subprocess.run(
        [BASH, str(SCRIPT)],
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_the_role_owns_its_database_and_is_no_superuser(url: str) -> None:
    with psycopg.connect(url) as conn:
        rights = conn.execute(
            "SELECT rolsuper, rolbypassrls, rolcreatedb, rolcreaterole "
            "FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert rights == (False, False, False, True)
        extension = conn.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone()
        assert extension == (1,)


def test_a_run_that_cannot_succeed_fails_and_shows_no_password(server: Server, url: str) -> None:
    again = init(server)
    assert again.returncode != 0 and 'role "rag" already exists' in again.stderr
    assert PASSWORD not in again.stdout + again.stderr


def test_replicas_with_one_secret_file_read_with_one_password(url: str, tmp_path: Path) -> None:
    """What a retriever does when it starts, twice, each with a state folder of its own."""
    code = """
from course_lib.store import connect, create_schema, service_url
with connect(autocommit=True) as conn:
    create_schema(conn)
print(service_url("reader"))
"""
    said = []
    for replica in ("one", "two"):
        state = tmp_path / replica
        state.mkdir()
        (state / "secret").write_text("0123456789abcdef", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "COURSE_STATE": str(state), "DATABASE_URL": url},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.strip())
    assert said[0] == said[1]
    with psycopg.connect(said[0]) as conn:
        assert conn.execute("SELECT count(*) FROM document_chunks").fetchone() == (0,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("DELETE FROM document_chunks")
