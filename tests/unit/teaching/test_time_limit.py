import signal
import threading
import time

import pytest

from course_lib.teaching.lab.time_limit import OutOfTime, within

on_posix = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no setitimer")


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


def in_a_thread(work) -> list:
    outcome: list = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    return outcome


def test_the_result_of_what_ends_in_time_is_returned():
    assert within(5, lambda: 42) == 42


def test_an_error_of_the_work_comes_through():
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 // 0)


@pytest.mark.parametrize("work", [loops_for_ever, swallows_everything])
def test_an_endless_loop_ends_on_the_main_thread(work):
    with pytest.raises(OutOfTime, match="time"):
        within(0.2, work)


@pytest.mark.parametrize("work", [loops_for_ever, swallows_everything])
def test_an_endless_loop_ends_on_another_thread(work):
    (error,) = in_a_thread(lambda: within(0.2, work))
    assert isinstance(error, OutOfTime)


@on_posix
def test_a_sleep_is_interrupted_on_the_main_thread():
    with pytest.raises(OutOfTime):
        within(0.2, lambda: time.sleep(3600))


def test_a_loop_that_fills_the_memory_is_stopped_by_that():
    with pytest.raises(OutOfTime, match="memory"):
        within(30, fills_the_memory, memory=1 << 26)


@on_posix
def test_the_handler_and_a_timer_that_was_running_are_put_back():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(True))
    handler = signal.getsignal(signal.SIGALRM)
    outer = signal.setitimer(signal.ITIMER_REAL, 0.4)
    try:
        with pytest.raises(OutOfTime):
            within(0.1, loops_for_ever)
        assert signal.getsignal(signal.SIGALRM) is handler
        time.sleep(0.6)
        assert rung == [True]
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, *outer)


def test_a_thread_that_was_stopped_can_go_on_working():
    def twice() -> list[object]:
        try:
            within(0.1, loops_for_ever)
        except OutOfTime:
            pass
        time.sleep(0.2)
        return [within(5, lambda: sum(range(1000)))]

    assert in_a_thread(twice) == [[499500]]
