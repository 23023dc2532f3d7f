"""The ordinary kernel, ipykernel's, with one addition: it runs checks as `Runner.check` does.

`python -m course_lib.teaching.grade.inside.kernel` is started by `cold`. A request that begins with
the secret of its environment is an order of the grader's; everything else is a cell.
"""

from __future__ import annotations

import json
import os
from typing import Any

from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp

from course_lib.teaching.grade.inside.audits import listen
from course_lib.teaching.grade.inside.borrowing import is_learners
from course_lib.teaching.grade.inside.guard import Guard
from course_lib.teaching.grade.inside.limits import open_sockets, thread_count
from course_lib.teaching.grade.inside.runner import Runner
from course_lib.teaching.grade.inside.sealing import seal
from course_lib.teaching.grade.inside.sharing import DATABASE, share_database, share_references
from course_lib.teaching.grade.inside.warm import about_modules

SECRET = "COURSE_GRADING_SECRET"


class GradingKernel(IPythonKernel):
    """An IPython kernel that also takes orders of the grader's."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)  # type: ignore[no-untyped-call]
        self._secret = os.environ.pop(SECRET)
        self._shell: Any = self.shell
        self._runner = Runner(self._shell)
        self._messages: list[dict[str, Any]] = []
        self._audits: list[list[str]] = []
        self._runner.hear(self._messages.append)
        self._runner.audit = lambda event, about: self._audits.append([event, about])
        self._begin = listen(self._runner.audit, is_learners)

    async def do_execute(self, code: str, *given: Any, **named: Any) -> Any:
        """Execute a cell, or an order that begins with the secret."""
        if not code.startswith(self._secret):
            execute: Any = super().do_execute
            reply = await execute(code, *given, **named)
            if self._runner.guard is not None:
                self._runner.changed += self._runner.guard.restore()
            return reply
        self._messages.clear()
        result = self._obey(json.loads(code[len(self._secret) :]))
        told = {"result": result, "messages": list(self._messages), "audits": list(self._audits)}
        self._audits.clear()
        return {
            "status": "ok",
            "execution_count": self._shell.execution_count,
            "payload": [],
            "user_expressions": {"grading": told},
        }

    def _obey(self, order: dict[str, Any]) -> dict[str, Any]:
        do = order.pop("do")
        if do == "share":
            self._runner.references = share_references(order["lab"], order["solution"])
            if order["database"]:
                share_database()
            return {}
        if do == "database":
            DATABASE["url"] = order["url"]
            return {}
        if do == "fix":
            self._runner.guard = Guard()
            seal()
            self._runner.guard.fix(self._shell.user_ns, order["names"])
            self._begin()
            return {}
        if do == "about":
            modules = about_modules()
            return {"modules": modules, "threads": thread_count(), "sockets": open_sockets()}
        return self._runner.check(**order)


if __name__ == "__main__":
    IPKernelApp.launch_instance(kernel_class=GradingKernel)
