"""`course doctor`: what is wrong on this machine, and the fix, a line each.

It looks at Python, the packages, the model, the database, the disk and bubblewrap, changes nothing,
and takes a second or two. An examination that itself fails is a finding like the others.
"""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from course_lib.bootstrap import (
    NEWEST_PYTHON,
    NEWEST_TRIED,
    OLDEST_PYTHON,
    torch_pin,
    up_to_date,
)
from course_lib.errors import CourseError
from course_lib.settings import project_root, settings, state_dir

SET_UP = "Run `make setup` (or `python course_lib/bootstrap.py`)."
State = Literal["ok", "warn", "fail"]

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@dataclass(frozen=True)
class Finding:
    """What was looked at, how it is, and what to do about it.

    Parameters
    ----------
    name
        What was looked at.
    state
        `ok`; `warn`: the course runs, less well; `fail`: it does not.
    detail
        What was found.
    fix
        What to do; empty where nothing is wrong.
    """

    name: str
    state: State
    detail: str
    fix: str = ""


def examine(root: Path | None = None) -> list[Finding]:
    """Return all findings; never raises, and leaves everything as it was.

    Parameters
    ----------
    root
        The project; None takes the one that this package belongs to.
    """
    base = root or project_root()
    examinations: dict[str, Callable[[], Finding]] = {
        "Python": lambda: python_finding(tuple(sys.version_info[:3]), sys.executable),
        "packages": lambda: packages_finding(base, installed_versions()),
        "model": lambda: model_finding(settings().embed_model),
        "database": lambda: database_finding(settings().database_url),
        "disk": lambda: disk_finding(shutil.disk_usage(base).free / 1e9, state_dir()),
        "bubblewrap": bubblewrap_finding,
    }
    findings = []
    for name, examination in examinations.items():
        try:
            findings.append(examination())
        except CourseError as error:
            findings.append(Finding(name, "fail", str(error.args[0]), error.hint))
        except Exception as error:  # the other lines are still to be told
            detail = f"could not be looked at: {error!r}"
            findings.append(Finding(name, "warn", detail, "Please report this."))
    return findings


def main() -> int:
    """Print the findings, each fault with its fix, and return 1 where something fails."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False, soft_wrap=True)
    findings = examine()
    for finding in findings:
        colour = _COLOURS[finding.state]
        shown = f"{finding.name:10}  {escape(finding.detail)}"
        console.print(f"[{colour}]{finding.state:4}[/{colour}]  {shown}")
        if finding.fix:
            console.print(f"{'':18}fix: {escape(finding.fix)}")
    states = [finding.state for finding in findings]
    if "fail" in states:
        console.print(f"{states.count('fail')} to mend before the course runs.")
        return 1
    console.print("The course runs here." if "warn" in states else "All is well.")
    return 0


def python_finding(version: tuple[int, ...], executable: str) -> Finding:
    """Return whether the course runs on this Python.

    Examples
    --------
    >>> python_finding((3, 9, 6), "/usr/bin/python3").state
    'fail'
    """
    detail = f"{'.'.join(map(str, version))} ({executable})"
    oldest, tried = (".".join(map(str, one)) for one in (OLDEST_PYTHON, NEWEST_TRIED))
    if version[:2] < OLDEST_PYTHON:
        return Finding("Python", "fail", detail, f"Install Python {oldest} or newer; `make setup`.")
    if version[:2] > NEWEST_TRIED:
        new = version[:2] > NEWEST_PYTHON
        why = "Some packages have no wheels for it" if new else "The course was not run on it"
        fix = f"{why}: install Python {tried}, remove .venv, `make setup PYTHON=python{tried}`."
        return Finding("Python", "warn", detail, fix)
    return Finding("Python", "ok", detail)


def packages_finding(root: Path, installed: Mapping[str, str]) -> Finding:
    """Return whether the packages of the lock, and torch, are there in their versions.

    Parameters
    ----------
    root
        The project, with its lock and perhaps `.venv`.
    installed
        Name and version of each package that is there.
    """
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    pins = {**read_pins(lock), "torch": torch_pin(root)}
    wrong = [
        f"{name} {installed.get(name, 'missing')} instead of {version}"
        for name, version in sorted(pins.items())
        if installed.get(name, "").partition("+")[0] != version  # torch may be 2.13.0+cpu
    ]
    if wrong:
        state: State = "warn" if set(pins) <= set(installed) else "fail"
        more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
        detail = f"not as in requirements.lock: {', '.join(wrong[:5])}{more}"
        return Finding("packages", state, detail, SET_UP)
    if Path(sys.prefix).resolve() == (root / ".venv").resolve() and not up_to_date(root):
        return Finding("packages", "warn", ".venv was not completed for this lock", SET_UP)
    return Finding("packages", "ok", f"{len(pins)}, all as in requirements.lock")


def installed_versions() -> dict[str, str]:
    """Return name and version of each installed package, names in their normal form."""
    from packaging.utils import canonicalize_name

    found = [one for one in importlib.metadata.distributions() if one.metadata["Name"]]
    return {str(canonicalize_name(one.metadata["Name"])): one.version for one in found}


def read_pins(lock: str) -> dict[str, str]:
    r"""Return name and version of each package of a lock that this machine and Python need.

    Examples
    --------
    >>> read_pins("# made by hand\nnest_asyncio==1.6.0\npywinpty==3.0 ; sys_platform == 'beos'\n")
    {'nest-asyncio': '1.6.0'}
    """
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    pins = {}
    for line in lock.splitlines():
        if line[:1].isalnum():
            wanted = Requirement(line.rstrip(" \\"))
            if wanted.marker is None or wanted.marker.evaluate():
                pins[str(canonicalize_name(wanted.name))] = next(iter(wanted.specifier)).version
    return pins


def model_finding(model: str) -> Finding:
    """Return whether the model's weights are there and are the published ones."""
    from course_lib.embedder.weights import check_weights, model_directory

    folder = model_directory(model)
    if folder is None:
        detail = f"{model} is not on this machine; it comes from the hub when it is first used"
        return Finding("model", "warn", detail, "Unset RAG_EMBED_MODEL to stay offline.")
    check_weights(folder)
    return Finding("model", "ok", f"{model}, weights checked")


def database_finding(url: str | None) -> Finding:
    """Return whether the database that the course would use now is there; none is started.

    Parameters
    ----------
    url
        Of DATABASE_URL, whose server is asked; None is the embedded server.

    Raises
    ------
    CourseError
        If it cannot be used.
    """
    from course_lib.store.binaries import find_binaries
    from course_lib.store.collection import in_collection
    from course_lib.store.connections import check_database, connect
    from course_lib.store.server import check_server
    from course_lib.store.urls import hide_password

    if not url:
        found, server = find_binaries(), check_server()
        runs = f"runs on {server.host}:{server.port}" if server else "is started when it is needed"
        return Finding("database", "ok", f"PostgreSQL {found.version} {runs}")
    with connect(in_collection(url, settings().collection), seconds=2) as conn:  # as commands do
        vector = check_database(conn, url)
        versions = f"PostgreSQL {conn.info.server_version // 10_000}, pgvector {vector}"
    return Finding("database", "ok", f"{hide_password(url)}: {versions}")


def disk_finding(free_gb: float, state: Path) -> Finding:
    """Return whether there is room, and the course can write to its own folder."""
    folder = state if state.exists() else state.parent
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        fix = f"Make {folder} writable for you, or set COURSE_STATE to a folder that is."
        return Finding("disk", "fail", f"{folder}: {error.strerror or error}", fix)
    free = f"{free_gb:.1f} GB free"
    if free_gb < 1:
        fix = "Free some space: 1 GB is needed. `make clean` removes what can be made again."
        return Finding("disk", "fail" if free_gb < 0.25 else "warn", free, fix)
    # Where root's server runs under another account, that account's group may pass through.
    if sys.platform != "win32" and state.exists() and state.stat().st_mode & 0o067:
        return Finding(
            "disk", "warn", f"other accounts can look into {state}", f"chmod 700 {state}"
        )
    return Finding("disk", "ok", f"{free}; {folder} can be written")


def bubblewrap_finding() -> Finding:
    """Return whether bubblewrap can fence submissions in; who only learns does not need it."""
    from course_lib.teaching.grade.fence import WITHOUT, find_fence

    try:
        find_fence()
    except CourseError as error:
        fix = error.hint.replace(WITHOUT, "").strip()
        return Finding("bubblewrap", "warn", f"{error.args[0]}; only `course grade` needs it", fix)
    return Finding("bubblewrap", "ok", "works; what is graded runs in it")
