"""Answers: what a server sends goes in, and no more of it than a limit comes out, whole.

httpx would decode whatever a server says that it packed, however often. Here an answer is packed
once or not at all, and unpacked no further than its limit.
"""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any, cast

import httpx

from course_lib.loader.github.errors import AnswerError, TooLongError
from course_lib.loader.github.names import shown
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
        return "".join(c for c in str(message or "") if c.isprintable())[:300]

    def wait(self, attempt: int = 0) -> Wait | None:
        """Return how long to wait before another attempt; None if there is no need of one."""
        if self.status < 400:
            return None
        return wait_after(self.status, self.headers, self.message, attempt)


class Body:
    """The bytes of an answer as a file, which ends in an error where there are too many.

    Examples
    --------
    >>> body = Body(iter([b"ab", b"cd"]), most=4)
    >>> body.read(3), body.read(3), body.read(3)
    (b'abc', b'd', b'')
    """

    def __init__(self, parts: Iterator[bytes], most: int) -> None:
        self._parts = parts
        self._most = self._left = most
        self._kept = bytearray()
        self._begin = time.monotonic()

    def read(self, size: int) -> bytes:
        """Return so many bytes, or fewer at the end."""
        while len(self._kept) < size and (part := next(self._parts, b"")):
            self._left -= len(part)
            if self._left < 0:
                raise _too_long(self._most)
            seconds = time.monotonic() - self._begin
            if seconds > PATIENCE_SECONDS + (self._most - self._left) / SLOWEST_BYTES_A_SECOND:
                raise OSError("the answer comes too slowly")
            self._kept += part
        found = bytes(self._kept[:size])
        del self._kept[:size]
        return found


def read_answer(
    url: str,
    response: httpx.Response,
    most_bytes: int,
    unpack: Callable[[Body], None] | None,
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
    stream = Body(response.iter_raw(), most_bytes)
    if unpack and response.status_code == 200:
        unpack(stream)
        return Answer(url, 200, headers, b"")
    try:
        source = gzip.GzipFile(fileobj=cast("IO[bytes]", stream)) if packed == "gzip" else stream
        body = source.read(most_bytes + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise OSError(f"{type(error).__name__}: {error}") from None
    if len(body) > most_bytes:
        raise _too_long(most_bytes)
    return Answer(url, response.status_code, headers, body)


def _too_long(most: int) -> TooLongError:
    return TooLongError(
        f"the answer is longer than {most:,} bytes",
        hint="Check GITHUB_API_URL. A repository as large as that can be cloned and read with "
        "`course ingest`.",
    )
