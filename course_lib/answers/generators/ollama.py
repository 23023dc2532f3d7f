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
from typing import Any, NoReturn

import httpx2

from course_lib.addresses import is_local, printable, shown
from course_lib.answers.generators.base import (
    GenerationError,
    Request,
    check_address,
    without_login,
)
from course_lib.answers.generators.thinking import answer_only
from course_lib.answers.tokens import resolve_context_window
from course_lib.embedder.remote import http_client

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
    GenerationError
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
            self._unreachable(error)
        if response.status_code == 404:
            self._refused(response.status_code, "")
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
                    self._refused(response.status_code, _said(response.text))
                yield from self._events(response, request)
        except httpx2.RequestError as error:
            self._unreachable(error)

    def _events(self, response: httpx2.Response, request: Request) -> Iterator[tuple[str, str]]:
        for line in filter(bytes.strip, _lines(response)):
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                event = None
            if not isinstance(event, dict):
                raise GenerationError(
                    f"{shown(self.url)} sent something that is not Ollama's",
                    hint=f"Is OLLAMA_URL the address of Ollama? {OTHER_WAYS}",
                )
            if "error" in event:
                raise GenerationError(
                    f"{self.model} broke off: {printable(event['error'])}",
                    hint=f"`ollama ps` and its log say more. {OTHER_WAYS}",
                )
            message = event.get("message")
            if isinstance(message, dict):
                yield str(message.get("thinking") or ""), str(message.get("content") or "")
            if event.get("done"):
                if event.get("done_reason") == "length":
                    request.notes.append(
                        f"the answer was cut off after {request.max_output} tokens"
                    )
                return
        raise GenerationError(
            f"the answer of {shown(self.url)} broke off", hint=f"Ask again. {OTHER_WAYS}"
        )

    def _client(self) -> httpx2.Client:
        return http_client(
            follow_redirects=False,
            timeout=httpx2.Timeout(self._timeout, connect=min(self._timeout, CONNECT_PATIENCE)),
            auth=self._login,
            trust_env=not is_local(self.url),
        )

    def _unreachable(self, error: httpx2.RequestError) -> NoReturn:
        where = shown(self.url)
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            raise GenerationError(
                f"there is no Ollama at {where}",
                hint=f"Start it (`ollama serve`), or correct OLLAMA_URL. {OTHER_WAYS}",
            ) from None
        if isinstance(error, httpx2.TimeoutException):
            raise GenerationError(
                f"{where} did not go on with its answer for {self._timeout:g} s",
                hint=f"Raise RAG_GENERATOR_TIMEOUT, or take a smaller model. {OTHER_WAYS}",
            ) from None
        raise GenerationError(
            f"the answer of {where} broke off ({type(error).__name__})",
            hint=f"Ask again. {OTHER_WAYS}",
        ) from None

    def _refused(self, status: int, said: str) -> NoReturn:
        where = shown(self.url)
        if status == 404:
            raise GenerationError(
                f"{where} has no model {self.model!r}",
                hint=f"Fetch it (`ollama pull {self.model}`), or name one that `ollama list` shows "
                f"as RAG_OLLAMA_MODEL or --model. {OTHER_WAYS}",
            )
        if status in (429, 503):
            raise GenerationError(
                f"{where} is busy (status {status})", hint=f"Ask again in a moment. {OTHER_WAYS}"
            )
        raise GenerationError(
            f"{where} refuses the request: status {status} {said}".rstrip(),
            hint=f"Its log says more. {OTHER_WAYS}",
        )


def server_address(url: str) -> str:
    """Return the address of a server; many programs are given one of its endpoints instead.

    Raises
    ------
    GenerationError
        If the URL is not an address.

    Examples
    --------
    >>> server_address("http://localhost:11434/api/generate")
    'http://localhost:11434'
    """
    address = check_address(url, "OLLAMA_URL")
    return re.sub(r"/(api(/(generate|chat|tags|show))?|v1)$", "", address)


def models_at(url: str) -> list[str]:
    """Return the models that a running Ollama has; none if it does not answer within two seconds.

    Raises
    ------
    GenerationError
        If the URL is not an address.
    """
    address, login = without_login(server_address(url))
    try:
        options = {"timeout": 2.0, "auth": login, "trust_env": not is_local(address)}
        with http_client(follow_redirects=False, **options) as client:
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
