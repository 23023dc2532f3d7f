"""How long to wait: what the headers say, what GitHub asks for without them, and who waits."""

import threading
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from email.utils import formatdate
from typing import Any

import pytest

from course_lib.loader.github.errors import RateLimitError
from course_lib.loader.github.waiting import (
    Countdown,
    Gate,
    StoppedError,
    Wait,
    wait_after,
    wait_time,
)

NOW = 1_772_359_200
DATE = formatdate(NOW, usegmt=True)
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes."


def reset(seconds: int, remaining: str = "0", date: str = DATE) -> dict[str, str]:
    found = {"x-ratelimit-remaining": remaining, "x-ratelimit-reset": str(NOW + seconds)}
    return found | ({"date": date} if date else {})


@pytest.mark.parametrize("status", [408, 500, 520])
def test_faults_of_the_server_are_waited_for_twice_as_long_each_time(status: int) -> None:
    waits = [wait_after(status, {}, attempt=attempt) for attempt in range(4)]
    assert [wait.seconds for wait in waits if wait] == [1, 2, 4, 8]
    assert not any(wait.is_limit for wait in waits if wait)
    assert wait_time(status, reset(60) | {"retry-after": "9"}, "rate limit", 0) is None
    told = wait_after(status, {"retry-after": "9"})
    assert told is not None and (told.seconds, told.is_limit) == (9, True)


@pytest.mark.parametrize("offset", [-600, 0, 600])
def test_a_clock_ten_minutes_off_changes_nothing(
    offset: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: float(NOW + offset))
    wait = wait_after(403, reset(30))
    assert wait is not None and wait.seconds == 31


def silent(wait: Wait, left: float) -> None:
    """Show nothing."""


def test_all_wait_at_the_gate_and_one_of_them_says_so(clock: Any) -> None:
    said: list[float] = []
    gate = Gate(100, lambda wait, left: said.append(left))
    gate.close(Wait(40, "test"))
    threads = [threading.Thread(target=gate.enter) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clock.now >= 40
    assert said[0] == 40 and said[-1] == 0
    assert said == sorted(set(said), reverse=True)


def test_a_wait_that_is_too_long_is_an_error_at_once_which_says_when_to_come_back() -> None:
    gate = Gate(60, silent)
    before = datetime.now().astimezone()
    gate.close(Wait(3600, "the hourly limit is used up"))
    with pytest.raises(RateLimitError, match="no more than 60 s may be waited") as caught:
        gate.enter()
    assert timedelta(seconds=3590) < caught.value.retry_at - before < timedelta(seconds=3610)
    assert f"{caught.value.retry_at:%H:%M:%S}" in caught.value.args[0]
    assert "GITHUB_TOKEN" in caught.value.hint


def test_waits_add_up_and_the_same_wait_is_counted_once(clock: Any) -> None:
    gate = Gate(100, silent)
    gate.close(Wait(60, "first"))
    gate.close(Wait(60, "the same, seen by another request"))
    gate.enter()
    assert clock.now == 60
    gate.close(Wait(60, "second"))
    with pytest.raises(RateLimitError):
        gate.enter()
    gate = Gate(0, silent)
    gate.close(Wait(60, "a fault is not a limit", is_limit=False))
    gate.enter()
    assert clock.now == 120


def test_whoever_waits_goes_home_when_the_download_ends() -> None:
    gate = Gate(1000, silent)
    gate.close(Wait(900, "test"))
    ended: list[type[BaseException]] = []

    def enter() -> None:
        try:
            gate.enter()
        except StoppedError as error:
            ended.append(type(error))

    threads = [threading.Thread(target=enter) for _ in range(3)]
    for thread in threads:
        thread.start()
    gate.stop()
    for thread in threads:
        thread.join(timeout=5)
    assert ended == [StoppedError] * 3
    with pytest.raises(StoppedError):
        gate.enter()


def test_a_wait_is_shown_as_one_sentence_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show = Countdown()
    for left in (3.0, 2.0, 1.0, 0.0):
        show(Wait(3, "the hourly limit is used up"), left)
    show(Wait(5, "again"), 5.0)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "the hourly limit is used up: waiting 3 s",
        "again: waiting 5 s",
    ]


def test_a_terminal_shows_a_countdown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    show = Countdown()
    for left in (2.0, 1.0, 0.0):
        show(Wait(2, "a pause"), left)
    shown = capsys.readouterr().err
    assert "waiting 2 s" in shown and "waiting 1 s" in shown
    assert shown.count("\n") == 0 and shown.endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("status", "headers", "message", "attempt", "seconds"),
    [
        (403, {"retry-after": "9" * 400}, "", 0, 1e8),
        (429, reset(10**30), "", 0, 1e8),
        (403, {"retry-after": DATE}, "", 1, 120),
        (429, reset(900), SECONDARY, 0, 901),
        (403, {"x-ratelimit-remaining": "0"}, "", 0, 60),
        (429, {}, SECONDARY, 0, 60),
        (403, {"retry-after": "-5"}, SECONDARY, 0, 0),
        (403, reset(60) | {"retry-after": "0"}, "", 0, 0),
        (429, reset(4999), "API rate limit exceeded", 0, 5000),
        (403, reset(-5), "", 0, 1),
        (403, reset(60, "40"), "Must have admin rights", 0, None),
        (403, {"date": DATE, "x-ratelimit-reset": str(NOW)}, "", 0, None),
        (403, {}, "ask your corporate admin to lift this limit", 0, None),
        (403, reset(60, "41"), SECONDARY.upper(), 6, 3840),
        (429, {}, "", 1, 120),
    ],
)
def test_the_first_rule_that_applies_says_how_long(
    status: int, headers: Mapping[str, str], message: str, attempt: int, seconds: float | None
) -> None:
    wait = wait_after(status, headers, message, attempt)
    assert (wait and wait.seconds) == seconds
    assert wait is None or wait.is_limit
