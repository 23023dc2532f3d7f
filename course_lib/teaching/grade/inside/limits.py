"""Limits of one process and those it starts, where the system has them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys

import psutil


def limit_process(*, memory: int, seconds: float, processes: int, file_size: int) -> None:
    """Set this process's limits for good.

    Parameters
    ----------
    memory
        Bytes by which the process may grow beyond what it has now.
    seconds
        Of processor time.
    processes
        Processes and threads of this user; it does not bind root.
    file_size
        Bytes of any file that is written.
    """
    import resource

    now = psutil.Process().memory_info().vms if sys.platform == "linux" else 0
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime
    wanted = {
        "RLIMIT_AS": now + memory if now else resource.RLIM_INFINITY,
        "RLIMIT_CPU": int(spent + seconds) + 1,
        "RLIMIT_NPROC": processes,
        "RLIMIT_FSIZE": file_size,
        "RLIMIT_NOFILE": 512,
        "RLIMIT_CORE": 0,
        "RLIMIT_STACK": 64 << 20,
        "RLIMIT_MSGQUEUE": 0,
    }
    for name, value in wanted.items():
        number = getattr(resource, name, None)
        if number is None or value == resource.RLIM_INFINITY:
            continue
        _, hard = resource.getrlimit(number)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(number, (value, value))


def become(user: int) -> None:
    """Turn from root into a user without a name or rights; does nothing for anybody else."""
    if user and os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def set_dumpable(yes: bool) -> None:
    """Let other processes of this user look into this one's memory, or not (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(4, int(yes), 0, 0, 0)  # PR_SET_DUMPABLE


def process_namespace() -> str:
    """Return the name of this process's namespace of processes; empty where there is none."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
