"""What every generator is: a request goes in, the pieces of an answer come out as they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

from course_lib.answers.passages import Passage
from course_lib.answers.prompts import Prompt
from course_lib.errors import CourseError


class GenerationError(CourseError):
    """A generator cannot be reached, refuses the request, or broke off."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a generator is asked.

    Attributes
    ----------
    prompt
        What a language model is told.
    question, passages
        What it was made of, for generators that need no prompt.
    max_output
        Tokens of the answer, at most.
    window
        Tokens that prompt, answer and safety margin take together (`Budget.needed`).
    notes
        What a generator has to say beside its answer; it adds to them.
    thinking
        What the model thought before its answer, in pieces; the generator adds to them.
    on_thinking
        Called with each piece of it, as it comes.
    """

    prompt: Prompt
    question: str
    passages: tuple[Passage, ...]
    max_output: int
    window: int
    notes: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    on_thinking: Callable[[str], None] = lambda piece: None

    def thought(self, piece: str) -> None:
        """Take a piece of the model's thinking."""
        if piece:
            self.thinking.append(piece)
            self.on_thinking(piece)


class Generator(Protocol):
    """What makes an answer of a question and passages."""

    name: str
    model: str
    margin: int

    @property
    def window(self) -> int:
        """Tokens that the model takes; 0 for a generator without a prompt."""

    @property
    def needs_prompt(self) -> bool:
        """Whether it reads the prompt, and not the passages themselves."""

    def stream(self, request: Request) -> Iterator[str]:
        """Yield the pieces of the answer.

        Raises
        ------
        GenerationError
            If the server cannot be reached, refuses the request, or breaks off.
        """


def without_login(address: str) -> tuple[str, tuple[str, str] | None]:
    """Return an address without the login in it, and the login; HTTP clients log addresses.

    Examples
    --------
    >>> without_login("http://ada:s%20t@example.org:80/v1")
    ('http://example.org:80/v1', ('ada', 's t'))
    >>> without_login("http://example.org")
    ('http://example.org', None)
    """
    parts = urlsplit(address)
    login, at, place = parts.netloc.rpartition("@")
    if not at:
        return address, None
    name, _, password = login.partition(":")
    return urlunsplit(parts._replace(netloc=place)), (unquote(name), unquote(password))
