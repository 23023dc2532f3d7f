"""nbval runs the notebook: one pytest item a cell, its own comparison, a JUnit report.

Where nbval would start a kernel, it is given a `Conductor`. The tags and comments by which a cell
asks to be skipped or to be allowed to fail count in the master's cells alone.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from _pytest.fixtures import FixtureManager

from course_lib.teaching.grade.conduct import CellRun, Conductor
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.inside.quick import SLOW, without
from course_lib.teaching.grade.notebooks import parse_notebook

with without(*SLOW):
    import nbval.plugin

UNUSED = (
    "cacheprovider", "debugging", "doctest", "faulthandler", "logging", "monkeypatch", "pastebin",
    "recwarn", "setuponly", "setupplan", "stepwise", "subtests", "threadexception",
    "tmpdir", "unittest", "unraisableexception", "warnings",
)  # fmt: skip
"""Parts of pytest that have nothing to do here, and take time."""

MEANT_TO_FAIL = {"raises-exception", "nbval-raises-exception"}


def run_with_nbval(notebook: Path, conductor: Conductor, junit: Path | None = None) -> list[bool]:
    """Run a notebook and return for each code cell whether its item passed.

    Parameters
    ----------
    notebook
        With one code cell for each step of the conductor's plan.
    conductor
        Executes the cells.
    junit
        Where the JUnit report goes.

    Raises
    ------
    GradeError
        nbval could not run the notebook at all.
    """
    plugin = _Plugin(conductor)
    arguments = [str(notebook), "--nbval-lax", "--nbval-current-env", "-q", "--color=no"]
    for name in UNUSED:
        arguments += ["-p", f"no:{name}"]
    folder = str(notebook.parent)
    arguments += ["-c", os.devnull, "--rootdir", folder, "--confcutdir", folder, "--capture=no"]
    if junit is not None:
        junit.parent.mkdir(parents=True, exist_ok=True)
        arguments.append(f"--junitxml={junit}")
    said = io.StringIO()
    with _kernels_of(conductor), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        # As objects: pytest looks for a plugin's name among all that is installed.
        pytest.main(arguments, plugins=[nbval.plugin, plugin])
    if len(plugin.passed) != len(conductor.runs):
        last = said.getvalue().strip().splitlines()[-3:]
        raise GradeError(f"nbval did not run {notebook.name}: {' '.join(last)}")
    return [plugin.passed[place] for place in range(len(conductor.runs))]


class _Plugin:
    def __init__(self, conductor: Conductor) -> None:
        self.conductor = conductor
        self.passed: dict[int, bool] = {}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        for item in items:
            step = self.conductor.plan.steps[item.cell_num]
            cell = step.cell
            if cell.role in ("check", "answer", "manual"):
                item.options["skip"] = False
                item.options["check_exception"] = False
            if cell.role in ("answer", "manual"):
                item.options["check"] = False
            elif item.cell_num < self.conductor.sessions.ahead or step.source != cell.source:
                # It ran before this submission, and put out nothing, or only a part of it runs.
                item.options["check"] = False
            elif cell.role == "code":
                item.options["check_exception"] = bool(MEANT_TO_FAIL & set(cell.tags))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: Any) -> None:
        item.parent.timed_out = False  # every cell counts for itself
        self.at = item.cell_num

    def pytest_runtest_call(self, item: Any) -> None:
        item.parent.kernel.place = item.cell_num

    def pytest_runtest_logreport(self, report: Any) -> None:
        place = self.at
        self.passed[place] = self.passed.get(place, True) and report.outcome == "passed"


@contextlib.contextmanager
def _kernels_of(conductor: Conductor) -> Iterator[None]:
    before = nbval.plugin.RunningKernel, nbval.plugin.nbformat
    given = os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    nbval.plugin.RunningKernel = lambda *_, **__: _Kernel(conductor)
    nbval.plugin.nbformat = _Unvalidated
    fixtures: Any = FixtureManager
    parse = fixtures.parsefactories
    # A notebook's cells have no fixtures; to look for them in every plugin takes longest.
    fixtures.parsefactories = lambda *_, **__: None
    try:
        yield
    finally:
        nbval.plugin.RunningKernel, nbval.plugin.nbformat = before
        fixtures.parsefactories = parse
        if given is None:
            del os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]


class _Unvalidated:
    """What nbval takes for nbformat: the notebook is of our making, and need not be validated."""

    @staticmethod
    def read(path: str, as_version: int) -> Any:
        """Return the notebook of a file."""
        return parse_notebook(Path(path).read_text(encoding="utf-8"))


class _Kernel:
    """What nbval takes for a running kernel."""

    def __init__(self, conductor: Conductor) -> None:
        self.conductor = conductor
        self.place = 0
        self.waiting: list[dict[str, Any]] = []

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> str:
        """Run the cell that the plugin named, and keep what came of it."""
        run = self.conductor.execute(self.place)
        number = f"cell-{self.place}"
        self.waiting = [
            {**_shaped(one), "parent_header": {"msg_id": number}} for one in _messages(run)
        ]
        return number

    def await_reply(self, number: str, timeout: float | None = None) -> None:
        """Return at once: the conductor has waited."""

    def await_idle(self, number: str, timeout: float) -> None:
        """Return at once."""

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        """Return the next message."""
        if not self.waiting:
            raise Empty
        return self.waiting.pop(0)

    def is_alive(self) -> bool:
        """Say yes: a dead process is the conductor's business."""
        return True

    def interrupt(self) -> None:
        """Do nothing: what ran too long has been ended."""

    def stop(self) -> None:
        """Do nothing: the conductor's process is ended by whoever made it."""


def _messages(run: CellRun) -> list[dict[str, Any]]:
    """Return what a cell put out, with an error where the reply says so and no message does."""
    messages = list(run.messages)
    failed = run.state != "ok"
    if failed and not any(one.get("msg_type") == "error" for one in messages):
        content = {"ename": run.ename, "evalue": run.evalue, "traceback": run.evalue.splitlines()}
        messages.append({"msg_type": "error", "content": content})
    if not failed:
        # An error that is shown by hand is no error of the cell.
        messages = [one for one in messages if one.get("msg_type") != "error"]
    idle = {"msg_type": "status", "content": {"execution_state": "idle"}}
    return [*messages, idle]


_FIELDS: dict[str, dict[str, Any]] = {
    "stream": {"name": "stdout", "text": ""},
    "display_data": {"data": {}, "metadata": {}},
    "execute_result": {"data": {}, "metadata": {}, "execution_count": 1},
    "error": {"ename": "", "evalue": "", "traceback": []},
    "status": {"execution_state": "idle"},
}


def _shaped(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with the fields that nbval reads, each of its type, whatever was sent."""
    kind = str(message.get("msg_type"))
    if kind not in _FIELDS:
        return {"msg_type": "comm_msg", "content": {}}
    content = message.get("content")
    given = content if isinstance(content, dict) else {}
    shaped = {
        name: given[name] if type(given.get(name)) is type(usual) else usual
        for name, usual in _FIELDS[kind].items()
    }
    if kind == "error":
        shaped["traceback"] = [str(line) for line in shaped["traceback"]]
    return {"msg_type": kind, "content": shaped}
