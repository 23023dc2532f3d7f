"""Kills at random points: an ingest, a pipeline's shard, the postmaster, all of the server.

Folders change, an update begins, something is killed by SIGKILL in the middle, and what is there
then must be whole. Most updates are completed afterwards, some only after further kills. At the end
the index has to be that which was built in peace.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import psutil
import psycopg

from course_lib.indexing import ingest
from course_lib.pipeline.corpus import shard_names, write_corpus
from course_lib.pipeline.sources import read_folder
from course_lib.pipeline.storing import build_index, store_shard
from course_lib.records import Scope
from course_lib.store import connect, default_url, drop_schema, fresh_database
from course_lib.store.server import ensure_server
from tests.faults.corpora import Folder
from tests.faults.ground import Hashed, own_folder, own_place, server_processes
from tests.faults.indexes import all_rows, found_otherwise, torn_documents
from tests.faults.victim import PHASES, Aim, Victim, split_shard

KINDS = {"ingest": 8, "shard": 6, "postmaster": 4, "whole server": 3, "server process": 3}
"""What is killed, and how often each among 24."""

SHARDS = 2


def kill_often(kills: int, seed: int) -> dict[str, Any]:
    """Kill so many times; return the figures.

    Raises
    ------
    AssertionError
        If anything was half-written, hung, ended without an explanation, or differs at the end.
    """
    with own_folder() as place, own_place(place):
        session = _Session(place, Random(seed))
        phases: Counter[str] = Counter()
        kinds = _shuffled(kills, session.rng)
        while phases.total() < kills:
            phase = session.kill(kinds[phases.total()])
            if phase:  # else the update was over before
                phases[phase] += 1
                if phases.total() % 10 == 0:
                    session.compare()
        session.compare()
        return {
            "by kind": Counter(kinds),
            "by phase": phases,
            "explained errors": session.explained,
            "documents checked for halves": session.checked,
            "rows compared": session.compared,
        }


def _shuffled(kills: int, rng: Random) -> list[str]:
    one = [kind for kind, times in KINDS.items() for _ in range(times)]
    kinds: list[str] = []
    while len(kinds) < kills:
        rng.shuffle(one)
        kinds += one
    return kinds[:kills]


class _Session:
    """One cluster and two folders: one that `course ingest` reads, one for a pipeline's shards."""

    def __init__(self, place: Path, rng: Random) -> None:
        self.place, self.rng = place, rng
        self.folders = {name: Folder(place / name, rng) for name in ("docs", "shards")}
        self.explained: Counter[str] = Counter()
        self.checked = self.compared = 0
        self.is_open = False
        self.took = 1.0
        ensure_server()

    def kill(self, kind: str) -> str:
        """Begin an update and kill; return in which phase, "" if the update was over before."""
        if not self.is_open:
            self._prepare()
        aim = self._aim(kind)
        victims = self._start("shards" if kind == "shard" else "docs", aim)
        victim = victims[0]
        try:
            hit = victim.reach(aim)
            phase = victim.told[-1] if victim.told else "start"
            if hit:
                self._strike(kind, victim)
            codes = [one.end() for one in victims]
        finally:
            for one in victims:
                one.kill()
        if kind in ("ingest", "shard"):
            # It may have ended by itself between the look at it and the kill.
            hit = hit and codes[0][0] == -signal.SIGKILL
        for code, said in codes:
            self._judge(code, said)
        with connect(autocommit=True) as conn:
            torn = torn_documents(conn, Hashed())
            assert not torn, f"half-written after {kind} at {phase}: {torn}"
            self.checked += self._count(conn)
        self.is_open = self.rng.random() < 0.25
        if not self.is_open or not hit:
            self._complete()
        return phase if hit else ""

    def compare(self) -> None:
        """Complete all, and hold it against an index that was built in peace."""
        self._complete()
        with connect(autocommit=True) as conn, fresh_database("peace") as peace:
            with connect(peace.url, autocommit=True) as other:
                docs = self.folders["docs"].path
                ingest(docs, Scope(repo="docs"), conn=other, embedder=Hashed())
                self._store_all(other, 1)
                ours, theirs = all_rows(conn), all_rows(other)
            for table, rows in theirs.items():
                assert rows, table
                differing = set(ours[table]) ^ set(rows)
                assert ours[table] == rows, f"{table}: {sorted(differing)[:4]}"
                self.compared += len(rows)
            wrong = found_otherwise(conn, Hashed(), self.rng)
            assert not wrong, wrong
        self.is_open = False

    def _prepare(self) -> None:
        for folder in self.folders.values():
            folder.change()
        draw = self.rng.random()
        with connect(autocommit=True) as conn:
            if draw < 0.15:
                drop_schema(conn)
            elif draw < 0.3:
                conn.execute("DROP INDEX IF EXISTS document_chunks_documentation_embedding_hnsw")

    def _aim(self, kind: str) -> Aim:
        way = self.rng.choice(("time", "phase", "phase"))
        if way == "time":
            return Aim("", 0, self.rng.uniform(0, self.took))
        # What kills the server leaves the ingest running, which must not wait to be killed.
        is_held = kind in ("ingest", "shard") and self.rng.random() < 0.6
        seconds = 0.0 if is_held else self.rng.uniform(0.0005, 0.03)
        phase = self.rng.choice(list(PHASES))
        return Aim(phase, self.rng.randint(1, PHASES[phase]), seconds)

    def _start(self, source: str, aim: Aim) -> list[Victim]:
        folder = self.folders[source]
        if source == "docs":
            words = ["course", "ingest", str(folder.path), "--repo", "docs"]
            return [Victim.start(words, aim, self.place / "said.txt")]
        documents = self._corpus()
        victims: list[Victim] = []
        for name in self.rng.sample(shard_names(SHARDS), SHARDS):
            work = self.place / f"work-{name.partition('/')[0]}"
            work.mkdir(exist_ok=True)
            # The first is to be killed, the others go on.
            mine = aim if not victims else Aim()
            words = ["shard", str(documents), name, str(work)]
            said = self.place / f"said-{name[0]}.txt"
            victims.append(Victim.start(words, mine, said, default_url()))
        return victims

    def _strike(self, kind: str, victim: Victim) -> None:
        if kind in ("ingest", "shard"):
            victim.kill()
            return
        processes = server_processes(ensure_server())
        chosen = {
            "postmaster": processes[:1],
            "whole server": processes,
            "server process": [self.rng.choice(processes[1:])],
        }[kind]
        for process in chosen:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def _judge(self, code: int, said: str) -> None:
        assert "Traceback" not in said, said
        if code not in (0, -signal.SIGKILL):
            lines = said.strip().splitlines()
            error = next((line for line in lines if line.startswith("error: ")), "")
            assert code == 1 and error and lines[-1] != error, (code, said)
            self.explained[" ".join(w for w in error[7:].split() if not w.isdigit())[:70]] += 1

    def _complete(self) -> None:
        """Run the same again to its end."""
        begin = time.perf_counter()
        code, said = self._start("docs", Aim())[0].end()
        # A random time lies within what an update takes on this machine now.
        self.took = 0.5 * self.took + 0.5 * (time.perf_counter() - begin)
        assert code == 0, said
        with connect(autocommit=True) as conn:
            self._store_all(conn, SHARDS)

    def _store_all(self, conn: psycopg.Connection[Any], shards: int) -> None:
        documents, names, counts = self._corpus(), shard_names(shards), []
        rows, chunks = self.place / "rows.jsonl", self.place / "chunks.jsonl"
        for name in names:
            split_shard(documents, name, chunks, rows)
            done = store_shard(rows, chunks, conn=conn, embedder=Hashed())
            counts.append({**done, "shard": name, "split": done["chunks"]})
        build_index(conn, counts, names)

    def _corpus(self) -> Path:
        documents = self.place / "documents.jsonl"
        write_corpus(documents, read_folder(str(self.folders["shards"].path), repo="shards"))
        return documents

    def _count(self, conn: psycopg.Connection[Any]) -> int:
        with suppress(psycopg.errors.UndefinedTable):
            row = conn.execute("SELECT count(*) FROM documents").fetchone()
            return int(row[0]) if row else 0
        return 0
