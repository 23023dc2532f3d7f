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
from typing import IO

import psutil

from course_lib.teaching.grade.database import WITHIN
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.fence import Fence, Limits
from course_lib.teaching.grade.inside.channel import Channel, Closed, Garbled
from course_lib.teaching.grade.inside.limits import process_namespace

START_SECONDS = 120.0
STEP_SECONDS = 30.0
"""For what should take none, before the sandbox is ended from outside."""

WATCH_SECONDS = 0.25
"""Between two looks at the memory and the processor time."""


@dataclass(frozen=True)
class Setup:
    """What every submission of a run starts from.

    Attributes
    ----------
    fence, limits
        Around each.
    library
        The library as submissions see it.
    exercises
        Whether there are any of the course.
    modules
        What is imported ahead.
    """

    fence: Fence
    limits: Limits
    library: Path
    exercises: bool = False
    modules: tuple[str, ...] = ()


class ResourceMonitor:
    """Ends a process and those that it started as soon as together they take too much memory.

    Parameters
    ----------
    number
        Of the process.
    limit
        Bytes; what it takes now is added, and counts at most as much again.

    Attributes
    ----------
    over
        Whether they were ended.
    spent
        Seconds of processor time that they have had, as far as was looked.
    """

    def __init__(self, number: int, limit: int) -> None:
        self.number, self.over = number, False
        family = _family(number)
        self.spent = _seconds(family)
        self._most = limit + min(_memory(family), limit)
        self._ended = threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def stop(self) -> None:
        """Watch no more."""
        self._ended.set()

    def _look(self) -> None:
        while not self._ended.wait(WATCH_SECONDS):
            family = _family(self.number)
            self.spent = max(self.spent, _seconds(family))
            if _memory(family, shared=True) <= self._most:
                continue
            family = _family(self.number)  # that process may have ended, and another one begun
            if _memory(family) > self._most:
                self.over = True
                _end(family)
                return


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
    watch
        Over the memory and the processor time of all its processes.
    """

    def __init__(self, setup: Setup, slot: int, sockets: Path | None = None) -> None:
        self.setup = setup
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
                arguments, slot=slot, limits=limits, library=setup.library,
                also={sockets: WITHIN} if sockets else {},
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
                "modules": list(setup.modules), "limits": limits.inside(),
                "exercises": setup.exercises,
            })  # fmt: skip
            told = self.control.receive(time.monotonic() + START_SECONDS)
        except (Closed, Garbled, TimeoutError):
            said = self._complaint()
            self._end()
            raise GradeError(f"no submission can be started: {said}") from None
        if fence.kind != "none" and told.get("own_namespace") is not True:
            self._end()
            raise GradeError("the sandbox does not have a process namespace of its own")
        self.watch = ResourceMonitor(self.process.pid, limits.memory)

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
            if told.get("clean") is True and not self.watch.over:
                return True
        self.stop()
        return False

    def stop(self) -> None:
        """End the sandbox and everything in it."""
        self.watch.stop()
        self._end()

    def _end(self) -> None:
        _end(_family(self.process.pid))
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.control.close()

    def _complaint(self) -> str:
        """Return the last that the process said on standard error, once it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2)
        return last_line(self._errors) or f"exit code {self.process.poll()}"


def last_line(errors: IO[bytes]) -> str:
    """Return the last line of what a process wrote into a file; empty where that is nothing."""
    errors.seek(0)
    lines = errors.read(1 << 20).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def _family(number: int) -> list[psutil.Process]:
    """Return a process and all that come from it; none where it has ended."""
    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(number)
        if not Path(f"/proc/{number}/task/{number}/children").is_file():
            return [parent, *parent.children(recursive=True)]
        # psutil reads all processes of the machine; a kernel that knows its children reads these.
        return [parent, *(each for one in _children(number) for each in _family(one))]
    return []


def _children(number: int) -> list[int]:
    """Return the numbers of the processes that a process has started, on Linux."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # it, or one of its threads, has just ended
        for children in Path(f"/proc/{number}/task").glob("*/children"):
            found += map(int, children.read_text(encoding="ascii").split())
    return found


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


def _seconds(family: list[psutil.Process]) -> float:
    """Return the processor time of processes, and of those that they have started and ended."""
    total = 0.0
    for one in family:
        with contextlib.suppress(psutil.Error):
            times = one.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def _end(family: list[psutil.Process]) -> None:
    for one in reversed(family):
        with contextlib.suppress(psutil.Error):
            one.kill()
