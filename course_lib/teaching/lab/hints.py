"""Hints: one more with each call, those before it folded above."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from textwrap import TextWrapper

from course_lib.teaching.checks import Exercise

WIDTH = 88


@dataclass(frozen=True)
class Hint:
    """The hints of an exercise up to the newest, as a notebook or a terminal shows them.

    Attributes
    ----------
    exercise
        Whose they are.
    number
        The newest, counted from 1.
    beyond
        True where the last one was seen before and there are no more.
    passed
        Whether the exercise's check has passed, so that nobody needs one.
    """

    exercise: Exercise
    number: int
    beyond: bool = False
    passed: bool = False

    def headline(self) -> str:
        """Return ``hint 2 of 3``."""
        return f"hint {self.number} of {len(self.exercise.hints)}"

    def __str__(self) -> str:
        if not self.exercise.hints:
            return f"{self.exercise.id} has no hints"
        if self.passed:
            return f"{self.exercise.id} has passed: no hint is needed"
        text = _filled(f"{self.headline()}: {self.exercise.hints[self.number - 1]}")
        return f"{text}\n{_filled(self._way_out())}" if self.beyond else text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.exercise.hints:
            return f"<p>{escape(str(self))}</p>"
        if self.passed:
            hints = "".join(f"<p>{_prose(hint)}</p>" for hint in self.exercise.hints)
            return f"<details><summary>{escape(str(self))}</summary>{hints}</details>"
        parts = [
            f"<details><summary>hint {i}</summary><p>{_prose(hint)}</p></details>"
            for i, hint in enumerate(self.exercise.hints[: self.number - 1], start=1)
        ]
        newest = _prose(self.exercise.hints[self.number - 1])
        parts.append(f"<details open><summary>{self.headline()}</summary><p>{newest}</p></details>")
        if self.beyond:
            parts.append(f"<p>{_prose(self._way_out())}</p>")
        return "".join(parts)

    def _way_out(self) -> str:
        return (
            "That was the last hint. The solution is in "
            f"`solutions/{self.exercise.lab}_….ipynb`; the lab goes on with it until your own "
            "version passes."
        )


def offer(exercise: Exercise, seen: int) -> str:
    """Return how to come by the next hint, for a check that failed; empty without hints.

    The hint itself stays where it is: what the check says may be all that somebody needs, and a
    first hint is often about something that they have done already.

    Examples
    --------
    >>> from course_lib.teaching.checks.drawn import Drawn
    >>> offer(Exercise("1.2", "half", tuple, Drawn(), ("Divide.", "By two.")), 1)
    'lab.hint("1.2") gives hint 2 of 2'
    """
    most = len(exercise.hints)
    if not most:
        return ""
    shown = f"gives hint {seen + 1} of {most}" if seen < most else "shows the hints again"
    return f'lab.hint("{exercise.id}") {shown}'


def _filled(text: str) -> str:
    """Wrap each line of a text, never within a word."""
    wrapper = TextWrapper(WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(wrapper.fill(line) for line in text.splitlines())


def _prose(text: str) -> str:
    """Escape a hint for HTML; what is between backticks becomes code, line breaks stay."""
    pieces = escape(text).split("`")
    marked = "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(pieces))
    return marked.replace("\n", "<br>")
