"""A time limit for somebody else's code: `within(2, work)` returns its result or raises.

An endless loop is the commonest beginner's bug, and one that appends to a list fills the memory of
a laptop within seconds; both end here, in a notebook's kernel as in a thread.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

import psutil

T = TypeVar("T")

TICK = 0.05
"""Seconds between two looks at the clock and the memory."""

HURRY = 0.002
"""Seconds between two attempts to stop what is over its time."""

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

    On the main thread of a POSIX system a timer's signal interrupts it, also where it sleeps or
    waits for a socket. Elsewhere another thread raises the exception in this one, which then
    arrives with the next Python instruction. A single call into C that never looks up (a sum over
    an endless iterator) is out of reach of both.

    Parameters
    ----------
    seconds
        Wall-clock time.
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
    watch = _Watch(seconds, memory)
    on_main_thread = threading.current_thread() is threading.main_thread()
    run = _with_alarm if on_main_thread and hasattr(signal, "setitimer") else _with_guard
    try:
        return run(watch, work)
    except OutOfTime as stop:
        raise OutOfTime(watch.verdict or "time").with_traceback(stop.__traceback__) from None


class _Watch:
    def __init__(self, seconds: float, memory: int) -> None:
        self.process = psutil.Process()
        self.most_memory = self.process.memory_info().rss + memory
        self.deadline = time.monotonic() + seconds
        self.verdict = ""

    def is_over(self) -> bool:
        if time.monotonic() >= self.deadline:
            self.verdict = "time"
        elif self.process.memory_info().rss > self.most_memory:
            self.verdict = "memory"
        return bool(self.verdict)


def _with_alarm(watch: _Watch, work: Callable[[], T]) -> T:
    # The alarm is set again each time that it rang, sooner once the time is over: code may swallow
    # the exception with a bare `except:`. It never repeats by itself, and raises neither in this
    # frame, nor in the handler, nor after the work: a second alarm that rang on the way out of here
    # would leave the timer running, and end the whole process.
    own, at_work = sys._getframe(), True

    def on_alarm(signum: int, frame: FrameType | None) -> None:
        if not at_work:
            return
        is_ours = frame is own or (frame is not None and frame.f_code is on_alarm.__code__)
        over = not is_ours and watch.is_over()
        signal.setitimer(signal.ITIMER_REAL, HURRY if over else TICK)
        if over:
            raise OutOfTime

    begun = time.monotonic()
    handler = signal.signal(signal.SIGALRM, on_alarm)
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, TICK)
    try:
        return work()
    finally:
        at_work = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        # One that rang already may wait for another thread to take it; under the old handler, which
        # is the system's in a kernel, it would end the process.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        if signal.SIGALRM in signal.sigpending():
            signal.sigwait({signal.SIGALRM})
        signal.signal(signal.SIGALRM, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        if remaining:  # somebody else's timer was running, pytest-timeout's for one
            left = max(remaining - (time.monotonic() - begun), 0.001)
            signal.setitimer(signal.ITIMER_REAL, left, interval)


def _with_guard(watch: _Watch, work: Callable[[], T]) -> T:
    own, ident = sys._getframe(), threading.get_ident()
    target = ctypes.c_ulong(ident)
    raise_in_thread = ctypes.pythonapi.PyThreadState_SetAsyncExc
    ended, turn = threading.Event(), threading.Lock()

    def look() -> None:
        pause = TICK
        while not ended.wait(pause):
            with turn:
                if ended.is_set() or sys._current_frames().get(ident) is own:
                    continue
                if watch.is_over():
                    pause = HURRY
                    raise_in_thread(target, ctypes.py_object(OutOfTime))

    thread = threading.Thread(target=look, name="time-limit", daemon=True)
    thread.start()
    try:
        return work()
    finally:
        with turn:
            ended.set()
            raise_in_thread(target, None)  # one that has not arrived yet
        thread.join()
