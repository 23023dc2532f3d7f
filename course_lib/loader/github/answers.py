"""Answers: what a server sends goes in, and no more of it than a limit comes out, whole.

httpx would decode whatever a server says that it packed, however often: here an answer may be
packed once or not at all.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import httpx

from course_lib.addresses import printable, shown
from course_lib.loader.github.errors import AnswerError, TooLongError
from course_lib.loader.github.waiting import Wait, wait_after

JSON = "application/vnd.github+json"
RAW = "application/vnd.github.raw+json"

PATIENCE_SECONDS, SLOWEST_BYTES_A_SECOND = 60, 1_000
"""A server that sends byte after byte would keep us forever: no read takes long, but all do."""


@dataclass(frozen=True)
class Answer:
    """What came back, whole."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @cached_property
    def value(self) -> Any:
        """What the JSON says."""
        try:
            return json.loads(self.body)
        except RecursionError:
            raise AnswerError(
                f"{shown(self.url)} answered with lists inside lists without end",
                hint="Check GITHUB_API_URL.",
            ) from None

    @property
    def message(self) -> str:
        """What an error says in its JSON; nothing where it has none."""
        try:
            message = self.value.get("message")
        except (ValueError, AttributeError, AnswerError):
            return ""
        return printable(message or "")

    def wait(self, attempt: int = 0) -> Wait | None:
        """Return how long to wait before another attempt; None if there is no need of one."""
        if self.status < 400:
            return None
        return wait_after(self.status, self.headers, self.message, attempt)


def bounded(parts: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Yield the parts of an answer, up to the limit.

    Raises
    ------
    TooLongError
        If there are more bytes than the limit.
    OSError
        If they come too slowly.

    Examples
    --------
    >>> b"".join(bounded([b"ab", b"cd"], most=4))
    b'abcd'
    """
    size, begin = 0, time.monotonic()
    for part in parts:
        size += len(part)
        if size > most:
            raise TooLongError(
                f"the answer is longer than {most:,} bytes",
                hint="Check GITHUB_API_URL. A repository as large as that can be cloned and read "
                "with `course ingest`.",
            )
        if time.monotonic() - begin > PATIENCE_SECONDS + size / SLOWEST_BYTES_A_SECOND:
            raise OSError("the answer comes too slowly")
        yield part


def read_answer(
    url: str,
    response: httpx.Response,
    most_bytes: int,
    unpack: Callable[[Iterator[bytes]], None] | None,
) -> Answer:
    """Read an answer, or let `unpack` read a good one.

    Raises
    ------
    AnswerError
        If it is a page for people, too long, or packed in another way than we asked for.
    OSError
        If it is not whole.
    """
    headers = {name.lower(): value for name, value in response.headers.items()}
    packed = headers.get("content-encoding", "identity").strip().lower()
    if response.status_code == 200:
        accept = response.request.headers["accept"]
        if "html" in headers.get("content-type", "") and accept != "*/*":
            raise AnswerError(
                f"{shown(url)} answered with a page in HTML, not with data",
                hint="Check GITHUB_API_URL; a network that asks you to sign in answers like this, "
                "too.",
            )
    if packed not in {"identity", "gzip"}:
        raise AnswerError(
            f"{shown(url)} answered in the encoding {packed[:40]!r}, which was not asked for",
            hint="Check GITHUB_API_URL, and whether a proxy is in between.",
        )
    if unpack and response.status_code == 200:
        unpack(bounded(response.iter_raw(), most_bytes))
        return Answer(url, 200, headers, b"")
    body = b"".join(bounded(response.iter_bytes(), most_bytes))
    return Answer(url, response.status_code, headers, body)
