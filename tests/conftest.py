"""What most tests share: a schema of their own, a connection to it, and the real model."""

from __future__ import annotations

import inspect
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings

from course_lib.embedder import EmbeddingClient
from course_lib.embedder.weights import models_dir
from course_lib.store import fresh_database
from course_lib.store.databases import FreshDatabase
from course_lib.teaching.checks.wiring import frames
from tests.schemas import OwnSchema, own_schema

if TYPE_CHECKING:
    from tests.github_faults import FaultyGitHub

# Tests with a state folder of their own take the model that was converted at set-up.
os.environ["COURSE_MODELS"] = str(models_dir())

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell script's background jobs ignore Ctrl-C, and so would every command that a test starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No timing is asserted: on a machine that is busy, examples take long without a fault of theirs.
# A failing example is not explained: for that Hypothesis traces each line, which once did not end.
settings.register_profile(
    "random",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[one for one in Phase if one is not Phase.explain],
)
# The same examples everywhere: what would fail elsewhere fails here.
settings.register_profile("course", settings.get_profile("random"), derandomize=True)
settings.load_profile("course")


# kfp asks for the name of its caller at each setting of a task. Looking for the source of all
# frames in thousands of modules, a test of a pipeline took 0.7 seconds instead of 0.02.
inspect.stack = frames

LONGEST = (
    "tests/grading/test_labs.py",
    "tests/browser/test_jupyterlab.py",
    "tests/unit/teaching/test_draws.py",
    "tests/unit/teaching/test_exercises.py",
    "tests/grading/test_rehearsal.py",
    "tests/unit/test_bench.py",
    "solutions/",
)
"""What takes minutes, long tests or not, the longest first; the rest comes in its order."""

LAST = ("tests/e2e/test_pythons.py", "tests/browser/test_jupyterhub.py")
"""What comes after all others, the last one first to go where CI's time is short."""

BY_PARAMETER = ("tests/e2e/test_pythons.py", "tests/grading/test_labs.py")
"""Files that take longest, whose tests share nothing where they have another parameter."""


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each file to one worker, and of those by parameter each parameter's tests."""
    from xdist.scheduler import LoadFileScheduling

    class FilesOrParameters(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::")[0]
            return file + nodeid.partition("[")[2] if file in BY_PARAMETER else file

    return FilesOrParameters(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take `--lab 01`, as `course test 01` says it."""
    parser.addoption("--lab", help="of the tests that go through all labs, those of this one")


def lab_of(item: pytest.Item) -> str | None:
    """Return the lab that a test is about; None where it is about none, or about all of them."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    if "exercise" in given and "lab" not in given:
        return str(given["exercise"].id.split(".")[0].zfill(2))
    if found := re.fullmatch(r"test_lab(\d\d)\.py", item.path.name):
        return found[1]
    return str(given.get("lab") or given.get("name", ""))[:2] or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the longest files: one that began last would keep one worker busy alone."""
    if lab := config.getoption("--lab"):
        items[:] = [one for one in items if one.path.suffix == ".ipynb" or lab_of(one) == lab]

    def rank(item: pytest.Item) -> int:
        order = (*LONGEST, None, *LAST)  # None is the rest
        found = [at for at, path in enumerate(order) if path and item.nodeid.startswith(path)]
        return min(found, default=order.index(None))

    items.sort(key=rank)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a long test that would begin after COURSE_ENDS, in seconds since 1970; CI sets it."""
    ends = float(os.environ.get("COURSE_ENDS", "inf"))
    if item.get_closest_marker("long") and time.time() > ends:
        pytest.skip(f"CI's time is over: {item.nodeid}")


SKIPPED: list[str] = []
"""The tests that this run skipped. (`course test --skipped` runs them.)"""

FAILED: dict[str, str] = {}
"""The tests that failed, each with its traceback. (`course test --failed` runs them again.)"""

LAST_CHARACTERS = 2000
"""How much of a traceback is written down: its end says what was wrong."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember what failed or is skipped; cells of notebooks have a tag for that."""
    if report.failed:
        FAILED[report.nodeid] = report.longreprtext
    if report.skipped and report.nodeid.startswith("tests/"):
        SKIPPED.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write down what was skipped and what failed, in the process that hears of all tests."""
    if hasattr(session.config, "workerinput"):
        return
    if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        os.environ.pop("COURSE_FAILED", None)  # not all tests ran
    # A cell fails or passes with the cells before it.
    failed = dict.fromkeys(re.sub(r"(\.ipynb)::.*", r"\1", one) for one in FAILED)
    why = [f"{name}\n{text[-LAST_CHARACTERS:]}\n" for name, text in FAILED.items()]
    lists = {"COURSE_SKIPPED": SKIPPED, "COURSE_FAILED": [*failed], "COURSE_WHY": why}
    for variable, lines in lists.items():
        if file := os.environ.get(variable):
            Path(file).parent.mkdir(exist_ok=True)
            Path(file).write_text("".join(f"{one}\n" for one in lines), encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Say how a worker of pytest-xdist ended that died: -11 is a segmentation fault."""
    if error:
        os.environ.pop("COURSE_FAILED", None)  # its other tests may not have run
        print(f"\n[{node.gateway.id}] ended with {node.gateway._io.popen.wait(10)}", flush=True)


@pytest.fixture(scope="session")
def worker_database() -> Iterator[FreshDatabase]:
    """The one database of this worker, in which tests have their schemas."""
    with fresh_database("test") as fresh:
        yield fresh


@pytest.fixture
def own_database() -> Iterator[FreshDatabase]:
    """An empty database with pgvector, for a test of databases, roles, tenants or owners."""
    with fresh_database("own") as fresh:
        yield fresh


@pytest.fixture
def database(worker_database: FreshDatabase) -> Iterator[OwnSchema]:
    """An empty schema of this test's own."""
    with own_schema(worker_database) as made:
        yield made


@pytest.fixture
def conn(database: OwnSchema) -> Iterator[psycopg.Connection]:
    """A connection to the test's own schema, with autocommit."""
    with database.connect() as connection:
        yield connection


@pytest.fixture(scope="session")
def embedder() -> EmbeddingClient:
    """The real model. The first text that is not in the cache on disk costs seconds."""
    return EmbeddingClient(cache=True)


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyGitHub]:
    """A server like GitHub without repositories, to which this process's downloads go."""
    from course_lib.teaching.github_server import PrimaryLimit
    from tests.github_faults import FaultyGitHub

    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.setenv(name, "")
    with FaultyGitHub([], primary=PrimaryLimit(5_000)) as server:
        monkeypatch.setenv("GITHUB_API_URL", server.url)
        monkeypatch.setenv("GITHUB_RAW_URL", "")
        yield server


@dataclass
class Clock:
    """A clock that only a download's waits move, and they take no time."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return time.time()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock by which downloads wait, from now on."""
    from course_lib.loader.github import waiting

    made = Clock()

    class Event(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            made.now += timeout or 0.0
            return self.is_set()

    monkeypatch.setattr(waiting, "time", made)
    monkeypatch.setattr(waiting, "threading", SimpleNamespace(Lock=threading.Lock, Event=Event))
    return made
