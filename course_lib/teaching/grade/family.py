"""A process and its descendants: who they are, what memory they take, how they are ended."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def family_of(root: int) -> list[int]:
    """Return a process's number and those of all its descendants, parents first."""
    if not Path(f"/proc/{root}/task/{root}/children").exists():
        import psutil

        with contextlib.suppress(psutil.NoSuchProcess):
            return [root, *(one.pid for one in psutil.Process(root).children(recursive=True))]
        return [root]
    found = [root]
    for number in found:
        for task in _listed(Path(f"/proc/{number}/task")):
            with contextlib.suppress(OSError):
                found += map(int, task.joinpath("children").read_text(encoding="ascii").split())
    return found


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def resident(number: int) -> int:
    """Return the bytes of memory that a process has, what it shares included."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = Path(f"/proc/{number}/statm").read_text(encoding="ascii").split()[1]
            return int(pages) * os.sysconf("SC_PAGE_SIZE")
        return 0
    import psutil

    with contextlib.suppress(psutil.Error):
        return int(psutil.Process(number).memory_info().rss)
    return 0


def proportional(family: Sequence[int]) -> int:
    """Return the bytes of memory that processes take, what they share counted once."""
    if sys.platform != "linux":
        return sum(map(resident, family))
    total = 0
    for number in family:
        with contextlib.suppress(OSError, ValueError, StopIteration):
            text = Path(f"/proc/{number}/smaps_rollup").read_text(encoding="ascii")
            line = next(line for line in text.splitlines() if line.startswith("Pss:"))
            total += int(line.split()[1]) * 1024
    return total


def kill(number: int) -> None:
    """End a process at once, if it is still there."""
    import psutil

    with contextlib.suppress(psutil.Error):
        psutil.Process(number).kill()


def end_tree(process: subprocess.Popen[bytes]) -> None:
    """End a process and its descendants at once."""
    family = family_of(process.pid)
    process.kill()
    for number in family[1:]:
        kill(number)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
