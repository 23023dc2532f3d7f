"""The warm parent within the fence: it imports what a lab needs, and forks for each submission.

`python -m course_lib.teaching.grade.inside.worker` speaks with the grader through the socket that
it is given. It opens no connection and starts no thread before it forks. After each submission it
ends all that has been left running and empties the private folders.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import random
import signal
import socket
import sys
import warnings
from functools import reduce
from itertools import accumulate
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from course_lib.teaching import time_limit
from course_lib.teaching.grade.inside.answers import TAKEN, fill_in, take_answers
from course_lib.teaching.grade.inside.channel import LONGEST, Channel, Closed
from course_lib.teaching.grade.inside.cleaning import (
    PRIVATE,
    empty,
    end_all_others,
    present,
    remove_shared_memory,
)
from course_lib.teaching.grade.inside.limits import (
    become,
    limit_process,
    process_namespace,
    set_dumpable,
)
from course_lib.teaching.grade.inside.notebook import make_shell, run_notebook, told_of, warm_up

PATIENCE = 10.0
"""So many times its limit of processor time a check may take on the clock: others grade, too."""


def main() -> int:
    """Serve the grader until it hangs up."""
    given = json.loads(sys.argv[1])
    control = Channel(socket.socket(fileno=given["fd"]))
    become(given["user"])
    set_dumpable(False)
    os.chdir(given["folder"])
    with contextlib.suppress(Closed):
        namespace = process_namespace()
        Parent(control, bool(namespace) and namespace != given["namespace"]).serve()
    return 0


class Parent:
    """Answers the grader: prepares once, then forks and cleans up for each submission.

    Parameters
    ----------
    control
        To the grader.
    own_namespace
        Whether no process but those of the submission can be seen, so that all may be ended.
    """

    def __init__(self, control: Channel, own_namespace: bool) -> None:
        self.control = control
        self.own_namespace = own_namespace
        self.before = present(PRIVATE) if own_namespace else frozenset[Path]()
        self.child = 0

    def serve(self) -> None:
        """Do what the grader says until it hangs up."""
        order = self.control.receive()
        self.limits: dict[str, Any] = order["limits"]
        for name in order["modules"]:
            with contextlib.suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                importlib.import_module(name)
        vars(time_limit)["PATIENCE"] = PATIENCE
        if order["exercises"]:
            take_answers()
        self.shell = make_shell()
        warm_up(self.shell)
        gc.collect()
        gc.freeze()
        self.control.send({"own_namespace": self.own_namespace})
        while True:
            match self.control.receive()["do"]:
                case "fork":
                    self.fork()
                case "answer":
                    self.control.send({"here": True})
                case _:
                    self.control.send({"clean": self.clean()})

    def fork(self) -> None:
        """Make the child for one submission; its socket comes with the order."""
        self.control.send({"waiting": True})  # or the order's reader would swallow the socket
        _, (descriptor,), _, _ = socket.recv_fds(self.control.sock, 1, 1)
        self.child = os.fork()
        if self.child == 0:
            try:
                self.control.sock.close()
                self.be_child(Channel(socket.socket(fileno=descriptor)))
            finally:
                os._exit(0)
        os.close(descriptor)

    def be_child(self, channel: Channel) -> None:
        """Run what the grader sends, until it hangs up or the child is ended."""
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        set_dumpable(True)  # or it could not read its own /proc
        limit_process(**self.limits)
        gc.enable()
        random.seed(0)
        if numpy := sys.modules.get("numpy"):
            numpy.random.seed(0)
        if torch := sys.modules.get("torch"):
            torch.manual_seed(0)
        order = channel.receive()
        self.database = order["database"]
        if self.database:
            share_database(self.database)
        junit, self.names = run_notebook(order["notebook"], self.shell, channel)
        channel.send({"junit": junit})
        with contextlib.suppress(Closed):
            while True:
                order = channel.receive()
                if "audit" in order:
                    channel.send(self.audited(**order))
                else:
                    channel.send({"modules": imported()})

    def audited(
        self,
        audit: str,
        sheets: list[Any],
        after: int,
        patience: int,
        answers: dict[str, str],
        instead: list[str],
    ) -> dict[str, Any]:
        """Return what an exercise's answer gives for the calls of its sheets, as a cell left it.

        The course's answers to earlier exercises come along, and some of them are to be found
        instead of the learner's. After a sheet that does not come to an end, no other is begun.
        """
        from course_lib.teaching.checks import load
        from course_lib.teaching.checks.running import Calls, outcomes_of
        from course_lib.teaching.lab.checking import bound

        exercise = load(audit.split(".")[0])[audit]
        name, *attributes = exercise.name.split(".")
        self.shell.user_ns.update(self.names[after])  # what it calls is what it called there
        try:
            answer = reduce(getattr, attributes, self.names[after][name])
            course = {one: fill_in(one, text) for one, text in answers.items()}
            others = {
                key: course[one]
                for one in instead
                for key, value in self.shell.user_ns.items()
                if value is TAKEN.get(one.partition(":")[2], self)
            }
            with bound(self.shell.user_ns, others):
                told = list[dict[str, Any]]()
                for first, calls in sheets:
                    run = Calls(exercise.draws, answer, self.connect)
                    told.append(outcomes_of(run, calls, first, patience * exercise.time_limit))
                    if "later" not in told[-1]:
                        break
            return {"told": [_short(one) for one in json.loads(json.dumps(told))]}
        except BaseException as error:
            return {"error": f"{type(error).__name__}: {told_of(error)[:300]}"}

    def connect(self) -> Any:
        """Return a connection to the submission's database."""
        from course_lib.store import connect

        return connect(self.database)

    def clean(self) -> bool:
        """End the child and all that it has left, and tell whether nothing is there any more."""
        clean = True
        if self.child:
            for end in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    end(self.child, signal.SIGKILL)
            if self.own_namespace:
                clean = end_all_others()
            os.waitpid(self.child, 0)
            self.child = 0
        if self.own_namespace:
            clean = empty(PRIVATE, self.before) and clean
            clean = remove_shared_memory() and clean
        return clean


def _short(told: dict[str, Any]) -> dict[str, Any]:
    """Leave out the values of later calls where all are too long for a message."""
    sizes = accumulate(len(json.dumps(one)) for one in told["outcomes"])
    kept = [one for one, size in zip(told["outcomes"], sizes, strict=True) if size < LONGEST / 3]
    is_all = len(kept) == len(told["outcomes"])
    return told if is_all else {"outcomes": kept, "stopped": "memory"}


def imported() -> list[str]:
    """Return what is imported by now and can be imported ahead the next time."""
    return [
        name
        for name, module in list(sys.modules.items())
        if getattr(module, "__spec__", None) is not None
        and not name.startswith(("course_lib.teaching.grade", "__"))
    ]


def share_database(url: str) -> None:
    """Have the lab take the grader's database instead of making one."""
    from course_lib import store

    given = SimpleNamespace(name="grade", url=url, drop=lambda: None)
    vars(store)["fresh_database"] = lambda name, *, url=None: given


if __name__ == "__main__":
    sys.exit(main())
