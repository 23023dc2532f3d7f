"""Waiting for a learner's `async def`, in a thread: a notebook's own has a running loop already."""

from __future__ import annotations

import _thread
import asyncio
import ctypes
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, wait
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
    ended: Future[Any] = Future()
    loops: list[asyncio.AbstractEventLoop] = []

    async def work() -> Any:
        loops.append(asyncio.get_running_loop())
        return await coroutine

    def run() -> None:
        try:
            ended.set_result(asyncio.run(work()))
        except BaseException as error:
            ended.set_exception(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        return ended.result()
    finally:
        if not ended.done():
            # A time limit interrupts this thread again and again, so another one does it.
            _thread.start_new_thread(_end, (thread.ident, loops, ended))


async def settled(coroutine: Coroutine[Any, Any, Any]) -> tuple[Any, int]:
    """Return what a coroutine gives, and how many tasks are still running a moment later."""
    found = await coroutine
    for _ in range(5):  # what was cancelled ends as soon as the loop comes to it
        await asyncio.sleep(0)
    return found, len(asyncio.all_tasks()) - 1


def _end(ident: int | None, loops: list[asyncio.AbstractEventLoop], ended: Future[Any]) -> None:
    """End what is still at work when the time is up: what waits, and what never waits."""
    for loop in loops:
        with suppress(RuntimeError):  # closed meanwhile
            loop.call_soon_threadsafe(loop.stop)
    while not wait([ended], 0.5).done:
        stop = ctypes.pythonapi.PyThreadState_SetAsyncExc
        stop(ctypes.c_ulong(ident or 0), ctypes.py_object(SystemExit))
