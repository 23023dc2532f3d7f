"""The accidents of lab 11: a job and the first shard of a step are killed; a file is damaged."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import psycopg

from course_lib.embedder import EmbeddingClient
from course_lib.pipeline.corpus import Shard
from course_lib.pipeline.storing import add_up
from course_lib.teaching.lab.accidents import KillFirst, SplitPages, chunks_of, run_job
from tests.schemas import OwnSchema

FIRST = next(name for name in map(str, range(99)) if Shard.parse("0/2").holds(name))
SECOND = next(name for name in map(str, range(99)) if Shard.parse("1/2").holds(name))


Work = Callable[[str], Iterable[str]]


def job(names: Sequence[str], shard: str, out: Path, work_on: Work) -> None:
    import time

    for name in names:
        for line in work_on(name):
            with out.open("a", encoding="utf-8") as file:
                print(line, shard, file=file)
        if name == "5":
            time.sleep(60)


def no_job(names: Sequence[str], shard: str, out: Path, work_on: Work) -> None:
    pass


def test_a_job_is_killed_after_its_fifth_line_or_works_to_its_end(tmp_path: Path) -> None:
    names = list(map(str, range(1, 10)))
    killed = run_job(job, names, "0/1", tmp_path / "out", killed=True)
    assert killed == [f"{name} 0/1" for name in names[:5]]
    whole = [name for name in names if name != "5"]
    assert run_job(job, whole, "1/2") == [f"{name} 1/2" for name in whole]
    assert run_job(no_job, names, "0/1") == []


def test_the_lines_of_a_splitter_are_stored_as_they_are_or_refused_with_a_reason(
    conn: psycopg.Connection, embedder: EmbeddingClient, tmp_path: Path
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "mill.md").write_text("# Mill\n\n" + "The sail turns. " * 80, encoding="utf-8")
    pages = SplitPages(folder, tmp_path)
    assert len(pages.lines) > 2
    assert b"# Mill" in pages.lines[0]
    assert "two chunks" in pages.store(pages.lines * 2, conn, embedder)["the step says"]
    cut = [*pages.lines[:-1], pages.lines[-1][:-100]]
    assert pages.store(cut, conn, embedder)["the step says"].startswith("is not JSON")
    stored = pages.store(pages.lines[:-1], conn, embedder)
    assert stored["chunks stored"] == stored["chunks split"] - 1 == len(pages.lines) - 1
    assert pages.fan_in(add_up, stored).startswith("shard 0/1: ")
    assert "shards that came: []" in pages.fan_in(add_up, stored | {"the step says": "refused"})
    whole = stored | {"chunks split": stored["chunks stored"]}
    assert pages.fan_in(add_up, whole) == "no error"


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
        assert chunks_of("documents", database.url) == 3
    finally:
        for process in (victim, *others):
            process.kill()
            process.wait()


def test_a_kill_that_comes_too_late_kills_nothing_and_says_so(
    database: OwnSchema, conn: psycopg.Connection
) -> None:
    conn.execute("CREATE TABLE document_chunks (repo_slug text, document_name text)")
    accident = KillFirst("embed-and-store", database.url)
    process = _step("embed_and_store", 0)
    try:
        for what in ("started", "started", "succeeded", "succeeded"):
            accident(what, "embed-and-store", 0)
        conn.execute("INSERT INTO document_chunks VALUES ('documents', %s)", [FIRST])
        assert _stays(process)
        assert accident.stored == 0
    finally:
        process.kill()
        process.wait()
