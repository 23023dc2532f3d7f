"""Servers that speak OpenAI's protocol: a prompt goes out, the answer comes back as events.

The `openai` package asks them. What a server says about a refused request is shown without the key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, NoReturn

from course_lib.addresses import OWN_CERTIFICATE, http_address, is_distrust, shown
from course_lib.answers.generators.base import (
    GenerationError,
    Request,
    without_login,
)
from course_lib.answers.generators.thinking import answer_only
from course_lib.answers.tokens import resolve_context_window
from course_lib.embedder.remote import OPENAI, error_code, http_client, server_said
from course_lib.errors import CourseError

if TYPE_CHECKING:
    import openai

OTHER_WAYS = "Or answer without it: --backend ollama, or --backend extractive."

NOT_SUPPORTED = re.compile(
    "support|recogni[sz]|unknown|unexpected|permitted|allowed", re.IGNORECASE
)
"""What servers say of a parameter that they do not take, and not of a value that is too large."""


class OpenAICompatible:
    """A model of OpenAI's, or of another server that speaks its protocol.

    Parameters
    ----------
    model
        A model that the server has.
    api_key
        The key; another server than OpenAI's may do without.
    base_url
        The server; None is OpenAI's.
    timeout
        Seconds to wait for the next piece of an answer; None waits without an end.
    margin
        Tokens of the window that stay free.
    window
        Tokens that the model takes; None is what is known of its name.
    retries
        How often a request is sent again that was refused for now (429, 5xx) or got no answer.

    Raises
    ------
    GenerationError
        If there is no key, or one that cannot be a key.
    InputError
        If the URL is not an address.
    """

    name = "openai"
    needs_prompt = True
    other_ways = OTHER_WAYS

    def __init__(
        self,
        model: str = "gpt-4o-mini",
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float | None = 120.0,
        margin: int = 1024,
        window: int | None = None,
        retries: int = 2,
    ) -> None:
        self.url = http_address(base_url or OPENAI, "OPENAI_BASE_URL")
        if without_login(self.url)[1]:
            raise GenerationError(
                "OPENAI_BASE_URL holds a login", hint="The key goes into OPENAI_API_KEY."
            )
        self._key = _checked_key(api_key, is_needed=not base_url)
        self.model = model
        self.margin = margin
        self.window = resolve_context_window(model, given=window)
        self._timeout = timeout
        self._retries = retries
        self._refused: set[str] = set()

    def stream(self, request: Request) -> Iterator[str]:
        """Yield the pieces of the answer; see `Generator.stream`."""
        return answer_only(self._pieces(request), request, self.model, self.other_ways)

    def _pieces(self, request: Request) -> Iterator[tuple[str, str]]:
        """Yield what was thought and what was said, piece by piece."""
        import openai

        has_begun = False
        reason = None
        try:
            with self._client() as client:
                response = self._ask(client, request)
                has_begun = True
                with closing(response.http_response):
                    for choice in self._choices(response):
                        reason = choice.finish_reason or reason
                        said = getattr(choice, "delta", None) or getattr(choice, "message", None)
                        yield _thought(said), _text(getattr(said, "content", None))
        except openai.OpenAIError as error:
            if has_begun and type(error) is openai.APIConnectionError:
                self._broken_off(type(error).__name__)
            message, hint = self._refusal(error)
            raise GenerationError(
                f"{shown(self.url)} {message}", hint=f"{hint} {self.other_ways}"
            ) from None
        except (GeneratorExit, KeyboardInterrupt, CourseError):
            raise
        except Exception as error:
            # The package's HTTP client raises errors of its own while a stream is read, and the
            # package's parser others over what is not an event.
            self._broken_off(type(error).__name__)
        if reason is None:
            self._broken_off("no end")
        if reason == "length":
            request.notes.append(f"the answer was cut off after {request.max_output} tokens")
        if reason == "content_filter":
            request.notes.append("the server's filter cut the answer off")

    def _ask(self, client: openai.OpenAI, request: Request) -> Any:
        """Send the request; once more without each part that the server refuses."""
        import openai

        while True:
            limits: dict[str, Any] = {"max_tokens": request.max_output, "temperature": 0}
            for part in self._refused:
                if limits.pop(part) and part == "max_tokens":
                    limits["max_completion_tokens"] = request.max_output
            try:
                return client.chat.completions.with_raw_response.create(
                    model=self.model,
                    messages=request.prompt.messages,  # type: ignore[arg-type]
                    stream=True,
                    **limits,
                )
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                told = f"{error.param} {error.message}"
                parts = (part for part in ("max_tokens", "temperature") if part in told)
                part = next((part for part in parts if part not in self._refused), "")
                if not part or not NOT_SUPPORTED.search(f"{error.code} {error.message}"):
                    raise
                self._refused.add(part)

    def _choices(self, response: Any) -> Iterator[Any]:
        """Yield the first choice of each event, or of a whole answer in one JSON body."""
        kind = response.headers.get("content-type", "")
        if "html" in kind:
            raise GenerationError(
                f"{shown(self.url)} answered with a web page and not with JSON: "
                "is OPENAI_BASE_URL right?",
                hint=f"It mostly ends with /v1. {OTHER_WAYS}",
            )
        if "json" in kind:
            from openai.types.chat import ChatCompletion

            body = json.loads(response.http_response.read())
            if body.get("error"):
                self._broken_off(server_said(body["error"], self._key))
            yield from ChatCompletion.construct(**body).choices[:1]
            return
        for event in response.parse():
            yield from event.choices[:1]

    def _client(self) -> openai.OpenAI:
        import openai

        return openai.OpenAI(
            api_key=self._key or "none",
            base_url=self.url,
            timeout=self._timeout,
            max_retries=self._retries,
            http_client=http_client(self.url),
        )

    def _refusal(self, error: openai.OpenAIError) -> tuple[str, str]:
        """Return what a server did, and what to do; of a refused key, only the code is shown."""
        import openai

        status, code = getattr(error, "status_code", 0), error_code(error)
        sentence = (
            "" if status in (401, 403) else server_said(getattr(error, "body", None), self._key)
        )
        if isinstance(error, openai.APITimeoutError):
            hint = "Ask again later; for an answer, RAG_GENERATOR_TIMEOUT can be raised."
            return f"did not answer within {self._timeout:g} s", hint
        if is_distrust(error):
            return "has a certificate that is not trusted", OWN_CERTIFICATE
        if isinstance(error, openai.APIConnectionError):
            return "cannot be reached", "Check the connection and OPENAI_BASE_URL."
        if not status:
            return f"broke off ({sentence or code})", "Ask again."
        if status in (401, 403):
            message, hint = "refuses the key", "Check OPENAI_API_KEY, and what the key may do."
        elif status == 404:
            message = f"has no model {self.model!r}"
            hint = "Correct RAG_OPENAI_MODEL or --model, or OPENAI_BASE_URL (…/v1)."
        elif code == "insufficient_quota":
            message, hint = "says that the quota of the key is used up", "Add to the account."
        elif code == "context_length_exceeded":
            message = f"says that the prompt is longer than {self.model} takes"
            hint = "Raise RAG_SAFETY_MARGIN_TOKENS, or lower RAG_CONTEXT_WINDOW or --top-k."
        elif status == 429:
            message, hint = "takes no more requests for now", "Wait a minute and ask again."
        elif status >= 500:
            message, hint = "has a problem of its own", "Ask again later."
        else:
            message = "refuses the request"
            hint = "Check RAG_OPENAI_MODEL or --model and OPENAI_BASE_URL."
        said = f"status {status} {code}".rstrip() + (f": {sentence}" if sentence else "")
        return f"{message} ({said})", hint

    def _broken_off(self, reason: str) -> NoReturn:
        raise GenerationError(
            f"the answer of {shown(self.url)} broke off ({reason})",
            hint=f"Ask again. {self.other_ways}",
        ) from None


def _thought(said: Any) -> str:
    """Return what a server names as thinking; its field has three names."""
    names = ("reasoning_content", "reasoning", "thinking")
    return next((_text(found) for name in names if (found := getattr(said, name, None))), "")


def _text(content: Any) -> str:
    """Return a text; some gateways send it as a list of parts."""
    if isinstance(content, list):
        return "".join(_text(one.get("text")) for one in content if isinstance(one, dict))
    return content if isinstance(content, str) else ""


def _checked_key(key: str | None, *, is_needed: bool) -> str:
    key = (key or "").strip()
    if not key and is_needed:
        raise GenerationError(
            "OPENAI_API_KEY is not set",
            hint="Set it in the environment or in .env, never in a notebook. Another server than "
            f"OpenAI's is named by OPENAI_BASE_URL. {OTHER_WAYS}",
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        # An HTTP client would show it in its error.
        raise GenerationError(
            "OPENAI_API_KEY holds characters that no key has",
            hint="Copy it again, without spaces and line ends.",
        )
    return key
