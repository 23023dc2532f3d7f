"""`course serve` in a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx

from tests.blackbox.course import Course

PATIENCE = 180.0
"""Seconds after which something that does not happen is a failure."""


@dataclass
class Service:
    """A service that runs: a client that knows its address, and what it has printed.

    Attributes
    ----------
    first
        The line that it began with.
    lines
        What came on standard output after that.
    errors
        What came on standard error: a line of the log for each request.
    """

    client: httpx.Client
    process: subprocess.Popen[str]
    first: str
    lines: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    readers: list[threading.Thread] = field(default_factory=list)

    def end(self) -> int:
        """Wait for the end of the process, read all it said, and return its exit code."""
        code = self.process.wait(PATIENCE)
        for reader in self.readers:
            reader.join(PATIENCE)
        return code


@contextlib.contextmanager
def serving(
    course: Course, *words: str, ready: bool = True, **environment: str
) -> Iterator[Service]:
    """Run `course serve` on a free port, with `ready` until it is ready, and end it at last.

    Words come before `serve`, such as `mine`.
    """
    with course.process(*words, "serve", "--port", "0", **environment) as process:
        assert process.stdout and process.stderr
        errors: list[str] = []
        # Both are read all the time: a full pipe would stop the service.
        begun = threading.Thread(target=errors.extend, args=(process.stderr,), daemon=True)
        begun.start()
        first = process.stdout.readline()
        assert first.startswith("Serving on "), "".join(errors)
        with httpx.Client(base_url=first.split()[2].rstrip("/"), timeout=PATIENCE) as client:
            found = Service(client, process, first, errors=errors)
            rest = threading.Thread(target=found.lines.extend, args=(process.stdout,), daemon=True)
            rest.start()
            found.readers = [begun, rest]
            try:
                if ready:
                    until(lambda: client.get("/ready").status_code == 200)
                yield found
            finally:
                process.kill()
                found.end()


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    turn, deadline = threading.Event(), time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it did not come to hold"
        turn.wait(0.05)
