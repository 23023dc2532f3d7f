"""Running one submission's steps: one process for all of them, a new one where it dies.

A cell that takes too long, takes its process with it, or fails and keeps all memory, costs itself
alone: another process is started, what came before is run again without it, and the checks that
follow have their chance.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from course_lib.teaching.grade.fence import Limits
from course_lib.teaching.grade.plan import Plan, Step
from course_lib.teaching.grade.sessions import Answer, Session, Sessions

State = Literal["ok", "error", "timeout", "died", "garbled", "memory", "budget", "not run"]

RESTARTS = 6
"""Processes that one submission may use up."""

TELLS = {
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
        ``ok`` and ``error`` as the process said; the rest as we saw it.
    messages
        What it put out.
    honest
        For a check: whether the errors that had to come came.
    changed
        What had been replaced that a check relies on, and was put back.
    again
        For a check that passed: how it ended when it was run a second time, if it was.
    full
        Whether it failed and left no memory for what follows.
    """

    step: Step
    state: State = "not run"
    ename: str = ""
    evalue: str = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    honest: bool = True
    changed: list[str] = field(default_factory=list)
    again: str = ""
    full: bool = False
    seconds: float = 0.0

    @property
    def said(self) -> str:
        """What went wrong, in the words of the check or of the error; empty where nothing did."""
        if self.state == "error" and self.ename in ("CheckFailed", "NotAttempted"):
            return self.evalue
        return f"{self.ename}: {self.evalue}".rstrip(": ") if self.state != "ok" else ""


class Conductor:
    """Runs the steps of one submission.

    Parameters
    ----------
    sessions
        Where processes come from.
    plan
        What is run.
    limits
        For each cell and for all of it.

    Attributes
    ----------
    runs
        One for each step.
    audits
        What the learner's code reached for, each once.
    after_ahead
        What the process had opened when the cells before the first answer had been run.
    """

    def __init__(self, sessions: Sessions, plan: Plan, limits: Limits) -> None:
        self.sessions = sessions
        self.plan = plan
        self.limits = limits
        self.runs = [CellRun(step) for step in plan.steps]
        self.audits: dict[tuple[str, str], None] = {}
        self.silenced = False
        self.opened = 0
        self.after_ahead: dict[str, Any] = {}
        self._session: Session | None = None
        self._deadline = time.monotonic() + limits.budget

    def execute(self, place: int) -> CellRun:
        """Run one step and return what became of it; steps are asked for in their order."""
        run = self.runs[place]
        session = self._ready(place, run)
        if session is not None:
            if place < self.sessions.ahead:
                run.state = "ok"
            else:
                self._note(run, session, self._ask(session, run.step))
                if place + 1 == self.plan.ahead and not session.over:
                    self.after_ahead = self.about()
                    self._fix(session)
        if run.state not in ("ok", "error"):
            run.ename = {"timeout": "Timeout", "budget": "Timeout"}.get(run.state, "Stopped")
            run.evalue = TELLS[run.state].format(seconds=self.limits.cell)
        return run

    def finish(self) -> None:
        """See whether errors still come through IPython, and end the process."""
        session = self._session
        if session is not None and not session.over and self._left() > 0:
            nonce = secrets.token_hex(8)
            order = {"do": "cell", "source": f"assert False, {nonce!r}"}
            answer = session.ask(order, min(5.0, self._left()))
            reply = answer.reply or {}
            if answer.ended == "" and (
                reply.get("status") != "error" or nonce not in str(reply.get("evalue"))
            ):
                self.silenced = True
        self.close()

    def about(self) -> dict[str, Any]:
        """Return what the process has imported and opened by now; empty where it has gone."""
        if self._session is None or self._session.over:
            return {}
        return self._session.ask({"do": "about"}, 10).reply or {}

    def close(self) -> None:
        """End the process, if one runs."""
        if self._session is not None:
            session, self._session = self._session, None
            session.close()

    def _ready(self, place: int, run: CellRun) -> Session | None:
        """Return a process in which all steps before this one have been run."""
        if self._session is not None and (
            self._session.over or (place and self.runs[place - 1].full)
        ):
            self.close()
        while self._session is None:
            if self._left() <= 0:
                run.state = "budget"
                return None
            if self.opened >= RESTARTS:
                return None
            self.opened += 1
            self._session = self.sessions.open()
            if self.opened == 1:
                # Starting the first parent is not the learner's time.
                self._deadline = time.monotonic() + self.limits.budget
            self._replay(self._session, place)
            if self._session.over:
                self.close()
        if self._left() <= 0:
            run.state = "budget"
            return None
        return self._session

    def _replay(self, session: Session, place: int) -> None:
        if self.plan.ahead <= self.sessions.ahead:
            self._fix(session)
        for earlier in range(self.sessions.ahead, place):
            run = self.runs[earlier]
            is_check = run.step.cell.role == "check"
            if run.state == "ok" or (run.state == "error" and not is_check and not run.full):
                answer = self._ask(session, run.step)
                if answer.ended:
                    # The second time it went wrong; the next process does without it.
                    self._note(run, session, answer)
                    return
            if earlier + 1 == self.plan.ahead:
                self._fix(session)

    def _fix(self, session: Session) -> None:
        session.tell({"do": "fix", "names": list(self.plan.fixed)})

    def _ask(self, session: Session, step: Step) -> Answer:
        order: dict[str, Any] = {"do": "cell", "source": step.source}
        self._nonce = ""
        if step.cell.role == "check":
            self._nonce = secrets.token_hex(8)
            order = {
                "do": "check",
                "source": step.source,
                "hidden": step.cell.hidden,
                "stubs": list(step.stubs),
                "nonce": self._nonce,
                "exercise": step.cell.exercise,
                "again": step.again,
            }
        answer = session.ask(order, max(0.0, min(self.limits.cell, self._left())))
        self.audits.update(dict.fromkeys(answer.audits))
        return answer

    def _note(self, run: CellRun, session: Session, answer: Answer) -> None:
        run.messages, run.seconds = answer.messages, answer.seconds
        if answer.reply is None:
            over = answer.ended == "timeout" and self._left() <= 0
            run.state = "budget" if over else answer.ended or "died"
            return
        reply = answer.reply
        run.state = "ok" if reply.get("status") == "ok" else "error"
        run.ename, run.evalue = str(reply.get("ename", "")), str(reply.get("evalue", ""))
        run.full = run.state == "error" and (
            reply.get("full") is True or run.ename == "MemoryError"
        )
        if run.step.cell.role == "check":
            run.honest = self._is_honest(reply, run.step)
            run.again = str(reply.get("again") or "")
            changed = reply.get("changed")
            run.changed = [str(name) for name in changed] if isinstance(changed, list) else []

    def _is_honest(self, reply: Mapping[str, Any], step: Step) -> bool:
        canary, decoy = reply.get("canary"), reply.get("decoy")
        sang = (
            isinstance(canary, dict)
            and canary.get("status") == "error"
            and canary.get("evalue") == self._nonce
        )
        fell = not step.stubs or (isinstance(decoy, dict) and decoy.get("status") == "error")
        return sang and fell

    def _left(self) -> float:
        return self._deadline - time.monotonic()
