"""Findings about the machine: Python, wheels, memory, disk, encoding, tools.

Each function takes the facts as arguments, so that a test can make up any machine.
"""

from __future__ import annotations

from collections.abc import Callable

from course_lib.bootstrap import NEWEST_PYTHON, OLDEST_PYTHON, Machine, missing_wheels
from course_lib.teaching.doctor.finding import Finding

# What is not needed by default, and what it is for.
OPTIONAL_TOOLS = {
    "git": "changes of the course, `course lock`, repositories of your own",
    "docker": "`make up`: PostgreSQL in a container instead of the embedded one",
    "shellcheck": "`make test` reads the shell scripts with it",
}


def python_finding(version: tuple[int, ...], executable: str) -> Finding:
    """Return whether the course runs on this Python.

    Examples
    --------
    >>> python_finding((3, 9, 6), "/usr/bin/python3").state
    'fail'
    """
    shown = ".".join(map(str, version[:3]))
    detail = f"{shown} ({executable})"
    if version[:2] < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return Finding("Python", "fail", detail, f"Install Python {wanted} or newer; `make setup`.")
    if version[:2] > NEWEST_PYTHON:
        wanted = ".".join(map(str, NEWEST_PYTHON))
        fix = (
            f"Some packages have no wheels for it yet: install Python {wanted}, then `make setup`."
        )
        return Finding("Python", "warn", detail, fix)
    return Finding("Python", "ok", detail)


def wheels_finding(machine: Machine) -> Finding:
    """Return whether PyTorch and the PostgreSQL binaries have wheels for this machine.

    Examples
    --------
    >>> wheels_finding(Machine("Darwin", "x86_64")).state
    'fail'
    """
    release = ".".join(map(str, machine.release))
    detail = " ".join(
        part for part in (machine.system, machine.architecture, machine.libc, release) if part
    )
    why = missing_wheels(machine)
    if not why:
        return Finding("wheels", "ok", detail)
    reason, _, fix = why.partition(". ")
    return Finding("wheels", "fail", f"{detail}: {reason}", fix)


def disk_finding(free_gb: float, *, installed: bool) -> Finding:
    """Return whether the disk has room for what is still to come."""
    needed = 1.0 if installed else 4.0
    detail = f"{free_gb:.1f} GB free"
    if free_gb < needed:
        fix = f"Free some space: {needed:.0f} GB are needed. `make clean` removes what can be made."
        return Finding("disk", "fail" if free_gb < needed / 4 else "warn", detail, fix)
    return Finding("disk", "ok", detail)


def memory_finding(total_gb: float, available_gb: float) -> Finding:
    """Return whether the memory is enough for a notebook with the model in it."""
    detail = f"{available_gb:.1f} of {total_gb:.1f} GB available"
    if available_gb < 1.5:
        fix = "Close other programs and kernels; `course run --jobs 1` runs one notebook at a time."
        return Finding("memory", "warn", detail, fix)
    return Finding("memory", "ok", detail)


def encoding_finding(preferred: str, output: str) -> Finding:
    """Return whether text is UTF-8 by default, and shown so.

    Examples
    --------
    >>> encoding_finding("cp1252", "utf-8").fix
    'Set PYTHONUTF8=1 in the environment.'
    """
    found = {name.lower().replace("-", "").replace("_", "") for name in (preferred, output)}
    if found == {"utf8"}:
        return Finding("encoding", "ok", "UTF-8")
    detail = f"files {preferred}, terminal {output}: some characters are shown as ?"
    return Finding("encoding", "warn", detail, "Set PYTHONUTF8=1 in the environment.")


def tools_findings(which: Callable[[str], str | None]) -> list[Finding]:
    """Return where the optional tools are; a missing one is not a fault."""
    return [
        Finding(tool, "ok", which(tool) or f"not there (optional: {purpose})")
        for tool, purpose in OPTIONAL_TOOLS.items()
    ]
