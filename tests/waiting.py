"""Waiting for what another process or thread does."""

import contextlib
import time
from collections.abc import Callable

import httpx
import psutil


def until(holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait until something holds; an HTTP client that finds nobody counts as not yet."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(httpx.TransportError):
            if holds():
                return
        assert time.monotonic() < deadline, "it did not come to hold"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Return whether a process lives, which a zombie does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False
