"""Running one submission: its notebook under nbval in a forked process, then its audits.

A cell that takes too long, ends its process or fills its memory costs itself alone: another process
is forked and the notebook runs again without it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.teaching.checks import load
from course_lib.teaching.checks.judging import Verdict
from course_lib.teaching.checks.outcomes import NotAttempted
from course_lib.teaching.grade.fence import Limits
from course_lib.teaching.grade.inside.channel import Channel, Closed, Garbled
from course_lib.teaching.grade.plan import PlannedCell
from course_lib.teaching.grade.sandbox import WATCH_SECONDS, Sandbox
from course_lib.teaching.lab.checking import owner

ATTEMPTS = 6
"""Processes that one submission may use up."""

PATIENCE = 5
"""So many times its processor time a step may take on the clock: it may sleep, or others work."""

AUDIT = 2
"""So many times an exercise's time limit its calls may take in an audit.

A check that passed on a quiet machine is not found too slow on a busy one.
"""

SAYS = {
    "timeout": "no end after {seconds:g} s of work, or {clock:g} s on the clock",
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
        What it put out, and the value of its last expression, as text.
    verdict
        What was found of the answer that it checks, if that was asked.
    unjudged
        Why that could not be found.
    """

    step: PlannedCell
    state: str = "not run"
    passed: bool = False
    ename: str = ""
    evalue: str = ""
    text: str = ""
    value: str = ""
    verdict: Verdict | None = None
    unjudged: str = ""

    @property
    def said(self) -> str:
        """What went wrong, in the words of the check or of the error; empty where nothing did."""
        if self.state == "error" and self.ename in ("CheckFailed", "NotAttempted"):
            return self.evalue
        return f"{self.ename}: {self.evalue}".rstrip(": ") if self.state != "ok" else ""

    def hear(self, told: Mapping[str, Any]) -> None:
        """Take what the process says of the cell."""
        self.passed = told.get("passed") is True
        for name in ("ename", "evalue", "text", "value"):
            text = str(told.get(name, ""))
            # Lone surrogates are JSON and no text that can be written down again.
            setattr(self, name, text.encode("utf-8", "replace").decode("utf-8"))
        self.state = "error" if self.ename else "ok"

    def end(self, state: str, seconds: float) -> None:
        """Note that the step, or what was asked about it, did not come to its end."""
        self.state, self.passed = state, False
        self.ename = "Timeout" if state in ("timeout", "budget") else "Stopped"
        self.evalue = SAYS[state].format(seconds=seconds, clock=PATIENCE * seconds)

    def judge(self, verdict: Verdict) -> None:
        """Take what was found outside for what the check said."""
        self.verdict = verdict
        if verdict.stub:
            self.state, self.ename = "error", "NotAttempted"
            other = owner(verdict.stub, verdict.exercise, load(verdict.exercise.id.split(".")[0]))
            self.evalue = str(NotAttempted(verdict.exercise.id, waits_for=other))
        elif verdict.fault:
            self.state, self.ename, self.evalue = "error", "CheckFailed", str(verdict.fault)


@dataclass(eq=False)
class Conversation:
    """The grader's side of what is said with the process of one submission.

    Parameters
    ----------
    channel
        To the process.
    sandbox
        Where it is. Whether its parent is still there is asked after each cell: a cell that ends
        the parent may itself go on for a while, and another one would take the blame.
    limits, left
        The limits, and the seconds that are left of the budget.
    times
        By exercise, the seconds that its check may take besides those of a cell.
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
    sandbox: Sandbox
    limits: Limits
    left: float
    times: Mapping[str, float]
    steps: Sequence[PlannedCell]
    bad: dict[int, str]

    def __post_init__(self) -> None:
        self.start = self._now()
        self.seconds = self.limits.cell
        self.runs = [CellRun(step) for step in self.steps]
        self.junit: str | None = None
        self.begun = -1
        self.ended = ""

    def used(self, since: tuple[float, float] | None = None) -> float:
        """Return the seconds that were used since a moment: of work, or the clock's share."""
        (clock, spent), (now, by_now) = since or self.start, self._now()
        return max(by_now - spent, (now - clock) / PATIENCE)

    def receive(self) -> dict[str, Any] | None:
        """Return the next message; None, and why in `ended`, where there is none."""
        since = self._now()
        while not self.ended:
            try:
                return self.channel.receive(time.monotonic() + WATCH_SECONDS)
            except TimeoutError:
                if self.used() >= self.left:
                    self.ended = "budget"
                elif self.used(since) >= self.seconds:
                    self.ended = "timeout"
            except Garbled:
                self.ended = "garbled"
            except Closed:
                self.ended = self._died
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
            self.runs[place].end(state, self.limits.cell)

    def leave_out(self) -> bool:
        """Note the cell at which it ended; tell whether it is worth running again without it."""
        place, state = self.begun, self.ended
        if place < 0 or place in self.bad:
            return False
        self.bad[place] = state
        self.runs[place].end(state, self.limits.cell)
        again = state != "budget" and len(self.bad) < ATTEMPTS
        for later in () if again else self.runs[place + 1 :]:
            later.end(state if state == "budget" else "not run", self.limits.cell)
        return again

    def audit(self, place: int, order: dict[str, Any]) -> dict[str, Any]:
        """Return what the answer that a step left gives for calls: ``told`` or ``error``."""
        self.seconds = self.limit(order["audit"])
        self._send({**order, "after": place, "patience": AUDIT})
        return self.receive() or {}

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
        if not self.sandbox.answers():
            self.ended = self._died
        elif "junit" in told:
            self.junit = str(told["junit"])
        elif type(place) is not int or not 0 <= place < len(self.runs):
            self.ended = "garbled"
        elif "begin" in told:
            self.begun, self.seconds = place, self.limits.cell
            left_out = "raise RuntimeError('it is left out')"
            self._send({"source": left_out if place in self.bad else self.steps[place].source})
        elif place not in self.bad:
            self.runs[place].hear(told)
            if self.runs[place].ename == "MemoryError":  # what fills the memory is still there
                self.ended = "memory"

    def limit(self, exercise: str) -> float:
        """Return the seconds of work that the two sheets of an exercise may take."""
        return self.limits.cell + 2 * AUDIT * self.times[exercise]

    @property
    def _died(self) -> str:
        return "memory" if self.sandbox.watch.over else "died"

    def _now(self) -> tuple[float, float]:
        return time.monotonic(), self.sandbox.watch.spent
