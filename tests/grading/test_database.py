"""What a submission can do to the server that its database is in."""

import inspect
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from course_lib.teaching.grade import Limits
from course_lib.teaching.grade.cluster import ROOM
from course_lib.teaching.grade.database import CONNECTIONS, WITHIN, Databases
from tests.grading.conftest import any_fence, grade_lab, lab_master, needs_fence


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    """What a grader has; each test asks for an empty database."""
    with closing(Databases(any_fence())) as given:
        yield given


@pytest.fixture(scope="module")
def others() -> Iterator[Databases]:
    """What another grader of the same run has."""
    with closing(Databases(any_fence())) as given:
        yield given


def given_by(databases: Databases) -> str:
    """Return the URL of an empty database, by the socket as it is outside of the fence."""
    within, folder = quote(WITHIN, safe=""), quote(str(databases.folder), safe="")
    return databases.give().replace(f"host={within}&", f"host={folder}&")


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
    url = given_by(databases)
    said = {statement: refused(url, statement) for statement in POWER}
    no = {"InsufficientPrivilege", "UndefinedFile", "FeatureNotSupported"}
    assert set(said.values()) <= no, said


def test_other_databases_are_closed(databases) -> None:
    mine = given_by(databases)
    with psycopg.connect(mine) as conn:
        own = conn.info.dbname
    for name in ("postgres", "template1"):
        with pytest.raises(psycopg.OperationalError, match="denied|not permit|not currently"):
            psycopg.connect(mine.replace(f"/{own}?", f"/{name}?"))


def test_what_was_left_in_a_database_the_next_one_does_not_meet(databases) -> None:
    first = psycopg.connect(given_by(databases), autocommit=True)
    first.execute("CREATE TABLE letter AS SELECT 'for you' AS words")
    first.execute("SELECT pg_advisory_lock(1)")
    with psycopg.connect(given_by(databases)) as conn:
        assert conn.execute("SELECT to_regclass('letter')").fetchone() == (None,)
        assert conn.execute("SELECT pg_try_advisory_lock(1)").fetchone() == (True,)
        name = conn.info.dbname
    with pytest.raises(psycopg.OperationalError):
        first.execute("SELECT 1")
    every = "SELECT datname FROM pg_database WHERE datname <> 'postgres' AND NOT datistemplate"
    with psycopg.connect(databases.admin_url) as conn:
        assert conn.execute(every).fetchall() == [(name,)]
        databases.take_back()
        assert conn.execute(every).fetchall() == []


def test_connections_are_counted(databases) -> None:
    url = given_by(databases)
    with ExitStack() as opened:
        for _ in range(CONNECTIONS):
            opened.enter_context(psycopg.connect(url))
        with pytest.raises(psycopg.OperationalError, match="too many connections"):
            psycopg.connect(url)


def test_who_takes_all_places_of_a_server_takes_nobody_elses(databases, others) -> None:
    mine, theirs = given_by(databases), given_by(others)
    (path,) = (one for one in databases.folder.iterdir() if one.is_socket())
    with ExitStack() as opened:
        with suppress(OSError):
            for _ in range(400):  # nobody logs in, so that no role's limit counts them
                one = opened.enter_context(socket.socket(socket.AF_UNIX))
                one.settimeout(1)
                one.connect(str(path))
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(mine)
        psycopg.connect(theirs).close()
    psycopg.connect(given_by(databases)).close()


FULL = re.compile("No space left|server closed the connection")
"""What a server says whose disk is full: it ends where it cannot write its log."""


def fill(url: str) -> str:
    """Write into a table until the server refuses, and return what it says."""
    import psycopg

    try:
        with psycopg.connect(url, autocommit=True) as conn:
            conn.execute("CREATE TABLE big (words text)")
            conn.execute("ALTER TABLE big ALTER words SET STORAGE PLAIN")
            while True:
                conn.execute(
                    "INSERT INTO big SELECT repeat('x', 7000) FROM generate_series(1, 9999)"
                )
    except psycopg.Error as error:
        return str(error)


@needs_fence
@pytest.mark.long
def test_who_is_graded_after_a_submission_that_filled_the_disk_has_all_points(
    tmp_path: Path,
) -> None:
    """One answer of lab 06 fills its database before it answers well."""
    master, limits = lab_master("06"), Limits(60, 240)
    attack = f"{inspect.getsource(fill)}\nprint(fill(lab.database_url))\n"
    first = {master.answers[0].grade_id: attack + master.answers[0].source}
    answers = {"a-attacks": master.solutions | first, "b-right": master.solutions}
    attacks, right = grade_lab(tmp_path, "06", answers, limits, jobs=1)
    assert FULL.search(attacks.outputs[master.answers[0].grade_id]), attacks
    assert (right.status, right.score) == ("graded", 10.0), right


SMALL = {
    "exercise-6-1": ("    CHECK (vector_norm(embedding) > 0),\n", ""),
    "exercise-6-2": ("IS DISTINCT FROM", "<>"),
    "exercise-6-3": ("conn.transaction(), ", ""),
}


@needs_fence
def test_small_mistakes_cost_their_parts_and_raise_no_flag(tmp_path: Path) -> None:
    right = lab_master("06").solutions
    answers = {name: right[name].replace(*SMALL[name]) for name in SMALL}
    assert not answers.items() & right.items()
    given = {"ada": answers, "bob": {"exercise-6-3": right["exercise-6-3"]}}
    ada, bob = grade_lab(tmp_path, "06", given, Limits(60, 240), jobs=1, seed="6")
    assert [one.points for one in ada.marks] == [3, 2, 2] and not ada.flags, ada
    assert [one.points for one in bob.marks] == [0, 0, 3]  # 6.3 builds on the course's 6.2


@pytest.mark.long
def test_temporary_files_are_limited(databases) -> None:
    wide = "SELECT n, repeat(md5(n::text), 20) FROM generate_series(1, 999999) n ORDER BY 2"
    assert refused(given_by(databases), wide) == "ConfigurationLimitExceeded"


@pytest.mark.long
def test_a_process_of_the_server_has_limited_memory(databases) -> None:
    url = given_by(databases)
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute("SET work_mem = '8GB'")
        with pytest.raises(psycopg.errors.OutOfMemory):
            conn.execute(
                "SELECT cardinality(array_agg(repeat(n::text, 200))) "
                "FROM generate_series(1, 9999999) n"
            )
        assert conn.execute("SELECT 1").fetchone() == (1,)
    with psycopg.connect(databases.admin_url) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)


@needs_fence
def test_the_clusters_file_system_has_a_limited_size(databases) -> None:
    databases.give()
    with psycopg.connect(databases.admin_url) as conn:
        (folder,) = conn.execute("SHOW data_directory").fetchone() or ("",)
        (lines,) = conn.execute("SELECT pg_read_file('/proc/self/mountinfo')").fetchone() or ("",)
    mounts = {line.split()[4]: line for line in lines.splitlines()}
    state = folder.rsplit("/", 1)[0]
    assert "tmpfs" in mounts[state] and f"size={ROOM >> 10}k" in mounts[state]
