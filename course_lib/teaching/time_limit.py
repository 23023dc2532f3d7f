"""A time limit for somebody else's code: `within(2, work)` returns its result or raises.

An endless loop is the commonest beginner's bug, and one that appends to a list fills the memory of
a laptop within seconds; both end here.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

import psutil

T = TypeVar("T")

SIGNAL = getattr(signal, "SIGALRM", signal.SIGINT)
"""What stops the main thread: Windows knows no alarm."""

TICK = 0.05
"""Seconds between two looks at the clock and the memory."""

HURRY = 0.002
"""Seconds between two attempts to stop what is over its time."""

PATIENCE = 3.0

MEMORY_LIMIT = 1 << 30
"""Bytes by which the process may grow meanwhile."""


class OutOfTime(BaseException):
    """The time, or the memory, is used up.

    No `Exception`, so that an ``except Exception`` in an endless loop does not swallow it.
    """


def stop_behind(error: BaseException) -> OutOfTime | None:
    """Return the first stop after which an error arose, such as that of a connection at work."""
    first, behind = None, error.__context__
    while behind is not None:
        first = behind if isinstance(behind, OutOfTime) else first
        behind = behind.__context__
    return first


def within(seconds: float, work: Callable[[], T], *, memory: int = MEMORY_LIMIT) -> T:
    """Return what `work` returns, if it comes to an end in time.

    A thread looks at the clock and the memory, and sends the main thread a signal, whose handler
    raises: on a POSIX system also where it sleeps or waits for a socket. A single call into C that
    never looks up (a sum over an endless iterator) is out of reach, and so is any other thread
    than the main one, which has no limit.

    Parameters
    ----------
    seconds
        Of processor time, so that a busy machine stops nothing that another one lets through; on
        the clock it may take `PATIENCE` times as long, for what sleeps or waits.
    work
        Called without arguments in this thread.
    memory
        Bytes by which the process may grow.

    Raises
    ------
    OutOfTime
        With ``"time"`` or ``"memory"`` as its argument.

    Examples
    --------
    >>> within(1, lambda: 6 * 7)
    42
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    process = psutil.Process()
    most_memory = process.memory_info().rss + memory
    deadline, spent = time.monotonic() + PATIENCE * seconds, time.process_time() + seconds
    at_work, ended, verdict = False, threading.Event(), ""

    def look() -> None:
        nonlocal verdict
        while not ended.wait(HURRY if verdict else TICK):
            if time.process_time() >= spent or time.monotonic() >= deadline:
                verdict = verdict or "time"
            elif process.memory_info().rss > most_memory:
                verdict = verdict or "memory"
            if verdict:  # again and again: code may swallow the exception with a bare `except:`
                _interrupt_main()

    def on_signal(signum: int, frame: FrameType | None) -> None:
        if not verdict and callable(before):  # somebody else's, such as a timer of pytest's
            before(signum, frame)
        # An exception in `within`, or in the handler, would leave the thread at work.
        ours = (within.__code__, on_signal.__code__)
        if verdict and at_work and frame is not None and frame.f_code not in ours:
            raise OutOfTime(verdict)

    before = signal.signal(SIGNAL, on_signal)
    thread = threading.Thread(target=look, name="time-limit", daemon=True)
    thread.start()
    try:
        at_work = True
        return work()
    finally:
        at_work = False
        ended.set()
        thread.join()
        del thread  # or its weak references are cleared during some later work, which is stopped
        time.sleep(0)  # a call to the system: what was sent arrives here, under this handler
        signal.signal(SIGNAL, before)


def _interrupt_main() -> None:
    if sys.platform == "win32":
        _thread.interrupt_main(SIGNAL)
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, SIGNAL)
