"""The two ways in which a check does not pass: `CheckFailed` and `NotAttempted`.

Both are `AssertionError`s, so that nbval, nbgrader and papermill see a failed cell; IPython shows
their message alone, because a traceback through the course's own files teaches nobody anything.
"""

from __future__ import annotations


class _ShownShort(AssertionError):
    def _render_traceback_(self) -> list[str]:
        """Tell IPython what to show in place of a traceback."""
        return str(self).splitlines()


LONG = 600
"""Characters of a call that a message shows; of a longer one it shows the beginning and the end."""

GO_ON = (
    "To go on without it: select the cell after the hint, then Run > Run Selected Cell and All "
    "Below."
)
"""One line in JupyterLab, which breaks a longer one within a word."""


class CheckFailed(_ShownShort):
    """The learner's object is not right yet; the message says where.

    Attributes
    ----------
    exercise
        The exercise's id, as in ``"1.1"``.
    called, got, expected, because
        The case that broke it, as text; empty where there is nothing to say. `called` is whole: it
        can be pasted into a cell.
    hint
        What helps next; empty for none. Whoever knows it sets it.

    Examples
    --------
    >>> print(CheckFailed("1.1", "is not right yet", called="double(2)", got="3", expected="4"))
    1.1 is not right yet
      called    double(2)
      got       3
      expected  4
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
    ) -> None:
        super().__init__(headline)
        self.exercise = exercise
        self.headline = headline
        self.called = called
        self.got = got
        self.expected = expected
        self.because = because
        self.hint = ""

    def __str__(self) -> str:
        lines = [f"{self.exercise} {self.headline}"]
        for label in ("called", "got", "expected", "because"):
            text = getattr(self, label)
            if label == "called" and len(text) > LONG:
                text = f"{text[: LONG - 100]} … {text[-100:]}"
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
