"""What a process costs, from its start to its end, with the processes that it starts itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# A process's peak memory counts what it was forked from, so the process between has to be small.
BETWEEN = """
import json, os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(process.pid, 0)
seconds = used.ru_utime + used.ru_stime
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, used.ru_maxrss]))
"""
CAN_MEASURE = hasattr(os, "wait4")


@dataclass(frozen=True)
class Cost:
    """CPU seconds in user and system mode, and peak memory in MB."""

    seconds: float
    mb: float


def cost(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end and return what it cost; only where `CAN_MEASURE`.

    Raises
    ------
    OSError
        If the command fails.
    """
    variables = os.environ | (environment or {})
    # A second run finds the bytecode that the first one wrote, as on anybody's machine.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-S", "-c", BETWEEN, *command],
        env=variables,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    code, seconds, memory = json.loads(done.stdout)
    if code:
        raise OSError(f"{command[0]} ended with exit code {code}: {done.stderr.strip()}")
    return Cost(seconds, memory / (2**20 if sys.platform == "darwin" else 1024))
