"""The fence: what a submission cannot reach, and how that is had on this machine.

With bubblewrap (Linux) it sees a read-only view of the interpreter, the library and the data,
private temporary folders of limited size, no network and no other process. Without it there is
`no_fence`, which an instructor has to ask for by name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from course_lib.embedder.weights import models_dir
from course_lib.settings import project_root
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.notebooks.workers import ENVIRONMENT

MEGABYTE = 1 << 20
USERS = 61_400
"""The first of the nameless users that root's sandboxes run as, one for each job of each run.

Two runs that shared one would share its limit of processes.
"""
JOBS = 1000
"""So many of them are the grader's."""

SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/etc/ld.so.conf",
    "/etc/ld.so.conf.d", "/etc/localtime", "/etc/alternatives", "/etc/fonts",
)  # fmt: skip
"""What is shown of the system, as far as it is there."""

WITHOUT = (
    "Nothing keeps a submission from reading and deleting your files, from using the network, or "
    "from changing the grades of others: it runs with your rights. Only time and memory are "
    "limited. Do this for your own notebooks, or in a container or virtual machine that holds "
    "nothing else."
)


@dataclass(frozen=True)
class Limits:
    """What one submission may use; see `limit_process`.

    Attributes
    ----------
    cell, budget
        Seconds of processor time that one cell and the whole submission may take; those of the
        lab's checks come to it. On the clock it may be a few times as many.
    memory
        Bytes; for each process, and for all of them together.
    processes
        Processes and threads.
    disk
        Bytes of the private temporary folder, which is memory.
    output
        Bytes that are read of what it puts out.
    """

    cell: float = 10.0
    budget: float = 60.0
    memory: int = 2048 * MEGABYTE
    processes: int = 64
    file_size: int = 64 * MEGABYTE
    disk: int = 256 * MEGABYTE
    output: int = 48 * MEGABYTE

    def inside(self) -> dict[str, float]:
        """Return what the process inside sets for itself."""
        return {
            "memory": self.memory,
            "seconds": 10 * self.budget,  # the grader ends it before
            "processes": self.processes,
            "file_size": self.file_size,
        }


@dataclass(frozen=True)
class Fence:
    """How submissions are fenced in.

    Attributes
    ----------
    kind
        ``bubblewrap`` or ``none``.
    says
        What that means, for the gradebook.
    """

    kind: str
    says: str
    program: str = ""
    root: Path = field(default_factory=project_root)

    def command(
        self,
        arguments: Sequence[str],
        *,
        slot: int = 0,
        limits: Limits | None = None,
        library: Path | None = None,
        also: Mapping[Path, str] | None = None,
    ) -> list[str]:
        """Return the command that runs Python with these arguments inside the fence.

        Parameters
        ----------
        arguments
            Of the interpreter.
        slot
            Which job it is for: each has a user of its own where root started it.
        limits
            For the size of the private folders.
        library
            What is shown in the place of `course_lib`.
        also
            What else can be read there, and where.
        """
        if self.kind == "none":
            return [sys.executable, *arguments]
        limits = limits or Limits()
        command = [self.program, "--die-with-parent", "--new-session", "--unshare-ipc"]
        command += ["--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        if os.geteuid() == 0:
            # No namespace of users: root's number would stay root's to the kernel, which exempts it
            # from the limit of processes. The program inside turns into somebody else.
            command += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        else:
            command += ["--unshare-user"]
        command += ["--perms", "0755", "--dir", "/etc"]
        for place in SYSTEM:
            command += ["--ro-bind-try", place, place]
        for folder, size in (("/tmp", limits.disk), ("/var/tmp", 16 * MEGABYTE)):
            command += ["--perms", "1777", "--size", str(size), "--tmpfs", folder]
        command += ["--proc", "/proc", "--dev", "/dev"]
        command += ["--perms", "1777", "--size", str(64 * MEGABYTE), "--tmpfs", "/dev/shm"]
        command += ["--remount-ro", "/dev"]
        readable = self._readable()
        for parent in dict.fromkeys(p for path in readable for p in reversed(path.parents)):
            if parent != Path("/"):  # bubblewrap would make them for root's eyes only
                command += ["--perms", "0755", "--dir", str(parent)]
        for path in readable:
            shown = library if library and path.name == "course_lib" else path
            command += ["--ro-bind", str(shown), str(path)]
        command += ["--ro-bind-try", str(models_dir()), "/models"]
        for path, place in (also or {}).items():
            command += ["--ro-bind", str(path), place]
        command += ["--remount-ro", "/", "--hostname", "grading", "--clearenv"]
        for name, value in self.environment().items():
            command += ["--setenv", name, value]
        return [*command, "--", sys.executable, *arguments]

    def environment(self, library: Path | None = None) -> dict[str, str]:
        """Return the variables of the process inside; `library` is where it imports it from."""
        fenced = {
            **ENVIRONMENT,
            "PYTHONUTF8": "1",
            "PYTHONSAFEPATH": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MPLBACKEND": "agg",
            "COURSE_ROOT": str(self.root),
            "PYTHONPATH": str(library.parent if library else self.root),
            "LANG": "C.UTF-8",
        }
        if self.kind == "none":
            return {**os.environ, **fenced}
        return {
            **fenced,
            "HOME": "/tmp",
            "TMPDIR": "/tmp",
            "COURSE_STATE": "/tmp/state",
            "COURSE_MODELS": "/models",
            "IPYTHONDIR": "/tmp/ipython",
            "PATH": "/usr/bin:/bin",
        }

    def user(self, slot: int) -> int:
        """Return which user the process inside turns into; 0 for none."""
        if self.kind == "none" or sys.platform == "win32" or os.geteuid() != 0:
            return 0
        return USERS + (slot if slot >= JOBS else (16 * os.getpid() + slot) % JOBS)

    def _readable(self) -> list[Path]:
        paths = [Path(sys.base_prefix), Path(sys.prefix)]
        paths += [self.root / "course_lib", self.root / "data"]
        found = dict.fromkeys(path.resolve() for path in paths)
        return [one for one in found if one.is_dir() and not one.is_relative_to("/usr")]


def find_fence(*, sandbox: bool = True) -> Fence:
    """Return the best fence of this machine, proven to hold.

    Parameters
    ----------
    sandbox
        False asks for none at all.

    Raises
    ------
    GradeError
        There is none; the hint says what to install.
    """
    if not sandbox:
        return Fence("none", f"No fence. {WITHOUT}")
    if (fence := installed_fence()) is None:
        raise GradeError(
            "There is no fence on this machine to run other people's code in",
            hint=(
                "On Linux, install bubblewrap (`apt-get install bubblewrap`). Elsewhere, grade in "
                f"a container or virtual machine, with --no-sandbox inside. {WITHOUT}"
            ),
        )
    if fault := _fault(fence.program):
        raise GradeError(
            f"bubblewrap cannot fence anything in on this machine: {fault}",
            hint=(
                "Ubuntu 24.04 allows it with an AppArmor profile for bwrap (package "
                "apparmor-profiles, profile bwrap-userns-restrict); in Docker it needs "
                f"--cap-add SYS_ADMIN --security-opt seccomp=unconfined. Or --no-sandbox. {WITHOUT}"
            ),
        )
    return fence


def installed_fence() -> Fence | None:
    """Return the fence of this machine before it is proven to hold; None where there is none."""
    program = shutil.which("bwrap") if sys.platform == "linux" else None
    if program is None:
        return None
    return Fence(
        "bubblewrap",
        "bubblewrap: no network, no other processes, a read-only view of the interpreter, the "
        "library and the data, and private temporary folders of limited size.",
        program,
    )


_PROOF = """
import os, socket, sys
from course_lib.teaching.grade.inside.limits import become, limit_process
become(int(sys.argv[1]))
faults = []
for path in (sys.argv[2], "/", "/usr", "/dev"):
    try:
        open(os.path.join(path, ".course-proof"), "w").close()
        faults.append(f"{path} can be written")
    except OSError:
        pass
try:
    socket.create_connection(("192.0.2.1", 9), timeout=0.2)
    faults.append("there is a network")
except OSError as error:
    if "unreachable" not in str(error):
        faults.append(f"there may be a network: {error}")
if len([p for p in os.listdir("/proc") if p.isdigit()]) > 3:
    faults.append("other processes can be seen")
limit_process(memory=1 << 30, seconds=5, processes=3, file_size=1 << 20)
children = 0
try:
    for _ in range(8):
        if os.fork() == 0:
            import time; time.sleep(1); os._exit(0)
        children += 1
except OSError:
    pass
if children > 6:
    faults.append("the limit of processes does not bind")
try:
    bytearray(4 << 30)
    faults.append("the limit of memory does not bind")
except MemoryError:
    pass
print("; ".join(faults) or "holds")
"""


@lru_cache(maxsize=1)
def _fault(program: str) -> str:
    """Try each wall with something harmless; return what does not hold, empty where all do."""
    fence = Fence("bubblewrap", "", program)
    arguments = ["-c", _PROOF, str(fence.user(99)), str(fence.root / "course_lib")]
    command = fence.command(arguments, slot=99)
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", timeout=30, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    told = (done.stdout or done.stderr).strip().splitlines() or [f"exit code {done.returncode}"]
    return "" if told[-1] == "holds" else told[-1]
