"""Watching `kfp.local`: what it prints and logs goes in, and what becomes of each step comes out.

It prints pages of log for every step, to one stream and from several threads; nothing else tells
what a run does. All of it goes to a file, and nothing is shown.
"""

from __future__ import annotations

import builtins
import io
import logging
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from typing import IO, Literal

What = Literal["started", "succeeded", "cached", "failed", "retried", "skipped"]

COLOURS = re.compile("\x1b\\[[0-9;]*m")
"""What makes a terminal change its colours."""

_SAID: tuple[tuple[What, re.Pattern[str]], ...] = (
    ("started", re.compile(r"Executing task '([\w-]+)'")),
    ("succeeded", re.compile(r"Task '([\w-]+)' finished with status SUCCESS")),
    ("failed", re.compile(r"Task '([\w-]+)' finished with status FAILURE")),
    ("cached", re.compile(r"Task ([\w-]+) cache hit")),
    ("retried", re.compile(r"Task ([\w-]+) failed \(attempt .*Retrying")),
    ("skipped", re.compile(r"Skipping task ([\w-]+):")),
)
_ITERATION = re.compile(r"for-loop-\d+-iteration-(\d+)[^\"\n]*executor_output\.json")
_RAISED = re.compile(r"^\s*((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b.*)$", re.MULTILINE)

Told = Callable[[What, str, float], None]
"""Called with what happened to a step, the step's name, and the seconds since the run began."""


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


@contextmanager
def watching(log: IO[str], begin: float, on_event: Told) -> Iterator[list[Attempt]]:
    """Hear what kfp does meanwhile, and leave everything as it was found.

    kfp's threads replace `print` and the root logger's handlers, and restore what each found: after
    a fan-out, that can be another thread's. So all of it is put back here, and records are read by
    a filter, which kfp leaves alone: handlers are away for moments, and what is said then is lost.

    Parameters
    ----------
    log
        Where all goes that is printed and logged.
    begin
        When the run began, in seconds since 1970.
    on_event
        May be called from several threads at once. What it prints goes where it would go without
        the watching.

    Yields
    ------
    list of Attempt
        It grows while the run goes on.
    """
    ear = _Ear(log, begin, on_event)
    logger = logging.getLogger()
    kept = builtins.print, logger.level, logger.handlers[:]
    logger.addFilter(ear.hear)
    logger.setLevel(logging.INFO)
    try:
        with redirect_stdout(ear), redirect_stderr(ear), warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=RuntimeWarning, module="kfp")
            warnings.filterwarnings("ignore", category=UserWarning, module="kfp")
            yield ear.attempts
    finally:
        builtins.print = kept[0]
        logger.removeFilter(ear.hear)
        logger.setLevel(kept[1])
        logger.handlers[:] = kept[2]


class _Ear(io.TextIOBase):
    """Takes the place of standard output, and of the root logger's handlers.

    A thread carries out one attempt at a time.
    """

    def __init__(self, log: IO[str], begin: float, on_event: Told) -> None:
        self.attempts: list[Attempt] = []
        self._log, self._begin, self._on_event = log, begin, on_event
        self._stdout = sys.stdout
        self._turn = threading.Lock()
        self._open: dict[int, Attempt] = {}
        self._mine = threading.local()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if getattr(self._mine, "telling", False):
            # kfp has replaced `print` by one that indents. Perhaps nobody reads any more; that is
            # no reason to end the run.
            if text.strip(" ") and self._stdout:
                with suppress(OSError):
                    self._stdout.write(text)
            return len(text)
        plain = COLOURS.sub("", text)
        attempt = self._open.get(threading.get_ident())
        if attempt is not None:
            attempt.log += plain
        # Threads write parts of lines; each thread's own parts belong together.
        *lines, self._mine.rest = (getattr(self._mine, "rest", "") + plain).split("\n")
        for line in lines:
            self._note(line)
        return len(text)

    def hear(self, record: logging.LogRecord) -> bool:
        """Take a record that was logged, and let none through to a handler."""
        message = COLOURS.sub("", record.getMessage())
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        self._note(f"{clock} - {record.levelname} - {message}")
        for what, pattern in _SAID:
            if found := pattern.match(message):
                at = round(max(0.0, record.created - self._begin), 3)
                self._happened(what, found[1], at)
                self._mine.telling = True
                try:
                    self._on_event(what, found[1], at)
                finally:
                    self._mine.telling = False
        return False

    def _note(self, line: str) -> None:
        with self._turn:
            self._log.write(line + "\n")

    def _happened(self, what: What, task: str, at: float) -> None:
        thread = threading.get_ident()
        with self._turn:
            if what == "started":
                self._open[thread] = Attempt(task, at=at)
                self.attempts.append(self._open[thread])
            elif what == "cached":
                self.attempts.append(Attempt(task, what, at))
            elif what in ("succeeded", "failed") and thread in self._open:
                attempt = self._open.pop(thread)
                attempt.outcome, attempt.seconds = what, at - attempt.at
                if items := _ITERATION.findall(attempt.log):
                    attempt.task += f"[{items[-1]}]"
