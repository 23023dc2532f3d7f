"""Conversations with submissions: a process within the fence, orders to it, and what comes back.

`WarmSessions` forks one process a submission from a parent that has everything imported;
`ColdSessions` starts a kernel for each, which every system can do. Both give a `Session`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.inside.channel import Channel, Closed, Garbled
from course_lib.teaching.grade.sandbox import Sandbox, Setup

if TYPE_CHECKING:
    from course_lib.teaching.grade.database import Databases

PATIENCE = 5.0
"""Seconds for what should take none, before the sandbox is ended from outside."""

Ended = Literal["", "timeout", "died", "garbled", "memory"]


@dataclass
class Answer:
    """What came of one order.

    Attributes
    ----------
    reply
        How the cell ended, None where the process did not say.
    ended
        Why there is no reply: it took too long, died, talked nonsense or took too much memory.
    messages
        What it put out, as a kernel publishes it.
    audits
        Events that the learner's code caused.
    """

    reply: dict[str, Any] | None = None
    ended: Ended = ""
    messages: list[dict[str, Any]] = field(default_factory=list)
    audits: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0


class Sessions(Protocol):
    """Gives sessions, one after the other."""

    ahead: int

    def prepare(self) -> None:
        """Have the next process started while something else is done."""

    def open(self) -> Session:
        """Start a process for a submission, or for the rest of one."""

    def close(self) -> None:
        """End everything."""


class Session:
    """One process with a learner's code in it.

    Parameters
    ----------
    channel
        To the process.
    sandbox
        The process of the fence that holds it.
    """

    def __init__(self, channel: Channel, sandbox: Sandbox) -> None:
        self.channel = channel
        self.sandbox = sandbox
        self.over = False

    def ask(self, order: Mapping[str, Any], seconds: float) -> Answer:
        """Give an order and wait for what comes of it.

        Parameters
        ----------
        order
            As `serve_cells` takes it.
        seconds
            After which the process is given up.
        """
        answer = Answer()
        begun = time.monotonic()
        try:
            self.channel.send(dict(order))
            while answer.reply is None:
                told = self.channel.receive(begun + seconds)
                if isinstance(message := told.get("message"), dict):
                    answer.messages.append(message)
                elif isinstance(audit := told.get("audit"), list) and len(audit) == 2:
                    answer.audits.append((str(audit[0]), str(audit[1])))
                elif isinstance(reply := told.get("reply"), dict):
                    answer.reply = reply
                else:
                    raise Garbled("a message of no known kind")
        except TimeoutError:
            answer.ended = "timeout"
        except Garbled:
            answer.ended = "garbled"
        except Closed:
            answer.ended = "memory" if self.sandbox.over_memory else "died"
        answer.seconds = time.monotonic() - begun
        self.over = self.over or bool(answer.ended)
        return answer

    def tell(self, order: Mapping[str, Any]) -> None:
        """Give an order that has no reply."""
        with contextlib.suppress(Closed):
            self.channel.send(dict(order))

    def close(self) -> None:
        """End the process and all that it has started."""
        self.channel.close()
        self.sandbox.end_submission(suspect=self.over)


class WarmSessions:
    """Sessions that are forks of one parent.

    Parameters
    ----------
    setup
        What each starts from.
    slot
        Which job this is.

    Attributes
    ----------
    ahead
        How many of the set-up's cells each session has behind it.
    """

    def __init__(self, setup: Setup, slot: int = 0, databases: Databases | None = None) -> None:
        self.setup = setup
        self.slot = slot
        self.databases = databases
        self.ahead = len(setup.cells)
        self.parent: _Parent | None = None

    def prepare(self) -> None:
        """Have the parent fork, where there is one; what goes wrong with it `open` mends."""
        parent = self.parent
        if parent is not None and not parent.broken:
            try:
                parent.begin()
            except (Closed, Garbled, TimeoutError, OSError):
                parent.broken = True
                parent.stop()

    def open(self) -> Session:
        """Fork a process; the parent is started first where there is none."""
        for attempt in (1, 2):
            if self.parent is None or self.parent.broken:
                self.parent = _Parent(self.setup, self.slot, self.databases)
            try:
                return self.parent.fork()
            except (Closed, Garbled, TimeoutError):
                self.parent.broken = True
                complaint = self.parent.complaint()
                self.parent.stop()
                if attempt == 2:
                    raise GradeError(f"no submission can be started: {complaint}") from None
        raise AssertionError

    def warm_up(self) -> None:
        """Start the parent, so that the first session need not wait for it."""
        if self.parent is None:
            self.parent = _Parent(self.setup, self.slot, self.databases)

    def close(self) -> None:
        """End the parent and its forks."""
        if self.parent is not None:
            self.parent.stop()
            self.parent = None


class _Parent(Sandbox):
    def __init__(self, setup: Setup, slot: int, databases: Databases | None) -> None:
        super().__init__(setup, "warm", slot, databases)
        self.broken = False
        self._asked = False
        self._ending = False
        self._begun: Channel | None = None
        self.control.send({
            "do": "prepare", "modules": list(setup.modules), "cells": list(setup.cells),
            "limits": setup.limits.inside(), "lab": setup.lab, "solution": setup.solution,
            "database": databases is not None,
        })  # fmt: skip

    def begin(self) -> None:
        """Have the next submission's process forked, unless that has been done."""
        if self._begun is not None:
            return
        if not self._asked:
            self._asked = True
            prepared = self.control.receive(time.monotonic() + 120)
            if self.setup.fence.kind != "none" and prepared.get("alone") is not True:
                raise GradeError("the sandbox is not alone in its process namespace")
            self.weigh()
        self._wait_for_end()
        self.over_memory = False
        self.control.send({"do": "fork"})
        self.control.receive(time.monotonic() + PATIENCE)
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self.control.sock, [b"."], [theirs.fileno()])
        self._begun = Channel(ours, self.setup.limits.output)

    def fork(self) -> Session:
        self.begin()
        channel, self._begun = self._begun, None
        assert channel is not None
        self.control.receive(time.monotonic() + PATIENCE)
        channel.receive(time.monotonic() + PATIENCE)
        self.offer_database(channel)
        return Session(channel, self)

    def end_submission(self, *, suspect: bool) -> None:
        try:
            self.control.send({"do": "end"})
            self._ending = True
        except Closed:
            self.broken = True
        if self.broken or suspect:
            # Whatever a submission that ended badly may have left, the next does not meet it.
            self.broken = True
            self.stop()

    def _wait_for_end(self) -> None:
        """Wait until nothing is left of the submission before; `Garbled` where something is."""
        if self._ending:
            self._ending = False
            if self.control.receive(time.monotonic() + PATIENCE).get("clean") is not True:
                raise Garbled("something of a submission is left")


class ColdSessions:
    """Sessions that are kernels of their own.

    Parameters
    ----------
    setup
        What each starts from; its cells are run by whoever asks for the session.
    slot
        Which job this is.
    """

    ahead = 0

    def __init__(self, setup: Setup, slot: int = 0, databases: Databases | None = None) -> None:
        self.setup = setup
        self.slot = slot
        self.databases = databases
        self.current: Sandbox | None = None

    def prepare(self) -> None:
        """Do nothing: a kernel is started when it is needed."""

    def open(self) -> Session:
        """Start a kernel and wait for it."""
        sandbox = self.current = Sandbox(self.setup, "cold", self.slot, self.databases)
        channel = sandbox.control
        channel.left = self.setup.limits.output
        order = {
            "lab": self.setup.lab,
            "solution": self.setup.solution,
            "database": self.databases is not None,
        }
        try:
            channel.send({**order, "limits": self.setup.limits.inside()})
            channel.receive(time.monotonic() + 120)
            sandbox.weigh()
            sandbox.offer_database(channel)
        except (Closed, Garbled, TimeoutError):
            complaint = sandbox.complaint()
            sandbox.stop()
            raise GradeError(f"no kernel can be started: {complaint}") from None
        return Session(channel, sandbox)

    def close(self) -> None:
        """End the kernel that is left, if any."""
        if self.current is not None:
            self.current.stop()


def can_fork() -> bool:
    """Tell whether this system has what the warm way needs."""
    return sys.platform == "linux" and hasattr(os, "fork") and hasattr(socket, "recv_fds")
