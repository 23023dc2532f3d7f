"""Programs that the set-up calls: their environment, their output, and a limit on their time."""

from __future__ import annotations

import os
import subprocess

# With these set, pip would install elsewhere or a Python would import another one's packages.
_MISLEADING = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "__PYVENV_LAUNCHER__",
)


class SetupError(Exception):
    """The set-up cannot go on: the message says why, and what to do."""


def clean_environment() -> dict[str, str]:
    """Return the environment for pip: nothing that misleads it, and no questions asked."""
    kept = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    return {
        **kept,
        "PIP_USER": "0",
        "PIP_NO_INPUT": "1",
        # Compiling everything takes longer than all the rest; what is used is compiled when used.
        "PIP_NO_COMPILE": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
        "PYTHONUTF8": "1",
    }


def output_of(command: list[str], seconds: float = 60.0) -> str:
    """Return what a command prints, or an empty string where it does not exist or takes too long.

    Examples
    --------
    >>> output_of(["there-is-no-such-program"])
    ''
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
            env=clean_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def succeeds(command: list[str], seconds: float) -> bool:
    """Return whether a command ends well within a time; it is killed after that."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
            env=clean_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
