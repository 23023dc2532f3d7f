"""A warm parent within the fence, seen from outside: it is started, watched over and ended here.

`open` has it fork a process for a submission and returns a channel to that; `close` has the process
ended, with all that it has started, and everything removed that it has left.
"""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.fence import Fence, Limits
from course_lib.teaching.grade.inside.channel import Channel, Closed, Garbled
from course_lib.teaching.grade.inside.limits import process_namespace

START_SECONDS = 120.0
STEP_SECONDS = 5.0
"""For what should take none, before the sandbox is ended from outside."""

WATCH_SECONDS = 0.25
"""Between two looks at the memory."""


@dataclass(frozen=True)
class Setup:
    """What every submission of a run starts from.

    Attributes
    ----------
    fence, limits
        Around each.
    library
        The library as submissions see it.
    lab, solution
        The lab's number and the text of its source, for `lab.use`; empty for other masters.
    modules
        What is imported ahead.
    """

    fence: Fence
    limits: Limits
    library: Path
    lab: str = ""
    solution: str = ""
    modules: tuple[str, ...] = ()


class Sandbox:
    """A running parent.

    Parameters
    ----------
    setup
        What it is for.
    slot
        Which of the run's sandboxes it is.
    sockets
        A folder with the database's unix socket, if any.

    Attributes
    ----------
    over_memory
        Whether it was ended because it took too much.
    """

    def __init__(self, setup: Setup, slot: int, sockets: Path | None = None) -> None:
        self.setup = setup
        self.over_memory = False
        fence, limits = setup.fence, setup.limits
        ours, theirs = socket.socketpair()
        about = {
            "fd": theirs.fileno(), "user": fence.user(slot), "namespace": process_namespace(),
            "folder": str(fence.root) if fence.kind == "none" else "/tmp",
        }  # fmt: skip
        arguments = ["-m", "course_lib.teaching.grade.inside.worker", json.dumps(about)]
        self._errors = tempfile.TemporaryFile()  # closed when the object goes
        self.process = subprocess.Popen(
            fence.command(
                arguments, slot=slot, limits=limits, library=setup.library, sockets=sockets
            ),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._errors,
            env=fence.environment(setup.library) if fence.kind == "none" else {},
            pass_fds=(theirs.fileno(),),
            start_new_session=True,  # Ctrl-C is ours to pass on
        )  # fmt: skip
        theirs.close()
        self.control = Channel(ours)
        try:
            self.control.send({
                "modules": list(setup.modules), "limits": limits.inside(), "lab": setup.lab,
                "solution": setup.solution,
            })  # fmt: skip
            told = self.control.receive(time.monotonic() + START_SECONDS)
        except (Closed, Garbled, TimeoutError):
            said = self._complaint()
            self.stop()
            raise GradeError(f"no submission can be started: {said}") from None
        if fence.kind != "none" and told.get("own_namespace") is not True:
            self.stop()
            raise GradeError("the sandbox does not have a process namespace of its own")
        self._ended = threading.Event()
        self._most = limits.memory + min(_memory(_family(self.process.pid)), limits.memory)
        threading.Thread(target=self._watch_memory, daemon=True).start()

    def open(self) -> Channel:
        """Fork the process of a submission and return a channel to it."""
        self.control.send({"do": "fork"})
        self.control.receive(time.monotonic() + STEP_SECONDS)
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.control.sock, [b"."], [theirs.fileno()])
        return Channel(ours, self.setup.limits.output)

    def answers(self) -> bool:
        """Tell whether the parent is still there; a process that was killed answers no more."""
        with contextlib.suppress(Closed, Garbled, TimeoutError):
            self.control.send({"do": "answer"})
            return bool(self.control.receive(time.monotonic() + STEP_SECONDS))
        return False

    def close(self, channel: Channel) -> bool:
        """End a submission's process; tell whether nothing is left and the next may come."""
        channel.close()
        with contextlib.suppress(Closed, Garbled, TimeoutError):
            self.control.send({"do": "clean"})
            told = self.control.receive(time.monotonic() + STEP_SECONDS)
            if told.get("clean") is True and not self.over_memory:
                return True
        self.stop()
        return False

    def stop(self) -> None:
        """End the sandbox and everything in it."""
        if hasattr(self, "_ended"):
            self._ended.set()
        _end(_family(self.process.pid))
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.control.close()

    def _complaint(self) -> str:
        """Return the last that the process said on standard error, once it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2)
        self._errors.seek(0)
        lines = self._errors.read(1 << 20).decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self.process.poll()}"

    def _watch_memory(self) -> None:
        """End everything as soon as all processes together take more than the limit."""
        while not self._ended.wait(WATCH_SECONDS):
            family = _family(self.process.pid)
            if _memory(family, shared=True) > self._most and _memory(family) > self._most:
                self.over_memory = True
                _end(family)
                return


def _family(number: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(number)
        return [parent, *parent.children(recursive=True)]
    return []


def _memory(family: list[psutil.Process], *, shared: bool = False) -> int:
    """Return the bytes that processes take; with `shared`, what they share counts for each."""
    total = 0
    for one in family:
        with contextlib.suppress(psutil.Error, OSError):
            if shared or not hasattr(psutil, "PROCFS_PATH"):
                total += one.memory_info().rss
            else:
                total += one.memory_full_info().pss
    return total


def _end(family: list[psutil.Process]) -> None:
    for one in reversed(family):
        with contextlib.suppress(psutil.Error):
            one.kill()
