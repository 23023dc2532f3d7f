"""Waiting for a learner's `async def`, in a thread: a notebook's own has a running loop already."""

from __future__ import annotations

import _thread
import asyncio
import ctypes
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any


def run_awaitable(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in a loop and a thread of its own, and return what it gives.

    Parameters
    ----------
    coroutine
        What to wait for. If waiting is broken off, as by the time limit of a check, it ends too.

    Examples
    --------
    >>> run_awaitable(asyncio.sleep(0, "done"))
    'done'
    """
    results: list[Any] = []
    errors: list[BaseException] = []
    loops: list[asyncio.AbstractEventLoop] = []
    done = threading.Event()

    async def work() -> None:
        loops.append(asyncio.get_running_loop())
        results.append(await coroutine)

    def run() -> None:
        try:
            asyncio.run(work())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        done.wait()  # not `join`, which takes a thread for ended where it is interrupted
    finally:
        if not done.is_set():
            # A time limit interrupts this thread again and again, so another one does it.
            _thread.start_new_thread(_end, (thread.ident, loops, done))
    if errors:
        raise errors[0]
    return results[0]


async def settled(coroutine: Coroutine[Any, Any, Any]) -> tuple[Any, int]:
    """Return what a coroutine gives, and how many tasks are still running a moment later."""
    found = await coroutine
    for _ in range(5):  # what was cancelled ends as soon as the loop comes to it
        await asyncio.sleep(0)
    return found, len(asyncio.all_tasks()) - 1


def _end(ident: int | None, loops: list[asyncio.AbstractEventLoop], done: threading.Event) -> None:
    """End what is still at work when the time is up: what waits, and what never waits."""
    for loop in loops:
        with suppress(RuntimeError):  # closed meanwhile
            loop.call_soon_threadsafe(loop.stop)
    while not done.wait(0.5):
        stop = ctypes.pythonapi.PyThreadState_SetAsyncExc
        stop(ctypes.c_ulong(ident or 0), ctypes.py_object(SystemExit))
