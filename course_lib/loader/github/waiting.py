"""How to wait: an answer goes in, how long to leave the server alone comes out.

GitHub has two limits. The primary one, so many requests an hour, is told in the headers of every
answer; the secondary one, not too many at once, only when it is met. Whoever goes on asking in
spite of them may be banned, so all requests of a download wait at one gate.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime

from course_lib.loader.github.errors import RateLimitError


@dataclass(frozen=True, slots=True)
class Patience:
    """How often to ask again, and after how long where the server does not say it.

    Attributes
    ----------
    attempts
        How often one request is made, at most.
    first
        Seconds before the second attempt after a fault; each further pause is twice as long.
    secondary
        The same after a secondary limit: GitHub asks for a minute at least.
    """

    attempts: int = 5
    first: float = 1.0
    secondary: float = 60.0


@dataclass(frozen=True, slots=True)
class Wait:
    """How many seconds to wait, and why; `is_limit` tells a rate limit from a fault."""

    seconds: float
    reason: str
    is_limit: bool = True


PATIENCE = Patience()
LONGEST = 1e8
"""Seconds: whoever says more than three years has made a mistake, and dates end somewhere."""


def wait_time(
    status: int,
    headers: Mapping[str, str],
    message: str = "",
    attempt: int = 0,
    *,
    patience: Patience = PATIENCE,
) -> Wait | None:
    """Return how long to wait before the same request is made again; None not to make it.

    Parameters
    ----------
    status
        Of the answer.
    headers
        Of the answer, by their names in lower case.
    message
        What the answer's JSON says.
    attempt
        How often this request has been made before: 0, 1, …
    patience
        What to do where the headers do not say how long.

    Returns
    -------
    Wait or None
        A 403 is a limit only where a header or the message says so; otherwise the rights do not
        suffice, and asking again would change nothing.

    Notes
    -----
    When the primary limit ends is told as a time. It is compared with the server's own clock, the
    header `Date`, since ours may be wrong. A second is added, because `Date` has whole seconds.

    Examples
    --------
    >>> wait_time(429, {"retry-after": "7"}).seconds
    7.0
    >>> headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772359260",
    ...            "date": "Sun, 01 Mar 2026 10:00:00 GMT"}
    >>> wait_time(403, headers).seconds
    61.0
    >>> wait_time(403, {}, "Resource not accessible by personal access token") is None
    True
    >>> [wait_time(502, {}, attempt=attempt).seconds for attempt in range(4)]
    [1.0, 2.0, 4.0, 8.0]
    """
    if status in {403, 429}:
        if (seconds := _retry_after(headers)) is not None:
            return Wait(seconds, "GitHub asked for a pause")
        if headers.get("x-ratelimit-remaining") == "0":
            seconds = _until_reset(headers)
            return Wait(
                patience.secondary if seconds is None else seconds, "the hourly limit is used up"
            )
        says_limit = "rate limit" in message.lower() or "abuse detection" in message.lower()
        if status == 429 or says_limit:
            return Wait(patience.secondary * 2**attempt, "too many requests at once")
        return None
    if status == 408 or status >= 500:
        seconds = _retry_after(headers)
        is_told = seconds is not None
        return Wait(
            seconds if seconds is not None else patience.first * 2**attempt,
            f"the server answered {status}",
            is_limit=is_told,
        )
    return None


def used_up(headers: Mapping[str, str]) -> Wait | None:
    """Return how long to wait after an answer that was the last one of this hour."""
    if headers.get("x-ratelimit-remaining") != "0":
        return None
    seconds = _until_reset(headers)
    return None if seconds is None else Wait(seconds, "the hourly limit is used up")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of `Retry-After`, which may be a number or a date."""
    value = headers.get("retry-after", "").strip()
    if value.isdecimal():
        return min(float(value), LONGEST)
    then = _time(value)
    return None if then is None else min(max(0.0, then - _now(headers)) + 1, LONGEST)


def _until_reset(headers: Mapping[str, str]) -> float | None:
    value = headers.get("x-ratelimit-reset", "").strip()
    if not value.isdecimal():
        return None
    return min(max(0.0, float(value) - _now(headers)) + 1, LONGEST)


def _now(headers: Mapping[str, str]) -> float:
    told = _time(headers.get("date", ""))
    return time.time() if told is None else told


def _time(value: str) -> float | None:
    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


class StoppedError(Exception):
    """The download ends; whoever waits at its gate goes home."""


class Gate:
    """Where all requests to one server pass, and wait while it wants to be left alone.

    Parameters
    ----------
    max_wait
        Seconds that may be spent here in all.
    on_wait
        Called about once a second, by one of those who wait, with the wait and the seconds left;
        with zero at its end.
    """

    def __init__(self, max_wait: float, on_wait: Callable[[Wait, float], None]) -> None:
        self._max_wait = max_wait
        self._on_wait = on_wait
        self._lock = threading.Lock()
        self._speaker = threading.Lock()
        self._stopped = threading.Event()
        self._until = 0.0
        self._waited = 0.0
        self._why = Wait(0.0, "")
        self._later: tuple[Wait, float] | None = None

    def hold(self, wait: Wait) -> None:
        """Close the gate for some time.

        Raises
        ------
        RateLimitError
            If that is longer than one may wait; the gate stays closed.
        """
        with self._lock:
            now = time.monotonic()
            until = now + wait.seconds
            if until <= self._until:
                return
            self._waited += until - max(now, self._until)
            self._until, self._why = until, wait
            if self._waited > self._max_wait:
                raise _too_long(wait, self._max_wait)

    def hold_later(self, wait: Wait | None) -> None:
        """Close the gate for whoever comes next, unless nobody does before the time is over."""
        with self._lock:
            self._later = (wait, time.monotonic()) if wait else None

    def enter(self) -> None:
        """Return when the gate is open.

        Raises
        ------
        RateLimitError
            As `hold`.
        StoppedError
            If the download ends.
        """
        with self._lock:
            later, self._later = self._later, None
        if later:
            wait, since = later
            left = wait.seconds - (time.monotonic() - since)
            if left > 0:
                self.hold(Wait(left, wait.reason))
        while True:
            if self._stopped.is_set():
                raise StoppedError
            left = self._until - time.monotonic()
            if left <= 0:
                return
            if self._speaker.acquire(blocking=False):
                try:
                    self._speak()
                finally:
                    self._speaker.release()
            else:
                self._stopped.wait(min(left, 0.2))

    def sleep(self, seconds: float) -> None:
        """Wait, and let the others pass."""
        if self._stopped.wait(seconds):
            raise StoppedError

    def stop(self) -> None:
        """Send everybody home."""
        self._stopped.set()

    def _speak(self) -> None:
        said = False
        while (left := self._until - time.monotonic()) > 0 and not self._stopped.is_set():
            said = True
            self._on_wait(self._why, left)
            self._stopped.wait(min(left, 1.0))
        if said:
            self._on_wait(self._why, 0.0)


def _too_long(wait: Wait, max_wait: float) -> RateLimitError:
    retry_at = datetime.now().astimezone() + timedelta(seconds=wait.seconds)
    return RateLimitError(
        f"{wait.reason}: GitHub answers again in {math.ceil(wait.seconds)} s, at "
        f"{retry_at:%H:%M:%S} on {retry_at:%Y-%m-%d}, and no more than {max_wait:.0f} s may be "
        "waited",
        retry_at=retry_at,
        hint="Come back then: what was downloaded is kept. A token in GITHUB_TOKEN raises the "
        "limit from 60 to 5,000 requests an hour; --max-wait lets a download wait for longer.",
    )


class Countdown:
    """Shows a wait: on a terminal a line that counts down, elsewhere a sentence when it begins."""

    def __init__(self) -> None:
        self._is_begun = False

    def __call__(self, wait: Wait, left: float) -> None:
        """Show that `left` seconds are left of a wait."""
        is_terminal = sys.stderr.isatty()
        if left > 0 and (is_terminal or not self._is_begun):
            until = datetime.now() + timedelta(seconds=left)
            text = f"{wait.reason}: waiting {math.ceil(left)} s, until {until:%H:%M:%S}"
            line = f"\r{text}\x1b[K" if is_terminal else f"{text}\n"
            print(line, end="", file=sys.stderr, flush=True)
        elif left <= 0 and is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        self._is_begun = left > 0
