"""The fence for other tools: what starts the kernel `course-fenced` within it.

Jupyter finds `FencedProvisioner` as an entry point, by the name in `kernelspec/kernel.json`. So
whatever takes a kernel by its name (nbval, papermill, nbgrader, JupyterLab) runs strangers'
notebooks within the fence of the grader. A database is the notebook's own: the embedded server
starts within the fence, in a folder that is memory.
"""

from __future__ import annotations

import filecmp
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from course_lib.teaching.grade.fence import JOBS, MEGABYTE, Limits, find_fence
from course_lib.teaching.grade.inside.kernel import CONNECTION
from course_lib.teaching.grade.sandbox import ResourceMonitor, last_line

KERNEL = "course-fenced"

LIMITS = Limits(
    budget=600,
    memory=4096 * MEGABYTE,
    file_size=512 * MEGABYTE,
    disk=1024 * MEGABYTE,
    processes=256,
)
"""Of a kernel, which runs a whole notebook with its database: processor time, address space, …"""

MEMORY = 2048 * MEGABYTE
"""Bytes that all its processes may take together."""

OURS = "course-kernel-"
"""How the names of folders with a kernel's sockets begin."""

SLOTS = 60_000
"""Where root starts them, kernels have users of their own, after those of the grader's jobs."""


def install_kernel() -> None:
    """Let this environment's Jupyter know the kernel; where it is not ours, this user's Jupyter."""
    source = Path(__file__).parent / "kernelspec"
    manager = KernelSpecManager()
    known = manager.find_kernel_specs().get(KERNEL)
    if known is None or filecmp.dircmp(source, known).diff_files:
        ours = os.access(sys.prefix, os.W_OK)
        manager.install_kernel_spec(
            str(source), KERNEL, user=not ours, prefix=sys.prefix if ours else None
        )


class FencedProvisioner(LocalProvisioner):
    """Starts a kernel within the fence.

    Its sockets are files in a folder that only we can reach. They are opened here and handed over,
    so that nothing of the machine is writable inside.
    """

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.folder = Path()
        self.sockets: dict[int, socket.socket] = {}
        self.kernel: subprocess.Popen[bytes] | None = None
        self.watch: ResourceMonitor | None = None
        self.errors: IO[bytes] | None = None

    async def pre_launch(self, **given: Any) -> dict[str, Any]:
        """Return how the kernel is started: the fence's command in place of the kernel's own."""
        fence = find_fence()
        manager: Any = self.parent
        if not Path(manager.ip).parent.name.startswith(OURS):  # else the kernel is started again
            manager.transport = "ipc"
            manager.ip = str(Path(tempfile.mkdtemp(prefix=OURS), "kernel"))
        self.folder = Path(manager.ip).parent
        given = await super().pre_launch(**given)
        for port in manager.ports:
            path = Path(f"{manager.ip}-{port}")
            path.unlink(missing_ok=True)
            self.sockets[port] = socket.socket(socket.AF_UNIX)
            self.sockets[port].bind(str(path))
            self.sockets[port].listen()
        slot = JOBS + secrets.randbelow(SLOTS)
        user = fence.user(slot)
        number = user or os.getuid()
        account = self.folder / "passwd"  # PostgreSQL runs for nobody without a name
        account.write_text(f"learner:x:{number}:{number}::/tmp:\n", encoding="ascii")
        account.chmod(0o644)
        descriptors = {port: one.fileno() for port, one in self.sockets.items()}
        about = {"user": user, "limits": LIMITS.inside(), "sockets": descriptors}
        python, flag, module, _, *options = given.pop("cmd")
        self.errors = tempfile.TemporaryFile()
        also = {account: "/etc/passwd", Path(manager.connection_file): str(CONNECTION)}
        if (solutions := fence.root / "solutions").is_dir():  # what some checks compare with
            also[solutions] = str(solutions)
        arguments = [flag, module, json.dumps(about), *options]
        command = fence.command(arguments, slot=slot, limits=LIMITS, also=also)
        return given | {
            "cmd": command, "env": {}, "cwd": "/", "pass_fds": tuple(descriptors.values()),
            "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": self.errors,
        }  # fmt: skip

    async def launch_kernel(self, cmd: list[str], **given: Any) -> KernelConnectionInfo:
        """Start the kernel, and watch over the memory of all its processes."""
        connection = await super().launch_kernel(cmd, **given)
        assert self.process is not None
        self.kernel = self.process
        self.watch = ResourceMonitor(self.kernel.pid, MEMORY)
        return connection

    async def cleanup(self, restart: bool = False) -> None:
        """Log why the kernel ended by itself, and remove what was opened for it."""
        await super().cleanup(restart)
        for one in self.sockets.values():
            one.close()
        if self.kernel and self.watch and self.errors:
            self.watch.stop()
            code = self.kernel.poll() or 0  # below 0: it was ended here
            if self.watch.over:
                self.log.error("%s was ended: it took over %d MB", KERNEL, MEMORY // MEGABYTE)
            elif code > 0:
                self.log.error("%s: %s", KERNEL, last_line(self.errors) or f"exit code {code}")
            self.errors.close()
            self.kernel = None
        if not restart and self.folder.name:
            shutil.rmtree(self.folder, ignore_errors=True)
