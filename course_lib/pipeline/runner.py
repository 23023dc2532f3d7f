"""The runner of `kfp.local`, which starts each step with the Python that runs the course."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kfp.local import SubprocessRunner


def subprocess_runner() -> SubprocessRunner:
    """Return kfp's runner whose steps are processes of this machine, in this environment.

    kfp (2.17) writes the path of the interpreter into the steps' shell scripts as it is. In a
    folder with a space in its name the shell takes it for two words, and every step ends with
    ``not found``; so the path is quoted here on its way into the script.
    """
    from kfp.local import SubprocessRunner, subprocess_task_handler

    into_script = subprocess_task_handler.replace_python_executable
    if into_script.__module__ == subprocess_task_handler.__name__:

        def quoted(full_command: list[str], new_executable: str) -> list[str]:
            parts: list[str] = into_script(full_command, shlex.quote(new_executable))
            return parts

        subprocess_task_handler.replace_python_executable = quoted
    return SubprocessRunner(use_venv=False)
