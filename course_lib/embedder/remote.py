"""Servers that run models: the client that asks them, and what their refusals mean.

The client reads so much of an answer and no more. What a server says about a refused request is
shown, without the key; of a refused key, only the code is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import httpx2  # which `openai` asks with

from course_lib.addresses import printable

if TYPE_CHECKING:
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


def http_client(*, follow_redirects: bool = True, **options: Any) -> httpx2.Client:
    """Return a client that takes no packed answer and none over `MOST_BYTES`.

    Parameters
    ----------
    follow_redirects
        Whether the address that a server names instead is asked.
    options
        Others of `httpx2.Client`, such as whether a proxy that the environment names is used.

    Examples
    --------
    >>> with http_client(trust_env=False) as client:
    ...     client.headers["accept-encoding"]
    'identity'
    """
    return httpx2.Client(
        follow_redirects=follow_redirects,
        headers={"accept-encoding": "identity"},
        event_hooks={"response": [_bound]},
        **options,
    )


def refusal(
    error: openai.OpenAIError, where: str, model: str, setting: str, seconds: float, key: str
) -> tuple[str, str]:
    """Return what went wrong with a request in OpenAI's protocol, and what to do.

    Parameters
    ----------
    error
        The package's error.
    where
        The server's address.
    model
        What was asked for.
    setting
        Where the model is named.
    seconds
        How long was waited.
    key
        The key, which is not shown.
    """
    import openai

    status, code = getattr(error, "status_code", 0), error_code(error)
    sentence = "" if status in (401, 403) else server_said(getattr(error, "body", None), key)
    said = f"status {status} {code}".rstrip() + (f": {sentence}" if sentence else "")
    if isinstance(error, openai.APITimeoutError):
        hint = "Ask again later; for an answer, RAG_GENERATOR_TIMEOUT can be raised."
        return f"{where} did not answer within {seconds:g} s", hint
    if isinstance(error, openai.APIConnectionError):
        return f"{where} cannot be reached", "Check the connection and OPENAI_BASE_URL."
    if not status:
        return f"the answer of {where} broke off ({sentence or code})", "Ask again."
    if status in (401, 403):
        message, hint = "refuses the key", "Check OPENAI_API_KEY, and what the key may do."
    elif status == 404:
        message, hint = f"has no model {model!r}", f"Correct {setting}, or OPENAI_BASE_URL."
    elif code == "insufficient_quota":
        message, hint = "says that the quota of the key is used up", "Add to the account."
    elif code == "context_length_exceeded":
        message = f"says that the prompt is longer than {model} takes"
        hint = "Raise RAG_SAFETY_MARGIN_TOKENS, or lower RAG_CONTEXT_WINDOW or --top-k."
    elif status == 429:
        message, hint = "takes no more requests for now", "Wait a minute and ask again."
    elif status >= 500:
        message, hint = "has a problem of its own", "Ask again later."
    else:
        message, hint = "refuses the request", f"Check {setting} and OPENAI_BASE_URL."
    return f"{where} {message} ({said})", hint


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
