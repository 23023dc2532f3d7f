"""Find a Python that can carry the course, or say which one to install."""

from __future__ import annotations

import json
import re
import shutil
import sys

from course_lib.installer.processes import SetupError, output_of

OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 14)  # for newer ones, torch and the PostgreSQL binaries have no wheels yet

# A Python that lacks one of these was built without the headers for it, or its distribution keeps
# it in another package; pip, Jupyter or pandas would fail later and less clearly.
_MODULES = ("bz2", "ctypes", "ensurepip", "lzma", "sqlite3", "ssl", "venv")
_PROBE = """
import json, platform, sys, sysconfig
from importlib import import_module
missing = []
for name in {modules!r}:
    try:
        import_module(name)
    except Exception:
        missing.append(name)
print(json.dumps(dict(
    version=list(sys.version_info[:3]),
    implementation=platform.python_implementation(),
    bits=64 if sys.maxsize > 2**32 else 32,
    gil=not sysconfig.get_config_var("Py_GIL_DISABLED"),
    missing=missing,
)))
"""


def ask(python: str, modules: tuple[str, ...] = _MODULES) -> dict[str, object]:
    """Return what a Python says of itself; an empty dict where it does not run."""
    try:
        answer = json.loads(output_of([python, "-I", "-c", _PROBE.format(modules=modules)]))
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def unsuitable(answer: dict[str, object]) -> str:
    """Return why a Python cannot carry the course, given its answer to `ask`; empty where it can.

    Examples
    --------
    >>> unsuitable({"version": [3, 9, 6]})
    'it is 3.9.6'
    >>> unsuitable({"version": [3, 12, 1], "missing": ["ensurepip"]})
    'it lacks ensurepip'
    """
    version, missing = answer.get("version"), answer.get("missing")
    if not isinstance(version, list):
        return "it does not run"
    if not OLDEST_PYTHON <= tuple(version[:2]) <= NEWEST_PYTHON:
        return "it is " + ".".join(str(part) for part in version)
    if answer.get("implementation", "CPython") != "CPython":
        return f"it is {answer['implementation']}"
    if answer.get("bits", 64) != 64:
        return "it is a 32-bit one"
    if not answer.get("gil", True):
        return "it is a free-threaded build, for which there are few wheels"
    if isinstance(missing, list) and missing:
        return "it lacks " + ", ".join(str(name) for name in missing)
    return ""


def find_python() -> str:
    """Return the path of a Python that can carry the course, the running one where it can.

    Raises
    ------
    SetupError
        None was found; the message names what to install.
    """
    running = getattr(sys, "_base_executable", None) or sys.executable
    names = [f"python3.{minor}" for minor in (12, 11, 13, 14)] + ["python3", "python"]
    on_path = [found for found in map(shutil.which, names) if found]
    refused: dict[str, str] = {}
    for candidate in [str(running), *on_path]:
        refused[candidate] = unsuitable(ask(candidate))
        if not refused[candidate]:
            return candidate
    raise SetupError(advice(refused, sys.platform, apt=shutil.which("apt") is not None))


def advice(refused: dict[str, str], platform: str, *, apt: bool) -> str:
    """Return what to install where no Python will do.

    Parameters
    ----------
    refused
        Path of each Python that was found, and why it will not do.
    platform
        As in `sys.platform`.
    apt
        Is this a Debian or one of its descendants?

    Examples
    --------
    >>> print(advice({"/usr/bin/python3.11": "it lacks ensurepip"}, "linux", apt=True))
    The course needs Python 3.11 to 3.14, and none was found that will do.
        /usr/bin/python3.11: it lacks ensurepip
    On Debian and Ubuntu: apt install python3.11-venv
    """
    oldest, newest = (".".join(map(str, version)) for version in (OLDEST_PYTHON, NEWEST_PYTHON))
    lines = [f"The course needs Python {oldest} to {newest}, and none was found that will do."]
    lines += [f"    {path}: {reason}" for path, reason in refused.items()]
    without_venv = [path for path, reason in refused.items() if reason == "it lacks ensurepip"]
    if apt and without_venv:
        found = re.search(r"python3\.\d+$", without_venv[0])
        name = found.group() if found else "python3"
        lines.append(f"On Debian and Ubuntu: apt install {name}-venv")
    elif apt:
        lines.append("On Debian and Ubuntu: apt install python3.11 python3.11-venv (or newer)")
    elif platform == "darwin":
        lines.append("On macOS: brew install python@3.12, or the installer of python.org")
    elif platform == "win32":
        lines.append("On Windows: winget install Python.Python.3.12")
    else:
        lines.append("Install Python 3.12 with the package manager of your system.")
    return "\n".join(lines)
