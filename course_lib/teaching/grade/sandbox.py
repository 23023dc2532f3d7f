"""A process within the fence: how it is started, watched over and ended."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.teaching.grade.family import end_tree, family_of, kill, proportional, resident
from course_lib.teaching.grade.fence import Fence, Limits
from course_lib.teaching.grade.inside.channel import Channel

if TYPE_CHECKING:
    from course_lib.teaching.grade.database import Databases

INSIDE = "course_lib.teaching.grade.inside"


@dataclass(frozen=True)
class Setup:
    """What every submission of a run starts from.

    Attributes
    ----------
    fence, limits
        Around each.
    lab, solution
        The lab's number and the text of its source, for `lab.use`; empty for other masters.
    modules
        What is imported ahead.
    cells
        Cells that are run ahead, before the first answer.
    files
        A folder that the notebooks may read, which is then the current one.
    database
        The administrator's URL of the run's cluster, where the master needs one.
    """

    fence: Fence
    limits: Limits
    lab: str = ""
    solution: str = ""
    modules: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    files: Path | None = None
    database: str = ""


class Sandbox:
    """A running process of the fence, watched over.

    Parameters
    ----------
    setup
        What it is for.
    module
        Of `inside`, which it runs.
    slot
        Which job it serves.
    databases
        Where each submission gets an empty one, if any.
    """

    def __init__(
        self, setup: Setup, module: str, slot: int, databases: Databases | None = None
    ) -> None:
        self.setup = setup
        self.databases = databases
        self.over_memory = False
        self._own = setup.limits.memory
        ours, theirs = socket.socketpair()
        arguments = ["-m", f"{INSIDE}.{module}", "--user", str(setup.fence.user(slot))]
        arguments += ["--cwd", _cwd(setup)]
        if module == "warm" and sys.platform == "linux":
            arguments += ["--outside", os.readlink("/proc/self/ns/pid")]
        listener: socket.socket | None = None
        pass_fds: tuple[int, ...] = ()
        if sys.platform == "win32":
            listener = socket.create_server(("127.0.0.1", 0))
            arguments += ["--port", str(listener.getsockname()[1])]
        else:
            arguments += ["--fd", str(theirs.fileno())]
            pass_fds = (theirs.fileno(),)
        fenced = setup.fence.kind != "none"
        self._errors = tempfile.TemporaryFile()  # closed when the object goes
        self.process = subprocess.Popen(
            setup.fence.command(
                arguments,
                slot=slot,
                limits=setup.limits,
                files=setup.files,
                sockets=databases.folder if databases else None,
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            env={} if fenced else setup.fence.environment(),
            pass_fds=pass_fds,
            start_new_session=os.name == "posix",  # Ctrl-C is ours to pass on
        )
        theirs.close()
        if listener is not None:
            listener.settimeout(60)
            ours, _ = listener.accept()
            listener.close()
        self.control = Channel(ours)
        self._watch = threading.Event()
        self._watching = threading.Thread(target=self._watch_memory, daemon=True)
        self._watching.start()

    def end_submission(self, *, suspect: bool) -> None:
        """End what belongs to the submission at hand; the warm way keeps the parent."""
        self.stop()

    def offer_database(self, channel: Channel) -> None:
        """Give the process at the other end an empty database, where there are databases."""
        if self.databases is not None:
            url = self.databases.give(fenced=self.setup.fence.kind != "none")
            channel.send({"do": "database", "url": url})

    def weigh(self) -> None:
        """Take what the sandbox has by now as its own; a submission may have the limit beyond."""
        self._own = min(proportional(family_of(self.process.pid)), self.setup.limits.memory)

    def stop(self) -> None:
        """End the sandbox and everything in it."""
        self._watch.set()
        end_tree(self.process)
        self.control.close()

    def complaint(self) -> str:
        """Return the last that the process said on standard error, once it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(2)
        self._errors.seek(0)
        lines = self._errors.read(1 << 20).decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self.process.poll()}"

    def _watch_memory(self) -> None:
        """End everything as soon as all processes together take more than the limit."""
        while not self._watch.wait(0.2):
            family = family_of(self.process.pid)
            limit = self.setup.limits.memory + self._own
            if sum(map(resident, family)) > limit and proportional(family) > limit:
                self.over_memory = True
                for number in reversed(family):
                    kill(number)
                return


def _cwd(setup: Setup) -> str:
    if setup.fence.kind == "none":
        return str(setup.files or setup.fence.root)
    return "/files" if setup.files else "/tmp"
