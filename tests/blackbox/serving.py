"""`course serve` in a process of its own, and a relay to the database that a test can cut."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx

from tests.blackbox.course import Course

PATIENCE = 120.0
"""Seconds after which something that does not happen is a failure."""


@dataclass
class Service:
    """A service that runs: a client that knows its address, and what it has printed.

    Attributes
    ----------
    first
        The line that it began with.
    lines
        What came on standard output after that: an entry of the log for each request.
    errors
        What came on standard error.
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
    course: Course, *options: str, ready: bool = True, **environment: str
) -> Iterator[Service]:
    """Run `course serve` on a free port, with `ready` until it is ready, and end it at last."""
    with course.process("serve", "--port", "0", *options, **environment) as process:
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


class Relay:
    """Passes bytes between clients and a server, unless it is cut.

    Parameters
    ----------
    host, port
        Where the server listens.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._open: set[socket.socket] = set()
        self._is_cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections; new ones are ended at once."""
        self._is_cut = True
        for end in list(self._open):
            _close(end)

    def mend(self) -> None:
        """Pass bytes again."""
        self._is_cut = False

    def close(self) -> None:
        """Cut it for good."""
        self.cut()
        _close(self._listener)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                _close(client)
                continue
            server = socket.create_connection(self._server)
            self._open |= {client, server}
            for pair in ((client, server), (server, client)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        for end in (source, target):
            _close(end)
            self._open.discard(end)


def _close(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
