"""Ollama: a prompt goes to a server on one's own machine, the answer comes back line by line.

Its API streams JSON objects, one a line. An error in the middle of an answer is such a line, too,
because the status has been sent by then. (The package `ollama` is not used: it breaks off at an
answer with the character U+0085, where it cuts the line.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

import httpx2

from course_lib.addresses import (
    OWN_CERTIFICATE,
    http_address,
    is_distrust,
    printable,
    shown,
)
from course_lib.answers.generators.base import (
    GenerationError,
    Request,
    without_login,
)
from course_lib.answers.generators.thinking import answer_only
from course_lib.answers.tokens import resolve_context_window
from course_lib.embedder.remote import http_client

PORT = 11434
CONNECT_PATIENCE = 10.0
"""Seconds until a server has to take the connection."""

OTHER_WAYS = "Or answer without it: --backend extractive."


class Ollama:
    """A model that an Ollama server runs.

    Parameters
    ----------
    url
        The server, such as ``http://localhost:11434``.
    model
        A model that it has.
    timeout
        Seconds to wait for the next piece of an answer; the first one includes loading the model.
    margin
        Tokens of the window that stay free.
    window
        Tokens that the model takes; None asks the server.
    think
        Whether the model may think before it answers; None leaves that to the server.

    Raises
    ------
    InputError
        If the URL is not an address.
    """

    name = "ollama"
    needs_prompt = True

    def __init__(
        self,
        url: str = "http://localhost:11434",
        model: str = "llama3",
        *,
        timeout: float = 120.0,
        margin: int = 512,
        window: int | None = None,
        think: bool | None = None,
    ) -> None:
        self.url, self._login = without_login(server_address(url))
        self.model = model
        self.margin = margin
        self._timeout = timeout
        self._given_window = window
        self._think = think

    @cached_property
    def window(self) -> int:
        """Tokens that the model takes, as the server says; else as is known of its name."""
        if self._given_window is not None:
            return self._given_window
        try:
            with self._client() as client:
                response = client.post(f"{self.url}/api/show", json={"model": self.model})
        except httpx2.RequestError as error:
            raise self._unreachable(error) from None
        if response.status_code == 404:
            raise self._refused(response.status_code, "")
        try:
            info = response.json()["model_info"]
            length = next(info[key] for key in info if key.endswith(".context_length"))
        except (ValueError, LookupError, TypeError, StopIteration):
            length = None
        is_given = isinstance(length, int) and length > 0
        return resolve_context_window(self.model, given=length if is_given else None)

    def stream(self, request: Request) -> Iterator[str]:
        """Yield the pieces of the answer; see `Generator.stream`."""
        return answer_only(self._pieces(request), request, self.model, OTHER_WAYS)

    def _pieces(self, request: Request) -> Iterator[tuple[str, str]]:
        body = {
            "model": self.model,
            "messages": request.prompt.messages,
            "stream": True,
            "options": {
                "temperature": 0,
                "num_predict": request.max_output,
                # Without it the server reads 2,048 to 4,096 tokens, and cuts off the beginning.
                "num_ctx": request.window,
            },
        }
        if self._think is not None:
            body["think"] = self._think
        try:
            with (
                self._client() as client,
                client.stream("POST", f"{self.url}/api/chat", json=body) as response,
            ):
                if response.status_code != 200:
                    response.read()
                    raise self._refused(response.status_code, _said(response.text))
                yield from self._events(response, request)
        except httpx2.RequestError as error:
            raise self._unreachable(error) from None

    def _events(self, response: httpx2.Response, request: Request) -> Iterator[tuple[str, str]]:
        for line in filter(bytes.strip, _lines(response)):
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                event = None
            if not isinstance(event, dict):
                raise _error(
                    f"{shown(self.url)} sent something that is not Ollama's",
                    "Is OLLAMA_URL the address of Ollama?",
                )
            if "error" in event:
                said = printable(event["error"])
                raise _error(f"{self.model} broke off: {said}", "`ollama ps` and its log say more.")
            message = event.get("message")
            if isinstance(message, dict):
                yield str(message.get("thinking") or ""), str(message.get("content") or "")
            if event.get("done"):
                if event.get("done_reason") == "length":
                    request.notes.append(
                        f"the answer was cut off after {request.max_output} tokens"
                    )
                return
        raise _error(f"the answer of {shown(self.url)} broke off", "Ask again.")

    def _client(self) -> httpx2.Client:
        return http_client(
            self.url,
            follow_redirects=False,
            timeout=httpx2.Timeout(self._timeout, connect=min(self._timeout, CONNECT_PATIENCE)),
            auth=self._login,
        )

    def _unreachable(self, error: httpx2.RequestError) -> GenerationError:
        where = shown(self.url)
        if is_distrust(error):
            return _error(f"{where} has a certificate that is not trusted", OWN_CERTIFICATE)
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            hint = "Start it (`ollama serve`), or correct OLLAMA_URL."
            return _error(f"there is no Ollama at {where}", hint)
        if isinstance(error, httpx2.TimeoutException):
            return _error(
                f"{where} did not go on with its answer for {self._timeout:g} s",
                "Raise RAG_GENERATOR_TIMEOUT, or take a smaller model.",
            )
        return _error(f"the answer of {where} broke off ({type(error).__name__})", "Ask again.")

    def _refused(self, status: int, said: str) -> GenerationError:
        where = shown(self.url)
        if status == 404:
            return _error(
                f"{where} has no model {self.model!r}",
                f"Fetch it (`ollama pull {self.model}`), or name one that `ollama list` shows as "
                "RAG_OLLAMA_MODEL or --model.",
            )
        if status in (429, 503):
            return _error(f"{where} is busy (status {status})", "Ask again in a moment.")
        message = f"{where} refuses the request: status {status} {said}".rstrip()
        return _error(message, "Its log says more.")


def _error(message: str, hint: str) -> GenerationError:
    return GenerationError(message, hint=f"{hint} {OTHER_WAYS}")


def server_address(url: str) -> str:
    """Return the address of a server; many programs are given one of its endpoints instead.

    A host alone gets Ollama's port, as in Ollama's own OLLAMA_HOST.

    Raises
    ------
    InputError
        If the URL is not an address.

    Examples
    --------
    >>> server_address("http://localhost:11434/api/generate")
    'http://localhost:11434'
    >>> server_address("0.0.0.0")
    'http://0.0.0.0:11434'
    """
    address = http_address(url, "OLLAMA_URL")
    address = re.sub(r"/(api(/(generate|chat|tags|show))?|v1)$", "", address)
    is_bare = "://" not in url and not urlsplit(address).path and not urlsplit(address).port
    return f"{address}:{PORT}" if is_bare else address


def models_at(url: str) -> list[str]:
    """Return the models that a running Ollama has; none if it does not answer within two seconds.

    Raises
    ------
    InputError
        If the URL is not an address, or the environment names a proxy that cannot be used.
    """
    address, login = without_login(server_address(url))
    try:
        with http_client(address, follow_redirects=False, timeout=2.0, auth=login) as client:
            listed = client.get(f"{address}/api/tags").json()["models"]
        return [str(one["name"]) for one in listed]
    except (httpx2.HTTPError, ValueError, KeyError, TypeError, RecursionError):
        return []


def _lines(response: httpx2.Response) -> Iterator[bytes]:
    """Yield the lines of a stream, which only a line feed ends."""
    rest = b""
    for part in response.iter_bytes():
        *lines, rest = (rest + part).split(b"\n")
        yield from lines
    yield rest


def _said(text: str) -> str:
    try:
        answer: Any = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return printable(answer.get("error", "")) if isinstance(answer, dict) else ""
