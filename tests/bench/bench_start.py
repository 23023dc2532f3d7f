"""What starting costs: `course search` and one encoded text, each in a new process.

CPU time of the whole process, from the interpreter's start to its end; the database server runs
already, as it does after the first command of the day.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.weights import DEFAULT_MODEL, model_directory
from course_lib.indexing import ingest
from course_lib.settings import project_root
from course_lib.store import connect, fresh_database
from tests.bench.measure import Row

TURNS = 7
LIMIT_SECONDS, LIMIT_MB = 3.0, 400
QUESTION = "how do I undo a release?"
COURSE = "from course_lib.cli import main; main()"
ENCODE = "from course_lib.embedder import EmbeddingClient\nEmbeddingClient().encode(['q'])\n"
STOCK = """
import os
os.environ["HF_HUB_OFFLINE"] = "1"
from sentence_transformers import SentenceTransformer
SentenceTransformer({directory!r}, device="cpu").encode(["q"], show_progress_bar=False)
"""

# A process's peak memory counts what it was forked from, so the process between has to be small.
BETWEEN = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
seconds = used.ru_utime + used.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, used.ru_maxrss]))
"""
CAN_MEASURE = hasattr(os, "wait4")


@dataclass(frozen=True)
class Cost:
    """CPU seconds in user and system mode, and peak memory in MB."""

    seconds: float
    mb: float


def cost(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end and return what it cost; only where `CAN_MEASURE`.

    Raises
    ------
    OSError
        If the command fails.
    """
    variables = os.environ | (environment or {})
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
    return Cost(seconds, memory / (2**20 if sys.platform == "darwin" else 1024))


def measure() -> list[Row]:
    """Start one process after the other, in turn; nothing where processes cannot be measured."""
    if not CAN_MEASURE:
        return []
    client = EmbeddingClient(DEFAULT_MODEL)
    client.encode(["q"])  # converts the model where that is still to do
    python = [sys.executable, "-c"]
    commands = {
        "course search": [*python, COURSE, "search", QUESTION],
        "one text": [*python, ENCODE],
        "stock": [*python, STOCK.format(directory=str(model_directory(DEFAULT_MODEL)))],
    }
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    with fresh_database("bench") as database:
        with connect(database.url, autocommit=True) as conn:
            ingest(project_root() / "data" / "documents", conn=conn, embedder=client)
        for turn in range(1 + TURNS):
            for name, command in commands.items():
                # Stock takes ten times as long as all others together: it has three turns.
                if name != "stock" or turn in (1, TURNS // 2, TURNS):
                    costs[name].append(cost(command, {"DATABASE_URL": database.url}))
    # The first turn writes bytecode and fills the file cache.
    return rows({name: _median(some[-TURNS:]) for name, some in costs.items()})


def rows(found: dict[str, Cost]) -> list[Row]:
    """Return the table's rows for what the processes cost."""
    stock = found["stock"]
    result: list[Row] = []
    for name, what in (("course search", "course search, cold"), ("one text", "encode one text")):
        one = found[name]
        result += [
            Row("start", what, "limit", one.seconds, LIMIT_SECONDS, "CPU-s",
                LIMIT_SECONDS / one.seconds, 1.0, f"a new process; median of {TURNS}"),
            Row("start", what, "sentence-transformers, one text", one.seconds, stock.seconds,
                "CPU-s", stock.seconds / one.seconds),
            Row("start", f"{what}: peak memory", "limit", one.mb, LIMIT_MB, "MB",
                LIMIT_MB / one.mb, 1.0),
            Row("start", f"{what}: peak memory", "sentence-transformers, one text", one.mb,
                stock.mb, "MB", stock.mb / one.mb),
        ]  # fmt: skip
    return result


def _median(some: list[Cost]) -> Cost:
    return Cost(median(one.seconds for one in some), median(one.mb for one in some))
