"""Running a notebook under nbval in this process: pytest, one item a cell, one IPython shell.

Where nbval would start a kernel it is given the shell of the process, which a warm parent has made.
The source of a cell comes from the grader when it is its turn, so that no code sees later checks.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from queue import Empty
from types import SimpleNamespace
from typing import Any

import nbval.plugin
import pytest

from course_lib.teaching.grade.inside.channel import Channel

PRINTED = 1_000_000
"""Characters that a cell may print before the rest is left out."""

TOLD = 20_000
"""Characters of an error's message, and of a cell's output, that are sent."""

WIDEST = 300
"""Characters of a syntax error, with the line in which it is."""

SYNTAX = (SyntaxError, IndentationError, TabError)

_TIMES = re.compile(r"(?<!\S)-[nr]\s*\d+")
"""Options of `%timeit` that say how often."""

UNUSED = (
    "cacheprovider", "debugging", "doctest", "faulthandler", "logging", "monkeypatch", "pastebin",
    "recwarn", "setuponly", "setupplan", "stepwise", "subtests", "threadexception",
    "tmpdir", "unittest", "unraisableexception", "warnings",
)  # fmt: skip
"""Parts of pytest that have nothing to do here, and take time."""


def make_shell() -> Any:
    """Return an IPython shell that keeps no history and prints no tracebacks."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    class Hook(DisplayHook):  # type: ignore[misc]
        values: list[Any] = []

        def write_output_prompt(self) -> None:
            """Write none."""

        def finish_displayhook(self) -> None:
            """Write no empty line."""

        def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
            """Keep what a cell's last line gives."""
            self.values.append(format_dict)

    class Shell(InteractiveShell):  # type: ignore[misc]
        displayhook_class = Type(Hook)

        def _showtraceback(self, *_: Any) -> None:
            """Print nothing: the error is reported."""

        def enable_gui(self, gui: Any = None) -> None:
            """Take `%matplotlib` for what it is in a notebook: no window is opened."""

        def init_sys_modules(self) -> None:
            """Let pickling find what cells define."""
            sys.modules["__main__"] = self.user_module

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.autoindent = False
    shell = Shell.instance(config=config)
    _measure_once(shell)
    return shell


def _measure_once(shell: Any) -> None:
    """Have `%timeit` run its statement once: it would use up the time that the cell has."""
    from IPython.core.magic import no_var_expand

    measure = shell.find_magic("timeit")

    @no_var_expand  # type: ignore[untyped-decorator]
    def timeit(line: str, cell: str | None = None) -> Any:
        return measure(f"-n1 -r1 {_TIMES.sub('', line)}", cell)

    shell.register_magic_function(timeit, "line_cell", "timeit")


def run_notebook(text: str, shell: Any, channel: Channel) -> tuple[str, dict[int, dict[str, Any]]]:
    """Run a notebook and report each cell to the grader.

    Parameters
    ----------
    text
        The notebook, as JSON.
    shell
        What `make_shell` returned.
    channel
        To the grader, which is asked for each cell's source.

    Returns
    -------
    tuple
        nbval's JUnit report, and what names meant after each cell.
    """
    kernel = _Kernel(shell, channel)
    nbval.plugin.RunningKernel = lambda *_, **__: kernel
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        path, report = Path(folder) / "notebook.ipynb", Path(folder) / "junit.xml"
        path.write_text(text, encoding="utf-8")
        arguments = [str(path), "--nbval-lax", "--nbval-current-env", "-q", "--color=no"]
        arguments += ["-c", os.devnull, "--rootdir", folder, "--confcutdir", folder]
        arguments += ["--capture=no", f"--junitxml={report}"]
        for name in UNUSED:
            arguments += ["-p", f"no:{name}"]
        # As objects: pytest looks for a plugin's name among all that is installed.
        with contextlib.suppress(OSError):  # an answer may have filled the disk before the report
            pytest.main(arguments, plugins=[nbval.plugin, _Reporter(kernel, channel)])
        said = report.read_text(encoding="utf-8") if report.is_file() else ""
        return said, kernel.names


def warm_up(shell: Any) -> None:
    """Run an empty cell: what pytest and IPython make at their first run, forks have already."""
    cell: dict[str, Any] = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": []}
    cell |= {"execution_count": None, "source": ""}
    about = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}  # nbformat makes a validator of it
    nobody: Any = SimpleNamespace(send=lambda _: None, receive=lambda: {"source": "pass"})
    run_notebook(json.dumps({**about, "cells": [cell]}), shell, nobody)


class _Reporter:
    def __init__(self, kernel: _Kernel, channel: Channel) -> None:
        self.kernel = kernel
        self.channel = channel

    def pytest_runtest_setup(self, item: Any) -> None:
        self.kernel.place = item.cell_num

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            passed = report.outcome == "passed"
            self.channel.send({"cell": self.kernel.place, "passed": passed, **self.kernel.told})


class _Kernel:
    """Takes the place of nbval's `RunningKernel`."""

    def __init__(self, shell: Any, channel: Channel) -> None:
        self.shell = shell
        self.channel = channel
        self.place = 0
        self.told: dict[str, str] = {}
        self.names: dict[int, dict[str, Any]] = {}
        self.waiting: list[dict[str, Any]] = []

    def execute_cell_input(self, _: str, allow_stdin: bool | None = None) -> int:
        """Run the cell's source, once the grader has sent it, and keep what came of it."""
        self.told = {}
        self.channel.send({"begin": self.place})
        outputs, error, value = _ran(self.shell, self.channel.receive()["source"])
        self.names[self.place] = dict(self.shell.user_ns)  # later cells bind them again
        texts = [_text(one) for one in outputs]
        self.told = {"text": "".join(texts)[:TOLD], "value": value[:80]}
        if error is not None:
            name, said = type(error).__name__[:200], told_of(error)
            self.told |= {"ename": name, "evalue": said}
            content = {"ename": name, "evalue": said, "traceback": said.splitlines()}
            outputs.append({"msg_type": "error", "content": content})
        idle = {"msg_type": "status", "content": {"execution_state": "idle"}}
        about = {"parent_header": {"msg_id": self.place}}
        self.waiting = [{**one, **about} for one in (*outputs, idle)]
        return self.place

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        """Return the next message."""
        if not self.waiting:
            raise Empty
        return self.waiting.pop(0)

    def await_reply(self, *_: Any, **__: Any) -> None:
        """Return at once: the cell has ended."""

    await_idle = interrupt = stop = await_reply

    def is_alive(self) -> bool:
        """Say yes."""
        return True


def told_of(error: BaseException) -> str:
    """Return an error's message, whatever its `__str__` does; of a cell's syntax, with its line."""
    if type(error) in SYNTAX and str(error.filename).startswith("<ipython-"):  # type: ignore[attr-defined]
        return f"{error.msg} in this line:\n\n  {error.text}"[:WIDEST].rstrip()  # type: ignore[attr-defined]
    try:
        text = str(error)
    except BaseException as other:  # the learner's own class
        return f"<its message raises {type(other).__name__}>"
    return _clean(text[:TOLD]) if type(text) is str else "<its message is not text>"


class _Limited(io.StringIO):
    """Keeps what is written up to `PRINTED` characters."""

    def write(self, text: str) -> int:
        room = PRINTED - self.tell()
        if len(text) > room > 0:
            super().write(f"{text[:room]}\n… what is printed further is left out\n")
        elif room > 0:
            super().write(text)
        return len(text)


def _ran(shell: Any, source: str) -> tuple[list[dict[str, Any]], BaseException | None, str]:
    """Run a cell.

    Returns
    -------
    tuple
        The messages of the outputs, the error if there was one, and the value of the last
        expression as text.
    """
    from IPython.utils.capture import capture_output

    out, err = _Limited(), _Limited()
    values: list[Any] = []
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        capture_output(stdout=False, stderr=False) as captured,
    ):
        shell.displayhook.values = values
        result = shell.run_cell(source, store_history=False)
        shown = [dict(one.data) for one in captured.outputs] + values
    messages = [
        {"msg_type": "stream", "content": {"name": name, "text": _clean(stream.getvalue())}}
        for name, stream in (("stdout", out), ("stderr", err))
        if stream.tell()
    ]
    for data in shown:
        content = {"data": data, "metadata": {}}
        messages.append({"msg_type": "display_data", "content": content})
    value = str(values[-1].get("text/plain", "")) if values else ""
    return messages, result.error_before_exec or result.error_in_exec, value


def _text(message: dict[str, Any]) -> str:
    content = message["content"]
    if message["msg_type"] == "stream":
        return str(content["text"])
    return _clean(str(content["data"].get("text/plain", ""))) + "\n"


def _clean(text: str) -> str:
    """Return text that can be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")
