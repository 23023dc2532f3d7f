"""The HTTP client with which servers that run models are asked: it reads so much and no more."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2  # which `openai` asks with
import openai

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


def http_client(*, trust_env: bool = True, follow_redirects: bool = True) -> httpx2.Client:
    """Return a client for `openai.OpenAI` that takes no packed answer and none over `MOST_BYTES`.

    Parameters
    ----------
    trust_env
        Whether a proxy that the environment names is used.
    follow_redirects
        Whether the address that a server names instead is asked.

    Examples
    --------
    >>> with http_client() as client:
    ...     client.headers["accept-encoding"]
    'identity'
    """
    return openai.DefaultHttpxClient(
        trust_env=trust_env,
        follow_redirects=follow_redirects,
        headers={"accept-encoding": "identity"},
        event_hooks={"response": [_bound]},
    )
