"""What starting costs: `course search` and one encoded text, each in a new process.

CPU time of the whole process, from the interpreter's start to its end; the database server runs
already, as it does after the first command of the day.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from statistics import median

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.weights import DEFAULT_MODEL
from course_lib.indexing import ingest
from course_lib.settings import project_root
from course_lib.store import connect, fresh_database
from tests.bench.measure import Row

TURNS = 7
LIMIT_SECONDS, LIMIT_MB = 3.0, 400
QUESTION = "how do I undo a release?"
COURSE = "from course_lib.cli import main; main()"
ENCODE = "from course_lib.embedder import EmbeddingClient\nEmbeddingClient().encode(['q'])\n"
# A process's peak memory counts what it was forked from, so the process between has to be small.
BETWEEN = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
seconds = used.ru_utime + used.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, used.ru_maxrss]))
"""


def cost(command: Sequence[str], url: str) -> tuple[float, float]:
    """Run a command to its end; return its CPU seconds, and its peak memory in MB.

    Raises
    ------
    OSError
        If the command fails.
    """
    variables = os.environ | {"DATABASE_URL": url}
    # A second run finds the bytecode that the first one wrote, as on anybody's machine.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-S", "-c", BETWEEN, *command],
        env=variables,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    code, seconds, memory = json.loads(done.stdout)
    if code:
        raise OSError(f"{command[0]} ended with exit code {code}: {done.stderr.strip()}")
    return seconds, memory / (2**20 if sys.platform == "darwin" else 1024)


def measure() -> list[Row]:
    """Start one process after the other, in turn; nothing where processes cannot be measured."""
    if not hasattr(os, "wait4"):
        return []
    client = EmbeddingClient(DEFAULT_MODEL)
    client.encode(["q"])  # converts the model where that is still to do
    commands = {
        "course search, cold": [sys.executable, "-c", COURSE, "search", QUESTION],
        "encode one text": [sys.executable, "-c", ENCODE],
    }
    costs: dict[str, list[tuple[float, float]]] = {what: [] for what in commands}
    with fresh_database("bench") as database:
        with connect(database.url, autocommit=True) as conn:
            ingest(project_root() / "data" / "documents", conn=conn, embedder=client)
        for _ in range(1 + TURNS):
            for what, command in commands.items():
                costs[what].append(cost(command, database.url))
    rows: list[Row] = []
    for what, some in costs.items():
        # The first turn writes bytecode and fills the file cache.
        seconds, mb = map(median, zip(*some[1:], strict=True))
        rows += [
            Row("start", what, "limit", seconds, LIMIT_SECONDS, "CPU-s", LIMIT_SECONDS / seconds,
                1.0, f"a new process; median of {TURNS}"),
            Row("start", f"{what}: peak memory", "limit", mb, LIMIT_MB, "MB", LIMIT_MB / mb, 1.0),
        ]  # fmt: skip
    return rows
