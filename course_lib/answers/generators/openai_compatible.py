"""Servers that speak OpenAI's protocol: a prompt goes out, the answer comes back as events.

The `openai` package asks them. Nothing that a server says about a refused request is shown but its
code: the sentence may repeat the key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from course_lib.addresses import is_local, shown
from course_lib.answers.generators.base import (
    GenerationError,
    Request,
    check_address,
    without_login,
)
from course_lib.answers.tokens import resolve_context_window

if TYPE_CHECKING:
    import openai

OPENAI = "https://api.openai.com/v1"
OTHER_WAYS = "Or answer without it: --backend ollama, or --backend extractive."
THINKING = ("o1", "o3", "o4", "gpt-5")
"""Models that think first: they name the limit of an answer otherwise, and take no temperature."""


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
        Seconds to wait for the next piece of an answer.
    margin
        Tokens of the window that stay free.
    window
        Tokens that the model takes; None is what is known of its name.
    retries
        How often a request is sent again that was refused for now (429, 5xx) or got no answer.

    Raises
    ------
    GenerationError
        If there is no key, or one that cannot be a key, or the URL is not an address.
    """

    name = "openai"
    needs_prompt = True

    def __init__(
        self,
        model: str = "gpt-4o-mini",
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 120.0,
        margin: int = 1024,
        window: int | None = None,
        retries: int = 2,
    ) -> None:
        self.url = check_address(base_url, "OPENAI_BASE_URL") if base_url else OPENAI
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

    def stream(self, request: Request) -> Iterator[str]:
        """Yield the pieces of the answer; see `Generator.stream`."""
        import openai

        has_begun = False
        try:
            with self._client() as client:
                events: Any = client.chat.completions.create(
                    model=self.model,
                    messages=request.prompt.messages,  # type: ignore[arg-type]
                    stream=True,
                    **self._limits(request),
                )
                has_begun = True
                with events:
                    reason = None
                    for event in events:
                        if event.choices:
                            choice = event.choices[0]
                            reason = choice.finish_reason or reason
                            if choice.delta and choice.delta.content:
                                yield choice.delta.content
        except openai.OpenAIError as error:
            if has_begun and type(error) is openai.APIConnectionError:
                self._broken_off(type(error).__name__)
            from course_lib.embedder.remote import refusal

            setting = "RAG_OPENAI_MODEL or --model"
            message, hint = refusal(error, shown(self.url), self.model, setting, self._timeout)
            raise GenerationError(message, hint=f"{hint} {OTHER_WAYS}") from None
        except (GeneratorExit, KeyboardInterrupt):
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

    def _limits(self, request: Request) -> dict[str, Any]:
        if self.model.startswith(THINKING):
            return {"max_completion_tokens": request.max_output}
        return {"max_tokens": request.max_output, "temperature": 0}

    def _client(self) -> openai.OpenAI:
        import openai

        from course_lib.embedder.remote import http_client

        return openai.OpenAI(
            api_key=self._key,
            base_url=self.url,
            timeout=self._timeout,
            max_retries=self._retries,
            http_client=http_client(trust_env=not is_local(self.url)),
        )

    def _broken_off(self, reason: str) -> NoReturn:
        raise GenerationError(
            f"the answer of {shown(self.url)} broke off ({reason})",
            hint=f"Ask again. {OTHER_WAYS}",
        ) from None


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
    return key or "none"
