"""The accident of lab 11: a process is killed while it works.

`run_locally` says what becomes of each step. What is made here listens, and kills the first process
of one step, as it happens when a cloud provider takes a machine away.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

import psutil

EXECUTOR = "kfp.dsl.executor_main"
TIMEOUT_SECONDS = 120


def kill_first(step: str) -> Callable[[str, str, float], None]:
    """Return a listener for `run_locally` that kills the first process of a step.

    Parameters
    ----------
    step
        The name of the step, such as ``"embed-and-store"``.

    Examples
    --------
    >>> run = run_locally("docs_pipeline", root=work, on_event=kill_first("embed-and-store"))
    """
    killers = [Thread(target=_kill_one, args=(step.replace("-", "_"),), daemon=True)]

    def on_event(what: str, task: str, seconds: float) -> None:
        if (what, task.partition("[")[0]) == ("started", step) and killers:
            killers.pop().start()

    return on_event


def _kill_one(function: str) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # it has ended meanwhile
                if {EXECUTOR, function} <= {*process.cmdline()}:
                    process.kill()
                    return
        time.sleep(0.05)
