"""Watching `kfp.local`: what it prints and logs goes in, and what becomes of each step comes out.

It prints pages of log for every step, to one stream and from several threads; nothing else tells
what a run does. A `Listener` gets all of it, and nothing is shown.
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
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Literal

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


class Listener:
    """Whoever wants to know; each method may be called from several threads at once.

    What it prints itself goes where it would go without the watching.
    """

    def happened(self, what: What, task: str, at: float) -> None:
        """Take note that something happened to a step, and when, in seconds since 1970."""

    def printed(self, text: str) -> None:
        """Take what a step printed, in parts of any length; a thread carries out one at a time."""

    def logged(self, line: str) -> None:
        """Take a line of kfp's own log."""


@contextmanager
def watching(listener: Listener) -> Iterator[io.TextIOBase]:
    """Have a listener hear what kfp does meanwhile, and leave everything as it was found.

    kfp's threads replace `print` and the root logger's handlers, and restore what each found: after
    a fan-out, that can be another thread's. So all of it is put back here, and records are read by
    a filter, which kfp leaves alone: handlers are away for moments, and what is said then is lost.

    Yields
    ------
    io.TextIOBase
        The stream that takes what is printed, for whoever wants to send more to it.
    """
    ear = _Ear(listener)
    logger = logging.getLogger()
    kept = builtins.print, logger.level, logger.handlers[:]
    logger.addFilter(ear.hear)
    logger.setLevel(logging.INFO)
    try:
        with redirect_stdout(ear), warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=RuntimeWarning, module="kfp")
            warnings.filterwarnings("ignore", category=UserWarning, module="kfp")
            yield ear
    finally:
        builtins.print = kept[0]
        logger.removeFilter(ear.hear)
        logger.setLevel(kept[1])
        logger.handlers[:] = kept[2]


class _Ear(io.TextIOBase):
    """Takes the place of standard output, and of the root logger's handlers."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._stdout = sys.stdout
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
        self._listener.printed(COLOURS.sub("", text))
        return len(text)

    def hear(self, record: logging.LogRecord) -> bool:
        """Take a record that was logged, and let none through to a handler."""
        message = COLOURS.sub("", record.getMessage())
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        self._listener.logged(f"{clock} - {record.levelname} - {message}")
        for what, pattern in _SAID:
            if found := pattern.match(message):
                self._mine.telling = True
                try:
                    self._listener.happened(what, found[1], record.created)
                finally:
                    self._mine.telling = False
        return False
