"""Descriptions from a language model at any OpenAI-compatible endpoint.

Packages go in; batches of descriptions come out, until they are all described, the budget of
tokens is used up, or the server will not answer any more. Nothing that was answered is lost.
The `openai` package asks, tenacity asks again. Nothing that a server says about a refused request
is shown but its code: the sentence may repeat the key.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NoReturn

import httpx
from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt

from course_lib.xray.descriptions import DescriberStoppedError, Descriptions, clean
from course_lib.xray.packages import Package

if TYPE_CHECKING:
    import openai

PATIENCE = 60.0
"""Seconds that a server may ask us to wait; if it asks for more, another run asks it again."""

LARGEST = 10_000_000
"""Bytes of an answer that are read."""

NEVER = ("InvalidURL", "LocalProtocolError", "UnicodeEncodeError", "UnsupportedProtocol")
"""Errors over an address or a key that cannot be one; what they say would show it."""

TOKENS_OF_AN_ANSWER = 60
"""Tokens that one description may take, with its name and its braces."""

_SYSTEM = (
    "You describe software packages for programmers. For each package answer with one line of "
    'JSON, {"name": "…", "description": "…"}, and nothing else. A description says in at most 20 '
    "words what the package is used for. Leave out packages that you do not know."
)


class EndpointDescriber:
    """Asks a language model what packages do.

    Parameters
    ----------
    url
        The API's address, such as ``http://localhost:11434/v1`` (Ollama).
    model
        A model of that server.
    api_key
        Sent as a bearer token; never shown.
    token_budget
        Tokens of questions and answers together, for the life of this object.
    batch_size
        Packages in a request.
    timeout
        Seconds that an answer may take, from the request to its last byte.
    attempts
        How often a request is made, at most, if the server is busy or silent.
    sleep
        Waits some seconds.

    Attributes
    ----------
    spent
        Tokens used until now, as the server counted them.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str = "",
        token_budget: int = 50_000,
        batch_size: int = 20,
        timeout: float = 60.0,
        attempts: int = 4,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self.model = model
        self.token_budget = token_budget
        self.batch_size = batch_size
        self.attempts = attempts
        self.timeout = timeout
        self.spent = 0
        self._api_key = api_key
        self._sleep = sleep

    def describe(self, packages: Sequence[Package]) -> Iterator[Descriptions]:
        """Yield descriptions, one batch a request; a batch is of one language.

        Raises
        ------
        DescriberStoppedError
            If the budget or the server's quota is used up, the server stays busy or silent, or
            refuses the request.
        """
        for batch in self._batches(packages):
            request = self._request(batch)
            dearest = _estimate(request) + request["max_tokens"]
            if self.spent + dearest > self.token_budget:
                raise DescriberStoppedError(
                    f"{self.spent} of {self.token_budget} tokens are used, and the next "
                    f"request may take {dearest}",
                    hint="Run `course xray backfill` for the rest.",
                )
            answer = self._ask(request)
            text = str(_part(answer, "choices", 0, "message", "content") or "")
            counted = _part(answer, "usage", "total_tokens")
            if not isinstance(counted, int) or counted <= 0:
                counted = _estimate(request) + len(text) // 3
            self.spent += counted
            if found := _read_answer(text, batch):
                yield found

    def _batches(self, packages: Sequence[Package]) -> Iterator[list[Package]]:
        for language in dict.fromkeys(one.language for one in packages):
            some = [one for one in packages if one.language == language]
            for at in range(0, len(some), self.batch_size):
                yield some[at : at + self.batch_size]

    def _request(self, batch: Sequence[Package]) -> dict[str, Any]:
        names = "\n".join(f"{one.name} {one.version}".rstrip() for one in batch)
        return {
            "model": self.model,
            "temperature": 0,
            "max_tokens": TOKENS_OF_AN_ANSWER * len(batch),
            "messages": [
                {"role": "system", "content": _SYSTEM},
                {"role": "user", "content": f"Packages for {batch[0].language}:\n{names}"},
            ],
        }

    def _ask(self, request: dict[str, Any]) -> Any:
        retrying = Retrying(
            stop=stop_after_attempt(self.attempts),
            wait=_pause,
            retry=retry_if_exception_type(_BusyError),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(self._post, request)
        except _BusyError as error:
            raise DescriberStoppedError(
                f"{self._where} did not answer in {self.attempts} attempts: {error}",
                hint="Run `course xray backfill` later for the rest.",
            ) from error

    def _post(self, request: dict[str, Any]) -> Any:
        import openai

        from course_lib.embedder.remote import http_client

        end = time.monotonic() + self.timeout
        try:
            with openai.OpenAI(
                api_key=self._api_key or "none",
                base_url=self.url,
                timeout=self.timeout,
                max_retries=0,
                http_client=http_client(follow_redirects=False),
            ) as client:
                completions = client.chat.completions.with_streaming_response
                with completions.create(**request) as response:
                    body = _read(response.iter_bytes(), end)
            return json.loads(body)
        except openai.APIStatusError as error:
            self._refuse(error)
        except _BusyError:
            raise
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _BusyError("its answer is not JSON") from error
        except Exception as error:  # also the HTTP client's own, while an answer is read
            reason = type(error.__cause__ or error).__name__
            if reason not in NEVER:
                raise _BusyError(reason) from error
            raise DescriberStoppedError(
                f"{self._where} cannot be asked: {reason}", hint="Check the address and the key."
            ) from None

    def _refuse(self, error: openai.APIStatusError) -> NoReturn:
        status, code = error.status_code, _error_code(error)
        wait = _retry_after(error.response.headers.get("retry-after", ""))
        # A quota that is used up is a 429 as well, and no patience helps against it.
        if status == 429 and (
            code in ("insufficient_quota", "billing_hard_limit_reached") or (wait or 0) > PATIENCE
        ):
            raise DescriberStoppedError(
                f"{self._where} has no quota left: {code or f'come back in {wait:.0f} s'}",
                hint="Run `course xray backfill` when it has.",
            ) from None
        if status in (408, 409, 425, 429) or status >= 500:
            raise _BusyError(f"status {status}", wait) from None
        raise DescriberStoppedError(
            f"{self._where} refuses the request: status {status} {code}".rstrip(),
            hint="Check the address, the name of the model and the key.",
        ) from None

    @property
    def _where(self) -> str:
        """The server, without a name, password or query that its address may hold."""
        try:
            url = httpx.URL(self.url).copy_with(username=None, password=None, query=None)
        except httpx.InvalidURL:
            return "the endpoint"
        return str(url) or "the endpoint"


def _read(pieces: Iterable[bytes], end: float) -> bytes:
    """Return the whole answer, unless it takes too long: the client only limits each pause."""
    body = bytearray()
    for piece in pieces:
        body += piece
        if time.monotonic() > end or len(body) > LARGEST:
            raise _BusyError("its answer takes too long or is too large")
    return bytes(body)


class _BusyError(Exception):
    """The server may answer if it is asked again, after a pause that it may have named."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


def _pause(state: RetryCallState) -> float:
    """Return how long to wait: as long as the server said, or 1, 2, 4, … seconds."""
    error = state.outcome.exception() if state.outcome else None
    named = error.wait if isinstance(error, _BusyError) else None
    return min(PATIENCE, 2.0 ** (state.attempt_number - 1) if named is None else named)


def _retry_after(value: str) -> float | None:
    """Return the seconds that a server wants to be left alone: it gives a number or a moment."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _error_code(error: openai.APIStatusError) -> str:
    """Return the error's code, if it looks like one: its message may repeat the key."""
    code = error.code or error.type or ""
    return code if isinstance(code, str) and len(code) < 60 and code.isidentifier() else ""


def _estimate(request: dict[str, Any]) -> int:
    """Return tokens of a request, rather too many than too few: names have short word pieces."""
    return sum(len(message["content"]) for message in request["messages"]) // 3 + 20


def _part(answer: Any, *path: str | int) -> Any:
    """Return what is at a path of an answer; None where there is nothing.

    Examples
    --------
    >>> _part({"usage": {"total_tokens": 7}}, "usage", "total_tokens"), _part([], "usage")
    (7, None)
    """
    try:
        for step in path:
            answer = answer[step]
    except (KeyError, IndexError, TypeError):
        return None
    return answer


def _read_answer(text: str, batch: Sequence[Package]) -> Descriptions:
    """Return the descriptions in an answer, of packages that were asked for.

    An object that was cut off by the limit, and what models like to add around them, is left out.
    """
    asked = {one.name: one for one in batch}
    found: Descriptions = {}
    for raw in re.findall(r"\{[^{}]*\}", text):
        try:
            row = json.loads(raw)
            package, description = asked.get(row["name"]), clean(row["description"])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        if package is not None and description:
            found[package] = description
    return found
