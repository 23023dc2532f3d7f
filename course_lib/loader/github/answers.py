"""Answers: what a server sends goes in, and no more of it than a limit comes out, whole."""

from __future__ import annotations

import json
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


@dataclass(frozen=True)
class Response:
    """What came back, whole."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @cached_property
    def value(self) -> Any:
        """What the JSON says."""
        return json.loads(self.body)

    @property
    def message(self) -> str:
        """What an error says in its JSON; nothing where it has none."""
        try:
            message = self.value.get("message")
        except (ValueError, AttributeError):
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

    Examples
    --------
    >>> b"".join(bounded([b"ab", b"cd"], most=4))
    b'abcd'
    """
    size = 0
    for part in parts:
        size += len(part)
        if size > most:
            raise TooLongError(
                f"the answer is longer than {most:,} bytes",
                hint="Check GITHUB_API_URL. A repository as large as that can be cloned and read "
                "with `course ingest`.",
            )
        yield part


def read_answer(
    url: str,
    response: httpx.Response,
    most_bytes: int,
    unpack: Callable[[Iterator[bytes]], None] | None,
) -> Response:
    """Read an answer, or let `unpack` read a good one.

    Raises
    ------
    AnswerError
        If it is a page for people, or too long.
    OSError
        If it is not whole.
    """
    headers = {name.lower(): value for name, value in response.headers.items()}
    if response.status_code == 200:
        accept = response.request.headers["accept"]
        if "html" in headers.get("content-type", "") and accept != "*/*":
            raise AnswerError(
                f"{shown(url)} answered with a page in HTML, not with data",
                hint="Check GITHUB_API_URL; a network that asks you to sign in answers like this, "
                "too.",
            )
    if unpack and response.status_code == 200:
        unpack(bounded(response.iter_raw(), most_bytes))
        return Response(url, 200, headers, b"")
    body = b"".join(bounded(response.iter_bytes(), most_bytes))
    return Response(url, response.status_code, headers, body)
