"""What a submission can do to the server that its database is in."""

from collections.abc import Iterator

import psycopg
import pytest

from course_lib.teaching.grade.cluster import ROOM, grading_cluster
from course_lib.teaching.grade.database import CONNECTIONS, LARGEST, Databases
from tests.grading.conftest import any_fence, needs_fence


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with grading_cluster(any_fence()) as url:
        yield url


@pytest.fixture
def databases(cluster: str) -> Iterator[Databases]:
    given = Databases(cluster)
    yield given
    given.close()


def refused(url: str, statement: str) -> str:
    with psycopg.connect(url, autocommit=True) as conn:
        with pytest.raises(psycopg.Error) as error:
            conn.execute(statement.encode())
    return type(error.value).__name__


POWER = (
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "COPY (SELECT 1) TO '/tmp/x'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT rolpassword FROM pg_authid",
    "CREATE ROLE other",
    "CREATE DATABASE other",
    "ALTER SYSTEM SET max_connections = 1",
    "SET temp_file_limit = -1",
    "SELECT pg_reload_conf()",
    "CREATE EXTENSION dblink",
    "CREATE LANGUAGE plpython3u",
    "DROP OWNED BY postgres",
    "SET ROLE postgres",
)


def test_a_role_of_a_submission_has_no_power_over_the_server(databases) -> None:
    url = databases.give(fenced=False)
    said = {statement: refused(url, statement) for statement in POWER}
    no = {"InsufficientPrivilege", "UndefinedFile", "FeatureNotSupported"}
    assert set(said.values()) <= no, said


def test_other_databases_are_closed(cluster, databases) -> None:
    other = Databases(cluster)
    try:
        theirs = other.give(fenced=False).split("@")[1].split("/")[1].split("?")[0]
        mine = databases.give(fenced=False)
        own = mine.split("@")[1].split("/")[1].split("?")[0]
        for name in ("postgres", "template1", theirs):
            with pytest.raises(psycopg.OperationalError, match="denied|not permit|not currently"):
                psycopg.connect(mine.replace(f"/{own}?", f"/{name}?"))
        with psycopg.connect(mine) as conn:
            assert conn.execute("SELECT current_database()").fetchone() == (own,)
    finally:
        other.close()


def test_what_was_left_in_a_database_the_next_one_does_not_meet(cluster, databases) -> None:
    first = psycopg.connect(databases.give(fenced=False), autocommit=True)
    first.execute("CREATE TABLE letter AS SELECT 'for you' AS words")
    first.execute("SELECT pg_advisory_lock(1)")
    with psycopg.connect(databases.give(fenced=False)) as conn:
        assert conn.execute("SELECT to_regclass('letter')").fetchone() == (None,)
        assert conn.execute("SELECT pg_try_advisory_lock(1)").fetchone() == (True,)
    with pytest.raises(psycopg.OperationalError):
        first.execute("SELECT 1")
    databases.take_back()
    with psycopg.connect(cluster) as conn:
        left = conn.execute("SELECT count(*) FROM pg_database WHERE datname LIKE 'grade%'")
        assert left.fetchone() == (0,)


def test_connections_are_counted(databases) -> None:
    url = databases.give(fenced=False)
    opened = []
    with pytest.raises(psycopg.OperationalError):
        for _ in range(CONNECTIONS + 1):
            opened.append(psycopg.connect(url))
    assert len(opened) == CONNECTIONS
    for conn in opened:
        conn.close()


@pytest.mark.long
def test_a_database_that_fills_the_disk_loses_its_connections_and_no_other_does(
    cluster, databases
) -> None:
    other = Databases(cluster)
    try:
        neighbour = psycopg.connect(other.give(fenced=False), autocommit=True)
        with psycopg.connect(databases.give(fenced=False), autocommit=True) as conn:
            conn.execute("CREATE TABLE big (words text)")
            conn.execute("ALTER TABLE big ALTER words SET STORAGE PLAIN")
            with pytest.raises(psycopg.OperationalError):
                for _ in range(10_000):
                    conn.execute(
                        "INSERT INTO big SELECT repeat('x', 7000) FROM generate_series(1, 999)"
                    )
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(conn.info.dsn, password=conn.info.password)
        neighbour.execute("CREATE TABLE small AS SELECT 1")
    finally:
        other.close()


@pytest.mark.long
def test_temporary_files_are_limited(databases) -> None:
    wide = "SELECT n, repeat(md5(n::text), 20) FROM generate_series(1, 999999) n ORDER BY 2"
    assert refused(databases.give(fenced=False), wide) == "ConfigurationLimitExceeded"


@pytest.mark.long
def test_a_process_of_the_server_has_limited_memory(cluster, databases) -> None:
    url = databases.give(fenced=False)
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SET work_mem = '8GB'")
        with pytest.raises(psycopg.errors.OutOfMemory):
            conn.execute(
                "SELECT cardinality(array_agg(repeat(n::text, 200))) "
                "FROM generate_series(1, 9999999) n"
            )
        assert conn.execute("SELECT 1").fetchone() == (1,)
    with psycopg.connect(cluster) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)


@needs_fence
def test_the_clusters_file_system_has_a_limited_size(cluster) -> None:
    with psycopg.connect(cluster) as conn:
        (folder,) = conn.execute("SHOW data_directory").fetchone() or ("",)
        (lines,) = conn.execute("SELECT pg_read_file('/proc/self/mountinfo')").fetchone() or ("",)
    mounts = {line.split()[4]: line for line in lines.splitlines()}
    state = folder.rsplit("/", 1)[0]
    assert "tmpfs" in mounts[state] and f"size={2 * ROOM >> 10}k" in mounts[state]
    assert LARGEST < ROOM
