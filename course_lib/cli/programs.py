"""Programs that a command is only another name for: JupyterLab and psql."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_instead(
    command: Sequence[str | Path],
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> int:
    """Run a program in the place of this process, so that signals reach it and it alone answers.

    Windows cannot do that: there, this returns the program's exit code, and Ctrl-C is left to it.

    Parameters
    ----------
    command
        The program's path and its arguments.
    environment
        Its variables; this process's without it.
    folder
        Its current folder.

    Examples
    --------
    >>> run_instead([sys.executable, "-m", "jupyterlab"])  # doctest: +SKIP
    """
    given = dict(os.environ if environment is None else environment)
    if sys.platform != "win32":
        if folder:
            os.chdir(folder)
        # Python ignores it, and a program would inherit that.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execve(command[0], [str(word) for word in command], given)
    with subprocess.Popen(command, env=given, cwd=folder) as process:
        while process.returncode is None:
            try:
                process.wait()
            except KeyboardInterrupt:
                continue  # the program heard it, too, and ends as it sees fit
    return process.returncode
