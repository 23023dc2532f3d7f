"""Running one submission: its notebook under nbval in a forked process, then its audits.

A cell that takes too long, ends its process or fills its memory costs itself alone: another process
is forked and the notebook runs again without it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.teaching.grade.fence import Limits
from course_lib.teaching.grade.inside.channel import Channel, Closed, Garbled
from course_lib.teaching.grade.plan import Step

ATTEMPTS = 6
"""Processes that one submission may use up."""

SAYS = {
    "timeout": "no end after {seconds:g} s",
    "died": "the process died: a crash, os._exit, or a limit that was exceeded",
    "garbled": "the process sent what no notebook sends, or far too much output",
    "memory": "more memory than the limit",
    "budget": "the time for the whole submission was used up",
    "not run": "it was not run: too many processes had died",
}


@dataclass
class CellRun:
    """What became of one step.

    Attributes
    ----------
    state
        ``ok``, ``error``, or a key of `SAYS`.
    passed
        What nbval says.
    text, value
        What it put out, and the value of its last expression, as text; of a check of the course
        that failed, the points of its parts that passed.
    """

    step: Step
    state: str = "not run"
    passed: bool = False
    ename: str = ""
    evalue: str = ""
    text: str = ""
    value: str = ""

    @property
    def said(self) -> str:
        """What went wrong, in the words of the check or of the error; empty where nothing did."""
        if self.state == "error" and self.ename in ("CheckFailed", "NotAttempted"):
            return self.evalue
        return f"{self.ename}: {self.evalue}".rstrip(": ") if self.state != "ok" else ""


@dataclass(eq=False)
class Conversation:
    """The grader's side of what is said with the process of one submission.

    Parameters
    ----------
    channel
        To the process.
    parent_answers
        Tells whether the sandbox's parent is still there. It is asked after each cell: a cell that
        ends the parent may itself go on for a while, and another one would take the blame.
    limits, left
        The limits, and the seconds that are left of the budget.
    steps, bad
        What is run; and the places of steps that are left out, with the reason.

    Attributes
    ----------
    runs
        What became of each step.
    junit
        nbval's report; None until the notebook has come to its end.
    ended
        Why it came to its end too early; a key of `SAYS`, or empty.
    """

    channel: Channel
    parent_answers: Callable[[], bool]
    limits: Limits
    left: float
    steps: Sequence[Step]
    bad: dict[int, str]

    def __post_init__(self) -> None:
        self.until = time.monotonic() + self.left
        self.runs = [CellRun(step) for step in self.steps]
        self.junit: str | None = None
        self.begun = -1
        self.ended = ""

    def receive(self) -> dict[str, Any] | None:
        """Return the next message; None, and why in `ended`, where there is none."""
        now = time.monotonic()
        over = self.until <= now + self.limits.cell
        try:
            return self.channel.receive(min(now + self.limits.cell, self.until))
        except TimeoutError:
            self.ended = "budget" if over else "timeout"
        except Garbled:
            self.ended = "garbled"
        except Closed:
            self.ended = "died"
        return None

    def run(self, notebook: str, database: str) -> None:
        """Run the notebook; `ended` says why if it did not come to its end."""
        self._send({"notebook": notebook, "database": database})
        while not self.ended and self.junit is None:
            if (told := self.receive()) is not None:
                self._hear(told)
        if self.begun < 0:  # it is not a fault of the learner's
            raise RuntimeError(f"the notebook did not begin: {SAYS.get(self.ended, 'no cells')}")
        for place, state in self.bad.items():
            self._end(place, state)

    def leave_out(self) -> bool:
        """Note the cell at which it ended; tell whether it is worth running again without it."""
        place, state = self.begun, self.ended
        if place < 0 or place in self.bad:
            return False
        self.bad[place] = state
        self._end(place, state)
        again = state != "budget" and len(self.bad) < ATTEMPTS
        for later in () if again else range(place + 1, len(self.runs)):
            self._end(later, state if state == "budget" else "not run")
        return again

    @property
    def said(self) -> str:
        """Why it came to its end too early."""
        return SAYS[self.ended].format(seconds=self.limits.cell)

    def audit(self, exercise: str, calls: Sequence[Any], after: int) -> dict[str, Any]:
        """Return what the function that a step left gives for calls: ``values`` or ``error``."""
        self._send({"audit": exercise, "calls": list(calls), "after": after})
        told = self.receive()
        return {"error": self.said} if told is None else told

    def modules(self) -> tuple[str, ...]:
        """Return what the process has imported."""
        self._send({"modules": True})
        return tuple((self.receive() or {}).get("modules", ()))

    def _send(self, message: dict[str, Any]) -> None:
        """Send a message; that nobody is there to take it is noticed by whoever receives next."""
        with contextlib.suppress(Closed):
            self.channel.send(message)

    def _hear(self, told: dict[str, Any]) -> None:
        """Take what the process says of a cell: that it begins, or what came of it."""
        place = told.get("begin", told.get("cell"))
        if not self.parent_answers():
            self.ended = "died"
        elif "junit" in told:
            self.junit = str(told["junit"])
        elif type(place) is not int or not 0 <= place < len(self.runs):
            self.ended = "garbled"
        elif "begin" in told:
            self.begun = place
            left_out = "raise RuntimeError('it is left out')"
            self._send({"source": left_out if place in self.bad else self.steps[place].source})
        elif place not in self.bad:
            run = self.runs[place]
            run.passed = told.get("passed") is True
            for name in ("ename", "evalue", "text", "value"):
                text = str(told.get(name, ""))
                # Lone surrogates are JSON and no text that can be written down again.
                setattr(run, name, text.encode("utf-8", "replace").decode("utf-8"))
            run.state = "error" if run.ename else "ok"
            if run.ename == "MemoryError":  # what fills the memory is still there
                self.ended = "memory"

    def _end(self, place: int, state: str) -> None:
        run = self.runs[place]
        run.state, run.passed = state, False
        run.ename = "Timeout" if state in ("timeout", "budget") else "Stopped"
        run.evalue = SAYS[state].format(seconds=self.limits.cell)
