"""What becomes of each step of a run on this machine, written down by what carries the step out.

`kfp.local` makes a *task handler* for each attempt at a step, and looks for earlier results in its
cache. During a run both are ours: the handler knows the step, its output and its exit code, and the
cache knows what it has found. All other attempts, retries and orders are kfp's.
"""

from __future__ import annotations

import builtins
import json
import logging
import os
import re
import shlex
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import psutil

EXECUTOR = "kfp.dsl.executor_main"
"""Is in the command of every step."""

STOPPING = threading.Event()
"""Set while a run is being stopped: no step is started any more."""

What = Literal["started", "succeeded", "cached", "failed", "retried", "skipped"]
Told = Callable[[What, str, float], None]
"""Called with what happened to a step, the step's name, and the seconds since the run began."""

_RAISED = re.compile(r"^\s*((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b.*)$", re.MULTILINE)


@dataclass(slots=True)
class Attempt:
    """One try at a step.

    Attributes
    ----------
    task
        The step's name, with the number of the item where it is in a loop: ``split[1]``.
    outcome
        ``"succeeded"``, ``"failed"`` or ``"cached"``.
    at, seconds
        When it began, since the run's beginning, and how long it took.
    log
        What it printed.
    """

    task: str
    outcome: What = "failed"
    at: float = 0.0
    seconds: float = 0.0
    log: str = ""

    @property
    def error(self) -> str:
        """The last line of its traceback, if it failed; empty if not."""
        if self.outcome != "failed":
            return ""
        return ["ended without a word", *map(str, _RAISED.findall(self.log))][-1]


class Journal:
    """What happens in a run, as it happens: in its attempts, in its log, and told to who listens.

    Parameters
    ----------
    log
        Where all goes that is printed and logged.
    begin
        When the run began, in seconds since 1970.
    on_event
        Called from several threads; see `Told`.
    """

    def __init__(self, log: IO[str], begin: float, on_event: Told) -> None:
        self.attempts: list[Attempt] = []
        self._log, self._begin, self._on_event = log, begin, on_event
        self._tried: set[Path] = set()

    def tell(self, what: What, step: str) -> float:
        """Say what happens to a step now, and return when that is."""
        at = round(time.time() - self._begin, 3)
        self._on_event(what, step, at)
        return at

    def attempt(self, command: list[str], variables: Mapping[str, str]) -> Any:
        """Carry out an attempt at a step, write it down, and return kfp's word for its end.

        Parameters
        ----------
        command
            The step's; it says where its outputs go.
        variables
            The step's environment.

        Raises
        ------
        KeyboardInterrupt
            If the run is being stopped: kfp would take the step for one that failed, and start it
            again.
        """
        from kfp.local.status import Status

        if STOPPING.is_set():
            raise KeyboardInterrupt
        place = json.loads(command[command.index("--executor_input") + 1])["outputs"]["outputFile"]
        folder = Path(place).parent
        step, item = folder.name, folder.parent.name.partition("-iteration-")[2]
        if folder in self._tried:
            self.tell("retried", step)
        self._tried.add(folder)
        attempt = Attempt(f"{step}[{item}]" if item else step, at=self.tell("started", step))
        self.attempts.append(attempt)
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=variables,
        ) as process:
            if STOPPING.is_set():  # while it was started
                kill_processes()
            for line in process.stdout or ():
                attempt.log += line
                self._log.write(line)
        attempt.outcome = "failed" if process.returncode else "succeeded"
        attempt.seconds = self.tell(attempt.outcome, step) - attempt.at
        if STOPPING.is_set():
            raise KeyboardInterrupt
        return Status.FAILURE if process.returncode else Status.SUCCESS


@contextmanager
def watching(log: IO[str], begin: float, on_event: Told) -> Iterator[Journal]:
    """Write down what kfp does meanwhile, and leave everything as it was found.

    kfp's threads replace `print` and the root logger's handlers, and restore what each found: after
    a fan-out, that can be another thread's. So all of it is put back here.

    Parameters
    ----------
    log, begin, on_event
        As for `Journal`, whose attempts grow while the run goes on.
    """
    from kfp.local import cache, logging_utils

    journal = Journal(log, begin, on_event)

    class Results(cache.LocalCache):  # type: ignore[misc]
        def compute_key(self, component_name: str, **inputs: Any) -> str:
            key = super().compute_key(component_name, **inputs)
            return f"{component_name.removeprefix('comp-')}-{key}"

        def get(self, key: str) -> Any:
            outputs, step = super().get(key), key.rpartition("-")[0]
            if outputs is not None:
                journal.attempts.append(Attempt(step, "cached", journal.tell("cached", step)))
            return outputs

    kept = cache.get_local_cache()
    results = Results(kept.cache_root) if kept else None
    logger = logging.getLogger()
    level, handlers = logger.level, logger.handlers[:]
    try:
        with (
            replaced(builtins, "print", print),
            replaced(cache, "get_local_cache", lambda: results),
            replaced(logging_utils, "color_text", lambda text, color: text),
            redirect_stdout(log),
            redirect_stderr(log),
            warnings.catch_warnings(),
        ):
            warnings.filterwarnings("ignore", module="kfp")
            yield journal
    finally:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@contextmanager
def replaced(place: Any, name: str, value: object) -> Iterator[None]:
    """Give a name of a module another value, and in the end the old one, whatever it is by then."""
    before = getattr(place, name)
    setattr(place, name, value)
    try:
        yield
    finally:
        setattr(place, name, before)


@contextmanager
def as_processes(journal: Journal) -> Iterator[None]:
    """Carry out steps as processes of this machine, in this environment.

    kfp (2.17) writes the path of the interpreter into the steps' shell scripts as it is. In a
    folder with a space in its name the shell takes it for two words, and every step ends with
    ``not found``; so the path is quoted here.
    """
    from kfp.local import subprocess_task_handler as kfps

    class Process(kfps.SubprocessTaskHandler):  # type: ignore[misc]
        def run(self) -> Any:
            python = shlex.quote(sys.executable)
            command = kfps.replace_python_executable(self.full_command, python)
            # A kernel asks for colours, and Python 3.13 writes them into its tracebacks.
            environment = {**os.environ, "PYTHON_COLORS": "0", **self.env_vars}
            return journal.attempt(command, environment)

    with replaced(kfps, "SubprocessTaskHandler", Process):
        yield


def kill_processes() -> None:
    """End the steps that run."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if EXECUTOR in " ".join(process.cmdline()):
                process.kill()
