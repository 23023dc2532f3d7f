"""The parent that has everything imported and the set-up cells run, and forks for each submission.

`python -m course_lib.teaching.grade.inside.warm` speaks with the grader through the socket whose
number it is given. It opens no connection and starts no thread before it forks. After each
submission it ends whatever that has left behind and empties the private folders.
"""

from __future__ import annotations

import argparse
import builtins
import contextlib
import gc
import importlib
import os
import random
import signal
import socket
import sys
import warnings
from pathlib import Path
from typing import Any

from course_lib.teaching.grade.inside import landlock
from course_lib.teaching.grade.inside.audits import listen
from course_lib.teaching.grade.inside.borrowing import is_learners
from course_lib.teaching.grade.inside.channel import Channel, Closed
from course_lib.teaching.grade.inside.cleaning import (
    PRIVATE,
    empty,
    end_all_others,
    present,
    remove_shared_memory,
)
from course_lib.teaching.grade.inside.guard import Guard, collect
from course_lib.teaching.grade.inside.limits import (
    become,
    limit_process,
    open_sockets,
    set_dumpable,
    thread_count,
)
from course_lib.teaching.grade.inside.runner import Runner, make_shell
from course_lib.teaching.grade.inside.sealing import seal
from course_lib.teaching.grade.inside.sharing import DATABASE, share_database, share_references

# What a learner puts into `builtins` does not reach the functions below.
__builtins__ = dict(vars(builtins))  # type: ignore[assignment]


def main() -> int:
    """Serve the grader until it hangs up."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--user", type=int, default=0)
    parser.add_argument("--outside", default="", help="the grader's process namespace")
    parser.add_argument("--cwd", default="")
    given = parser.parse_args()
    control = Channel(socket.socket(fileno=given.fd))
    become(given.user)
    set_dumpable(False)
    if given.cwd:
        os.chdir(given.cwd)
    parent = Parent(control, alone=_is_alone(given.outside))
    with contextlib.suppress(Closed):
        parent.serve()
    return 0


class Parent:
    """Answers the grader: `prepare` once, then `fork` and `end` for each submission.

    Parameters
    ----------
    control
        To the grader.
    alone
        Whether this process has a process namespace of its own, in which it may end everything.
    """

    def __init__(self, control: Channel, *, alone: bool) -> None:
        self.control = control
        self.alone = alone
        self.child = 0
        self.given = present(PRIVATE)
        self.runner = Runner(make_shell())
        self.runner.speak_to(lambda _: None)
        self.memory = self.processes = self.file_size = 0
        self.budget = 0.0

    def serve(self) -> None:
        """Do what the grader says until it hangs up."""
        while True:
            order = self.control.receive()
            do = order.pop("do")
            if do == "prepare":
                self.control.send(self.prepare(**order))
            elif do == "fork":
                self.fork()
            elif do == "end":
                self.control.send(self.end())

    def prepare(
        self,
        modules: list[str],
        cells: list[str],
        limits: dict[str, Any],
        lab: str,
        solution: str,
        database: bool,
    ) -> dict[str, Any]:
        """Import modules, run set-up cells, and say whether a fork is still safe."""
        self.memory, self.processes = limits["memory"], limits["processes"]
        self.file_size, self.budget = limits["file_size"], limits["seconds"]
        for name in modules:
            with contextlib.suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(name)
        self.runner.references = share_references(lab, solution)
        if database:
            share_database()
        ended = [self.runner.cell(source) for source in cells]
        self.runner.guard = Guard()
        seal()
        collect()
        return {"cells": ended, "threads": thread_count(), "alone": self.alone}

    def fork(self) -> None:
        """Make the child for one submission; its socket comes with the order."""
        self.control.send({"waiting": True})  # or the order's reader would swallow the socket
        _, descriptors, _, _ = socket.recv_fds(self.control.sock, 1, 1)
        self.child = os.fork()
        if self.child == 0:
            try:
                self.control.sock.close()
                self.be_child(Channel(socket.socket(fileno=descriptors[0])))
            finally:
                os._exit(0)
        for descriptor in descriptors:
            os.close(descriptor)
        self.control.send({"child": self.child})

    def be_child(self, channel: Channel) -> None:
        """Execute what the grader sends, until it hangs up or the child is ended."""
        os.setsid()
        _silence()
        private = [path for path in PRIVATE if path.is_dir()]
        landlocked = landlock.restrict(private, [Path("/dev/null")]) if self.alone else 0
        set_dumpable(True)  # or it could not read its own /proc
        limit_process(
            memory=self.memory,
            seconds=self.budget,
            processes=self.processes,
            file_size=self.file_size,
        )
        gc.enable()
        _reseed()
        _forget_machinery()
        serve_cells(self.runner, channel, {"landlock": landlocked})

    def end(self) -> dict[str, Any]:
        """End the child and all that it has left behind, and empty the private folders."""
        usage: dict[str, Any] = {}
        clean = True
        if self.child:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.child, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.child, signal.SIGKILL)
            if self.alone:
                clean = end_all_others()
            _, status, used = os.wait4(self.child, 0)
            usage = {"status": status, "memory": used.ru_maxrss * 1024, "cpu": used.ru_utime}
            self.child = 0
        if self.alone:
            clean = empty(PRIVATE, self.given) and clean
            clean = remove_shared_memory() and clean
        return {"ended": usage, "clean": clean}


def serve_cells(runner: Runner, channel: Channel, hello: dict[str, Any]) -> None:
    """Execute cells and checks as they come; the last thing a child does."""
    assert runner.guard is not None
    runner.speak_to(channel.send)

    def audit(event: str, about: str) -> None:
        channel.send({"audit": [event, about]})

    runner.audit = audit
    begin = listen(audit, is_learners)
    channel.send({"ready": hello})
    while True:
        try:
            order = channel.receive()
        except Closed:
            return
        do = order.pop("do")
        if do == "fix":
            runner.guard.fix(runner.shell.user_ns, order["names"])
            begin()
            continue
        if do == "database":
            DATABASE["url"] = order["url"]
            continue
        if do == "about":
            reply = {
                "modules": about_modules(),
                "threads": thread_count(),
                "sockets": open_sockets(),
            }
        else:
            reply = runner.check(**order) if do == "check" else runner.cell(**order)
        channel.send({"reply": reply})


def about_modules() -> list[str]:
    """Return what is imported by now and can be imported ahead the next time."""
    return [
        name
        for name, module in list(sys.modules.items())
        if getattr(module, "__spec__", None) is not None
        and not name.startswith(("course_lib.teaching.grade", "__"))
    ]


def _is_alone(outside: str) -> bool:
    try:
        return bool(outside) and os.readlink("/proc/self/ns/pid") != outside
    except OSError:
        return False


def _silence() -> None:
    """Lead the standard streams nowhere: what a learner prints goes through the channel."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)


def _reseed() -> None:
    """Give every submission the same randomness, whichever parent it comes from."""
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


def _forget_machinery() -> None:
    """Take the grader's own modules out of easy reach."""
    for name in [name for name in sys.modules if name.startswith("course_lib.teaching.grade")]:
        del sys.modules[name]


if __name__ == "__main__":
    sys.exit(main())
