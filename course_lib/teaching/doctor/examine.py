"""Gather the facts of this machine, hand them to the examinations, and print what they found."""

from __future__ import annotations

import importlib.metadata
import locale
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from course_lib.bootstrap import this_machine, torch_pin
from course_lib.settings import project_root, settings, state_dir
from course_lib.teaching.doctor import database, grading, machine, packages
from course_lib.teaching.doctor.finding import Finding

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def examine(root: Path | None = None) -> list[Finding]:
    """Return all findings; never raises, and leaves everything as it was.

    The PostgreSQL of a grading run is started, and gone when this returns.

    Parameters
    ----------
    root
        The project; None takes the one that this package belongs to.
    """
    base = root or project_root()
    findings: list[Finding] = []
    for name, examination in _examinations(base).items():
        try:
            found = examination()
        except Exception as error:  # a doctor who faints helps nobody
            detail = f"could not be looked at: {type(error).__name__}: {error}"
            found = Finding(name, "warn", detail, "Please report this.")
        findings += [found] if isinstance(found, Finding) else found
    return findings


def main() -> int:
    """Print the findings, each fault with its fix, and return 1 where something fails."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False, soft_wrap=True)
    findings = examine()
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        colour = _COLOURS[finding.state]
        mark = f"[{colour}]{finding.state:4}[/{colour}]"
        console.print(f"{mark}  {finding.name:{width}}  {escape(finding.detail)}")
        if finding.fix:
            console.print(f"      {'':{width}}  fix: {escape(finding.fix)}")
    failed = sum(finding.state == "fail" for finding in findings)
    warned = sum(finding.state == "warn" for finding in findings)
    if failed:
        console.print(f"{failed} to mend before the course runs.")
    elif warned:
        console.print("The course runs here; the warnings say what would make it run better.")
    else:
        console.print("All is well.")
    return 1 if failed else 0


def _examinations(base: Path) -> dict[str, Callable[[], Finding | Iterable[Finding]]]:
    grading_findings = grading.begin_grading()
    return {
        "Python": lambda: machine.python_finding(tuple(sys.version_info[:3]), sys.executable),
        "wheels": lambda: machine.wheels_finding(this_machine()),
        "environment": lambda: packages.environment_finding(base, sys.prefix),
        "packages": lambda: _pins(base),
        "PyTorch": lambda: packages.torch_finding(
            torch_pin(base), _version_of("torch"), platform.system()
        ),
        "model": lambda: packages.model_finding(settings().embed_model),
        "encoder": packages.backend_finding,
        "kernel": lambda: packages.kernel_finding(sys.prefix),
        "variables": lambda: packages.variables_finding(os.environ),
        "encoding": lambda: machine.encoding_finding(
            locale.getpreferredencoding(False), sys.stdout.encoding or ""
        ),
        "database": lambda: database.database_findings(settings().database_url),
        "state": lambda: database.state_finding(state_dir()),
        "disk": lambda: machine.disk_finding(
            shutil.disk_usage(base).free / 1e9, installed=_version_of("torch") is not None
        ),
        "memory": _memory,
        "labs": lambda: notebooks_finding(base),
        "grading": grading_findings,
        "tools": lambda: machine.tools_findings(shutil.which),
    }


def notebooks_finding(base: Path) -> Finding:
    """Return whether each source has its notebooks; `course build --check` compares them."""
    sources = sorted((base / "solutions").glob("[0-9][0-9]_*.py"))
    missing = [
        f"{folder}/{source.stem}.ipynb"
        for source in sources
        for folder in ("labs", "solutions")
        if not (base / folder / f"{source.stem}.ipynb").is_file()
    ]
    if missing:
        fix = "Run `make build`, or bring them back with `git checkout labs solutions`."
        return Finding("labs", "warn", f"missing: {', '.join(missing)}", fix)
    return Finding("labs", "ok", f"{len(sources)} labs and their solutions")


def _pins(base: Path) -> Finding:
    from course_lib.teaching.lock import read_pins

    lock = (base / "requirements.lock").read_text(encoding="utf-8")
    return packages.pins_finding(read_pins(lock), packages.installed_versions())


def _memory() -> Finding:
    import psutil

    memory = psutil.virtual_memory()
    return machine.memory_finding(memory.total / 1e9, memory.available / 1e9)


def _version_of(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
