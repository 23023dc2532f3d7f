"""A learner's loop ends in time, and the limit leaves nothing running."""

import signal
import subprocess
import sys
import threading
import time

import pytest

from course_lib.teaching.time_limit import OutOfTime, stop_behind, within

on_posix = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no setitimer")

IN_A_HURRY = """
import threading
from course_lib.teaching import time_limit
from course_lib.teaching.time_limit import OutOfTime, within

time_limit.TICK, time_limit.HURRY = 0.0005, 0.00001

def loops():
    while True:
        pass

threading.Thread(target=lambda: sum(range(10**7)), daemon=True).start()
for _ in range(200):
    try:
        within(0.002, loops)
    except OutOfTime:
        pass
print("alive")
"""
"""Alarms that come a hundred times as often as ever: the rare case of one on the way out."""


def loops_for_ever() -> None:
    while True:
        pass


def swallows_everything() -> None:
    while True:
        try:
            sum(range(100))
        except:  # noqa: E722 - what a learner might write
            pass


def fills_the_memory() -> None:
    kept = []
    while True:
        kept.append(bytearray(1 << 20))


def test_an_error_of_what_was_at_work_does_not_hide_the_stop() -> None:
    def work() -> None:
        try:
            loops_for_ever()
        finally:
            raise ValueError("another command is in progress")

    with pytest.raises(ValueError, match="another command") as ended:
        within(0.1, work)
    assert isinstance(stop_behind(ended.value), OutOfTime)
    assert stop_behind(ValueError("of its own")) is None


@pytest.mark.parametrize("work", [loops_for_ever, swallows_everything])
def test_an_endless_loop_ends(work):
    with pytest.raises(OutOfTime, match="time"):
        within(0.1, work)


@on_posix
def test_a_sleep_is_interrupted_on_the_main_thread():
    with pytest.raises(OutOfTime):
        within(0.1, lambda: time.sleep(3600))


def test_a_loop_that_fills_the_memory_is_stopped_by_that():
    with pytest.raises(OutOfTime, match="memory"):
        within(30, fills_the_memory, memory=1 << 26)


@on_posix
def test_the_handler_and_a_timer_that_was_running_are_put_back():
    rung = threading.Event()
    before = signal.signal(signal.SIGALRM, lambda *_: rung.set())
    handler = signal.getsignal(signal.SIGALRM)
    outer = signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(OutOfTime):
            within(0.1, loops_for_ever)
        assert signal.getsignal(signal.SIGALRM) is handler
        assert rung.wait(20)
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *outer)


@on_posix
def test_no_alarm_outlives_the_limit():
    """One that did would end the learner's kernel, without a word."""
    command = [sys.executable, "-X", "faulthandler", "-c", IN_A_HURRY]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr[-2000:]
