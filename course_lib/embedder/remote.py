"""Servers that run models: the client that asks them, and what may be shown of their refusals.

The client reads so much of an answer and no more. What a server says is shown without the key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2  # which `openai` asks with

from course_lib.addresses import explained, printable, way_to

OPENAI = "https://api.openai.com/v1"
"""The server that OPENAI_BASE_URL replaces."""

MOST_BYTES = 30_000_000
"""Of an answer, however the server sends it: a hundred thousand tokens as events, or vectors."""


class _Bounded(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > MOST_BYTES:
                raise httpx2.ReadError(f"more than {MOST_BYTES // 1_000_000} MB")
            yield part

    def close(self) -> None:
        self._stream.close()


def _bound(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        # 5 kB can unpack to gigabytes; nobody asked for that.
        raise httpx2.DecodingError("a packed answer", request=response.request)
    assert isinstance(response.stream, httpx2.SyncByteStream)
    response.stream = _Bounded(response.stream)


def http_client(address: str, *, follow_redirects: bool = True, **options: Any) -> httpx2.Client:
    """Return a client that takes no packed answer and none over `MOST_BYTES`.

    Parameters
    ----------
    address
        Of the server that is asked.
    follow_redirects
        Whether the address that a server names instead is asked.
    options
        Others of `httpx2.Client`, such as `timeout`.

    Raises
    ------
    InputError
        If the environment names a proxy or certificates that cannot be used.

    Examples
    --------
    >>> with http_client("http://localhost:11434") as client:
    ...     client.headers["accept-encoding"]
    'identity'
    """
    with explained():
        return httpx2.Client(
            follow_redirects=follow_redirects,
            headers={"accept-encoding": "identity"},
            event_hooks={"response": [_bound]},
            **way_to(address),
            **options,
        )


def server_said(error: object, key: str) -> str:
    """Return the sentence in what a server sends as an error, on one line and without the key.

    Examples
    --------
    >>> server_said({"message": "no room for sk-1"}, "sk-1")
    'no room for [key]'
    """
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or ""
    said = str(error or "")
    return printable(said.replace(key, "[key]") if key else said)


def error_code(error: BaseException) -> str:
    """Return an error's code, if it looks like one, or what kind of error it is."""
    code = getattr(error, "code", None) or getattr(error, "type", None)
    if isinstance(code, str) and len(code) < 60 and code.isidentifier():
        return code
    return "" if hasattr(error, "status_code") else type(error).__name__
