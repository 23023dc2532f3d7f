"""Descriptions from a language model at any OpenAI-compatible endpoint.

Packages go in; batches of descriptions come out, until they are all described, the budget of
tokens is used up, or the server will not answer any more. Nothing that was answered is lost.
The `openai` package asks, tenacity asks again. Nothing that a server says about a refused request
is shown but its code: the sentence may repeat the key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from time import sleep
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt

from course_lib.addresses import shown
from course_lib.xray.descriptions import DescriberStoppedError, Descriptions, clean
from course_lib.xray.packages import Package

PATIENCE = 60.0
"""Seconds that a server may ask us to wait; if it asks for more, another run asks it again."""

NEVER = ("InvalidURL", "LocalProtocolError", "UnicodeEncodeError", "UnsupportedProtocol")
"""Errors over an address or a key that cannot be one; what they say would show it."""

NO_QUOTA = ("insufficient_quota", "billing_hard_limit_reached")
ATTEMPTS = 4
"""How often a request is made, at most, if the server is busy or silent."""

TIMEOUT_SECONDS = 60.0
"""For the server to send the next piece of an answer."""

BATCH = 20
"""Packages in a request."""

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

    Attributes
    ----------
    spent
        Tokens used until now, as the server counted them.
    """

    def __init__(
        self, url: str, model: str, *, api_key: str = "", token_budget: int = 50_000
    ) -> None:
        self.url = url.rstrip("/")
        self.model = model
        self.token_budget = token_budget
        self.spent = 0
        self._api_key = api_key

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
                    hint="Scan again for the rest.",
                )
            answer = self._ask(request)
            try:
                text = str(answer.choices[0].message.content or "")
            except (AttributeError, IndexError, TypeError):
                text = ""  # `openai` lets an answer of another form pass
            counted = getattr(getattr(answer, "usage", None), "total_tokens", None)
            self.spent += counted or _estimate(request) + len(text) // 3
            if found := _read_answer(text, batch):
                yield found

    def _batches(self, packages: Sequence[Package]) -> Iterator[list[Package]]:
        for language in dict.fromkeys(one.language for one in packages):
            some = [one for one in packages if one.language == language]
            for at in range(0, len(some), BATCH):
                yield some[at : at + BATCH]

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
        import openai

        from course_lib.embedder.remote import error_code, http_client

        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=_pause,
            retry=retry_if_exception(_is_busy),
            sleep=sleep,
            reraise=True,
        )
        try:
            with openai.OpenAI(
                api_key=self._api_key or "none",
                base_url=self.url,
                timeout=TIMEOUT_SECONDS,
                max_retries=0,
                http_client=http_client(follow_redirects=False),
            ) as client:
                return retrying(client.chat.completions.create, **request)
        except Exception as error:  # also the HTTP client's own, while an answer is read
            status, code = getattr(error, "status_code", None), error_code(error)
            if _is_busy(error):
                reason = f"status {status}" if status else _kind_of(error)
                said = f"did not answer in {ATTEMPTS} attempts: {reason}"
                hint = "Scan again later for the rest."
            elif status is None:
                said = f"cannot be asked: {_kind_of(error)}"
                hint = "Check the address and the key."
            elif status == 429:
                said = f"has no quota left: {code or f'come back in {_named_wait(error):.0f} s'}"
                hint = "Scan again when it has."
            else:
                said = f"refuses the request: status {status} {code}".rstrip()
                hint = "Check the address, the name of the model and the key."
            where = shown(self.url) or "the endpoint"
            raise DescriberStoppedError(f"{where} {said}", hint=hint) from None


def _is_busy(error: BaseException) -> bool:
    """Return whether the server may answer if it is asked again."""
    from course_lib.embedder.remote import error_code

    status = getattr(error, "status_code", None)
    if status is None:
        return isinstance(error, Exception) and _kind_of(error) not in NEVER
    if status == 429:
        # A quota that is used up is a 429 as well, and no patience helps against it.
        return error_code(error) not in NO_QUOTA and (_named_wait(error) or 0) <= PATIENCE
    return status in (408, 409, 425) or status >= 500


def _pause(state: RetryCallState) -> float:
    """Return how long to wait: as long as the server said, or 1, 2, 4, … seconds."""
    named = _named_wait(state.outcome.exception()) if state.outcome else None
    return min(PATIENCE, 2.0 ** (state.attempt_number - 1) if named is None else named)


def _named_wait(error: object) -> float | None:
    """Return for how many seconds a server wants to be left alone, if it gives a number."""
    headers = error.response.headers if hasattr(error, "response") else {}
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None


def _kind_of(error: BaseException) -> str:
    return type(error.__cause__ or error).__name__


def _estimate(request: dict[str, Any]) -> int:
    """Return tokens of a request, rather too many than too few: names have short word pieces."""
    return sum(len(message["content"]) for message in request["messages"]) // 3 + 20


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
