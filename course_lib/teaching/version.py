"""Which version of the course this is: its number, and the commit of its checkout."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from course_lib import __version__


def course_version(root: Path | None = None) -> str:
    """Return the course's version with its commit, which `git switch --detach` brings back.

    Parameters
    ----------
    root
        The course; None takes the folder that this package is in. A course that was unpacked
        from an archive has no commit, even within a repository of somebody else's.

    Examples
    --------
    >>> course_version(Path("/nowhere"))
    '0.1.0, no commit known'
    >>> course_version()  # doctest: +SKIP
    '0.1.0, commit 2c59d065e1f8 of 2026-11-29 with changes'
    """
    root = root or Path(__file__).resolve().parents[2]
    commit = _git(root, "log", "-1", "--format=%h of %cs", "--abbrev=12")
    if not ((root / ".git").exists() and commit):
        return f"{__version__}, no commit known"
    changed = _git(root, "status", "--porcelain", "--", "course_lib", "solutions")
    return f"{__version__}, commit {commit}{' with changes' if changed else ''}"


def _git(root: Path, *words: str) -> str:
    """Return what git says; nothing where there is no git or no repository."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "--no-optional-locks", "-C", str(root), *words]
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", env=environment, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
