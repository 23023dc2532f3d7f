"""Removing what a submission leaves behind: its processes, its files, its shared memory."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import time
from pathlib import Path

import psutil

PRIVATE = (Path("/tmp"), Path("/dev/shm"), Path("/var/tmp"))


def end_all_others() -> bool:
    """End every process of this namespace but ourselves and its first; tell whether they went."""
    patience = time.monotonic() + 5
    while time.monotonic() < patience:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        if not any(map(_lives, psutil.process_iter())):
            return True
        time.sleep(0.005)
    return False


def _lives(other: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        ours = other.pid in (1, os.getpid())
        return not ours and other.status() != psutil.STATUS_ZOMBIE
    return False


def present(folders: tuple[Path, ...]) -> frozenset[Path]:
    """Return everything in folders, mounted ones closed: the library may be in one of them."""
    found: set[Path] = set()
    waiting = [folder for folder in folders if folder.is_dir()]
    while waiting:
        for entry in waiting.pop().iterdir():
            found.add(entry)
            if _is_open(entry):
                waiting.append(entry)
    return frozenset(found)


def empty(folders: tuple[Path, ...], kept: frozenset[Path] = frozenset()) -> bool:
    """Remove what is not to be kept, whatever its permissions; tell whether nothing else is left.

    Parameters
    ----------
    folders
        What is emptied.
    kept
        What `present` returned before any submission ran.
    """
    left = 0
    for folder in folders:
        for entry in folder.iterdir() if folder.is_dir() and not folder.is_symlink() else ():
            if entry in kept:
                left += _is_open(entry) and not empty((entry,), kept)
                continue
            if entry.is_dir() and not entry.is_symlink():
                for path in (entry, *(p for p in entry.rglob("*") if p.is_dir())):
                    with contextlib.suppress(OSError):
                        path.chmod(0o700)
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
            left += entry.exists() or entry.is_symlink()
    return not left


def _is_open(entry: Path) -> bool:
    return entry.is_dir() and not entry.is_symlink() and not os.path.ismount(entry)


def remove_shared_memory() -> bool:
    """Remove this namespace's System V shared memory, semaphores and queues; tell if all went.

    They belong to no process, and stay when all have ended.
    """
    libc, left = ctypes.CDLL(None), 0
    for kind in ("shm", "sem", "msg"):
        table = Path("/proc/sysvipc") / kind
        for line in table.read_text(encoding="ascii").splitlines()[1:] if table.exists() else ():
            number = int(line.split()[1])
            given = (number, 0, 0) if kind == "sem" else (number, 0, None)  # IPC_RMID is 0
            left += getattr(libc, f"{kind}ctl")(*given) != 0
    return not left
