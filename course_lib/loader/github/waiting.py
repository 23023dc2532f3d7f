"""How to wait: an answer goes in, how long to leave the server alone comes out.

GitHub has two limits. The primary one, so many requests an hour, is told in the headers of every
answer; the secondary one, not too many at once, only when it is met. Whoever goes on asking in
spite of them may be banned, so all requests of a download wait at one gate.
How long a download waits in all is `MAX_WAIT_SECONDS` in `client.py`.
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

LONGEST_SECONDS = 1e8
"""A server that says more than three years has made a mistake, and no date can hold much more."""


def wait_time(
    status: int, headers: Mapping[str, str], message: str = "", attempt: int = 0
) -> float | None:
    """Return how many seconds to wait after a rate limit; None if it is not one.

    Only 403 and 429 can be rate limits. The first rule that applies decides:

    - `retry-after` is there: wait so many seconds.
    - `x-ratelimit-remaining` is "0": wait from `date` to `x-ratelimit-reset`, at least 0, plus 1.
    - a 429, or the message contains "rate limit", in capital or small letters:
      wait 60, 120, 240, … seconds for attempt 0, 1, 2, …
    - otherwise: None.

    Parameters
    ----------
    status, headers, message
        Of the answer. Names of headers are in lower case, and the values are text.
    attempt
        How often this request was made before: 0, 1, …

    Examples
    --------
    >>> wait_time(403, {"retry-after": "7"})
    7.0
    >>> reset = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1772359260"}
    >>> wait_time(403, {**reset, "date": "Sun, 01 Mar 2026 10:00:00 GMT"})
    61.0
    >>> wait_time(429, {}, attempt=1)
    120.0
    >>> wait_time(403, {"x-ratelimit-remaining": "41"}, "Must have admin rights") is None
    True
    """
    if status in (403, 429):
        if "retry-after" in headers:
            return float(headers["retry-after"])
        if headers.get("x-ratelimit-remaining") == "0":
            now = parsedate_to_datetime(headers["date"]).timestamp()
            return max(0.0, int(headers["x-ratelimit-reset"]) - now) + 1
        if status == 429 or "rate limit" in message.lower():
            return 60.0 * 2.0**attempt
    return None


@dataclass(frozen=True, slots=True)
class Wait:
    """How many seconds to wait, and why.

    `is_limit` says whether they count against `max_wait`: so does a rate limit, and a failing
    server that says itself how long; the short pauses after other failures do not.
    """

    seconds: float
    reason: str
    is_limit: bool = True


def wait_after(
    status: int, headers: Mapping[str, str], message: str = "", attempt: int = 0
) -> Wait | None:
    """Return how long to wait after an answer as servers send it, and why; None not to.

    For a rate limit it is `wait_time`, and a minute, then two, four, … where its headers cannot be
    read. After a fault of the server (a 408, or 500 and above) it is ``retry-after``, or 1, 2, 4, …
    seconds.

    Examples
    --------
    >>> wait_after(403, {"retry-after": "7"})
    Wait(seconds=7.0, reason='GitHub asked for a pause', is_limit=True)
    >>> wait_after(502, {})
    Wait(seconds=1.0, reason='the server answered 502', is_limit=False)
    """
    is_fault, says = status == 408 or status >= 500, "retry-after" in headers
    try:
        seconds = wait_time(status, headers, message, attempt)
        if is_fault:
            seconds = float(headers["retry-after"]) if says else 2.0**attempt
    except (KeyError, TypeError, ValueError):  # such as a date, which GitHub does not send
        seconds = 60.0 * 2.0**attempt
    if seconds is None:
        return None
    reason = "too many requests at once"
    if is_fault:
        reason = f"the server answered {status}"
    elif says:
        reason = "GitHub asked for a pause"
    elif headers.get("x-ratelimit-remaining") == "0":
        reason = "the hourly limit is used up"
    return Wait(min(max(seconds, 0.0), LONGEST_SECONDS), reason, says or not is_fault)


class StoppedError(Exception):
    """The download ends, and with it every thread that waits at its gate."""


class Gate:
    """Where all requests to one server pass, and wait while it wants to be left alone.

    Parameters
    ----------
    max_wait
        Seconds that rate limits may cost here in all.
    on_wait
        Called about once a second with the wait and the seconds left; with zero at its end.
    """

    def __init__(self, max_wait: float, on_wait: Callable[[Wait, float], None]) -> None:
        self._max_wait = self._wait_left = max_wait
        self._on_wait = on_wait
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._closed = (0.0, Wait(0.0, ""))

    def close(self, wait: Wait) -> None:
        """Let nobody pass for so long; it costs nothing if nobody comes."""
        until = time.monotonic() + wait.seconds
        with self._lock:
            self._closed = max(self._closed, (until, wait), key=lambda closed: closed[0])

    def enter(self) -> None:
        """Return when the gate is open. One thread waits and says so, the others wait for it.

        The thread that waits keeps the lock. So the others are at the lock until it is done, and
        so does `close`, whose new pause then holds for the next thread that enters.

        Raises
        ------
        RateLimitError
            If that takes longer than `max_wait` allows.
        StoppedError
            If the download ends.
        """
        with self._lock:
            until, wait = self._closed
            left = until - time.monotonic()
            if left > 0 and not self._stopped.is_set():
                # Not `left > …`: a `max_wait` of NaN allows nothing.
                if wait.is_limit and not left <= self._wait_left:
                    raise _too_long(wait, left, self._max_wait)
                self._wait_left -= left if wait.is_limit else 0.0
                while left > 0 and not self._stopped.is_set():
                    self._on_wait(wait, left)
                    self._stopped.wait(min(left, 1.0))
                    left = until - time.monotonic()
                self._on_wait(wait, 0.0)
        if self._stopped.is_set():
            raise StoppedError

    def stop(self) -> None:
        """End the wait of every thread, with a StoppedError."""
        self._stopped.set()


def _too_long(wait: Wait, seconds: float, max_wait: float) -> RateLimitError:
    retry_at = datetime.now().astimezone() + timedelta(seconds=seconds)
    return RateLimitError(
        f"{wait.reason}: GitHub answers again in {math.ceil(seconds)} s, at "
        f"{retry_at:%H:%M:%S} on {retry_at:%Y-%m-%d}, and no more than {max_wait:.0f} s may be "
        "waited in all",
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
