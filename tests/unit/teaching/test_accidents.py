"""The listener of lab 11 kills the first shard of its step once, after something is stored."""

import subprocess
import sys
import time

import psycopg

from course_lib.pipeline.corpus import Shard
from course_lib.teaching.lab.accidents import KillFirst
from tests.schemas import OwnSchema

FIRST = next(name for name in map(str, range(99)) if Shard.parse("0/2").holds(name))
SECOND = next(name for name in map(str, range(99)) if Shard.parse("1/2").holds(name))


def _step(function: str, shard: int) -> "subprocess.Popen[bytes]":
    sleep, where = "import time; time.sleep(60)", f"for-loop-1-iteration-{shard}/output.json"
    return subprocess.Popen([sys.executable, "-c", sleep, "kfp.dsl.executor_main", function, where])


def _stays(process: "subprocess.Popen[bytes]") -> bool:
    time.sleep(0.5)
    return process.poll() is None


def test_the_first_shard_is_killed_once_when_it_has_stored_something(
    database: OwnSchema, conn: psycopg.Connection
) -> None:
    victim, shard, split = (
        _step(*one) for one in (("embed_and_store", 0), ("embed_and_store", 1), ("split", 0))
    )
    others = [shard, split]
    accident = KillFirst("embed-and-store", database.url)
    row = "INSERT INTO document_chunks VALUES ('documents', %s)"
    try:
        accident("started", "split-documents", 0)
        accident("started", "embed-and-store", 0)
        assert _stays(victim), "there is no table yet"
        conn.execute("CREATE TABLE document_chunks (repo_slug text, document_name text)")
        conn.execute(row, [SECOND])
        assert _stays(victim), "only another shard has stored something"
        with conn.transaction():
            conn.cursor().executemany(row, [[FIRST], [FIRST]])
        assert victim.wait(timeout=20) != 0
        others.append(_step("embed_and_store", 0))
        accident("started", "embed-and-store", 0)
        assert all(map(_stays, others))
        assert accident.stored == 2
    finally:
        for process in (victim, *others):
            process.kill()
            process.wait()
