"""The two ways in which a check does not pass: `CheckFailed` and `NotAttempted`.

Both are `AssertionError`s, so that nbval, nbgrader and papermill see a failed cell; IPython shows
their message alone, because a traceback through the course's own files teaches nobody anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class _ShownShort(AssertionError):
    def _render_traceback_(self) -> list[str]:
        """Tell IPython what to show in place of a traceback."""
        return str(self).splitlines()


LONG = 300
"""Characters of a call that a message shows whole."""

GO_ON = (
    "To go on without it: select the cell after the hint, then Run > Run Selected Cell and All "
    "Below."
)
"""One line in JupyterLab, which breaks a longer one within a word."""


@dataclass(frozen=True)
class Part:
    """A group of cases that has points of its own, and whether all of them held.

    Examples
    --------
    >>> print(Part(1, "blank lines", passed=False))
    ✗ 1 point: blank lines
    >>> print(Part(-1, "drawn calls", passed=False))
    ✗ 1 point less: drawn calls
    """

    points: int
    about: str
    passed: bool

    def __str__(self) -> str:
        unit = "point" if abs(self.points) == 1 else "points"
        less = " less" if self.points < 0 else ""
        return f"{'✓' if self.passed else '✗'} {abs(self.points)} {unit}{less}: {self.about}"


class CheckFailed(_ShownShort):
    """The learner's object is not right yet; the message says where.

    Attributes
    ----------
    exercise
        The exercise's id, as in ``"1.1"``.
    called, got, expected, because
        The case that broke it, as text; empty where there is nothing to say. `called` is whole: it
        can be pasted into a cell.
    short
        The call as the message shows it where it is long; without it, its beginning and its end.
    hint
        What helps next; empty for none. Whoever knows it sets it.
    parts, most
        The groups of cases that were judged, and the points of the exercise; set by `run_check`.

    Examples
    --------
    >>> failed = CheckFailed("1.1", "is not right yet", called="double(2)", got="3", expected="4")
    >>> print(failed)
    1.1 is not right yet
      called    double(2)
      got       3
      expected  4
    >>> failed.parts, failed.most = (Part(2, "numbers", True), Part(1, "texts", False)), 3
    >>> print(failed)
    1.1 is not right yet: 2 of 3 points
      called    double(2)
      got       3
      expected  4
      parts     ✓ 2 points: numbers
                ✗ 1 point: texts
    """

    def __init__(
        self,
        exercise: str,
        headline: str,
        *,
        called: str = "",
        got: str = "",
        expected: str = "",
        because: str = "",
        short: str = "",
    ) -> None:
        super().__init__(headline)
        self.exercise = exercise
        self.headline = headline
        self.called = called
        self.got = got
        self.expected = expected
        self.because = because
        self.short = short
        self.hint = ""
        self.parts: Sequence[Part] = ()
        self.most = 0

    @property
    def earned(self) -> int:
        """The points of the parts that passed, less those of what was found besides."""
        counted = (part.points for part in self.parts if part.passed or part.points < 0)
        return max(0, sum(counted))

    def __str__(self) -> str:
        points = f": {self.earned} of {self.most} points" if self.earned else ""
        lines = [f"{self.exercise} {self.headline}{points}"]
        parts = "\n".join(map(str, self.parts)) if self.earned else ""
        texts = {name: getattr(self, name) for name in ("called", "got", "expected", "because")}
        for label, text in {**texts, "parts": parts}.items():
            if label == "called" and len(text) > LONG:
                text = self.short or f"{text[: LONG - 100]} … {text[-100:]}"
            if text:
                lines.append(f"  {label:<10}" + text.replace("\n", "\n" + " " * 12))
        if self.hint:
            lines.append(self.hint)
        return "\n".join(lines)


class NotAttempted(_ShownShort):
    """The exercise is still its stub, or builds on one that is.

    Examples
    --------
    >>> print(NotAttempted("1.1"))
    1.1 not attempted yet
    >>> print(NotAttempted("1.2", waits_for="1.1"))
    1.2 waits for 1.1
    """

    def __init__(self, exercise: str, *, waits_for: str = "") -> None:
        what = f"waits for {waits_for}" if waits_for else "not attempted yet"
        super().__init__(f"{exercise} {what}")
        self.exercise = exercise
        self.waits_for = waits_for

    def _render_traceback_(self) -> list[str]:
        """Say in a notebook how to go on: a failed cell stops Run All."""
        return [*super()._render_traceback_(), GO_ON]
