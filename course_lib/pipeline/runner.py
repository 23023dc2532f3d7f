"""The runner of `kfp.local`, which starts each step with the Python that runs the course."""

from __future__ import annotations

import shlex
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from kfp.local import SubprocessRunner

EXECUTOR = "kfp.dsl.executor_main"
"""Is in the command of every step."""

_stopping = threading.Event()


def subprocess_runner() -> SubprocessRunner:
    """Return kfp's runner whose steps are processes of this machine, in this environment.

    kfp (2.17) writes the path of the interpreter into the steps' shell scripts as it is. In a
    folder with a space in its name the shell takes it for two words, and every step ends with
    ``not found``; so the path is quoted here on its way into the script. No step is started while
    a run is being stopped.
    """
    from kfp.local import SubprocessRunner, subprocess_task_handler

    into_script = subprocess_task_handler.replace_python_executable
    if into_script.__module__ == subprocess_task_handler.__name__:

        def quoted(full_command: list[str], new_executable: str) -> list[str]:
            if _stopping.is_set():
                raise KeyboardInterrupt
            parts: list[str] = into_script(full_command, shlex.quote(new_executable))
            return parts

        subprocess_task_handler.replace_python_executable = quoted
    return SubprocessRunner(use_venv=False)


@contextmanager
def ended_with_us() -> Iterator[None]:
    """End the steps with whoever started them, on Ctrl-C and on SIGTERM.

    kfp takes a step that was interrupted for one that failed, and starts it again; and what is
    ended from outside would leave steps that go on writing. Signals reach the main thread alone,
    so nothing is done where a run is started from another one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        _stopping.set()
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if EXECUTOR in " ".join(process.cmdline()):
                    process.kill()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        _stopping.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
