"""Clones: git commands go in, and a line for each says what it cost."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


def run_git(clone: Path, *commands: str) -> str:
    """Run git commands in a folder; return a line for each, with its requests, files and bytes.

    Without git, it returns where to get it.

    Parameters
    ----------
    clone
        The folder of the clone; it is made if it does not exist.
    commands
        Each with its arguments, such as ``clone --depth=1 URL .``

    Examples
    --------
    >>> run_git(folder, "checkout HEAD -- code/scripts")  # doctest: +SKIP
    'checkout HEAD -- code/scripts: 5 requests; now 5 files, and .git has 13,873 bytes of objects'
    """
    if not shutil.which("git"):
        return "not installed: get git from https://git-scm.com, then run this cell again"
    clone.mkdir(parents=True, exist_ok=True)
    return "\n".join(_run(clone, command.split()) for command in commands)


def _run(clone: Path, words: list[str]) -> str:
    traced = os.environ | {"GIT_TRACE_PACKET": "1"}  # git writes each of its requests to stderr
    done = subprocess.run(
        ["git", *words], cwd=clone, env=traced, capture_output=True, encoding="utf-8", check=True
    )
    requests = done.stderr.count("> command=")
    files = sum(path.is_file() for path in clone.rglob("*") if ".git" not in path.parts)
    objects = (path for path in clone.glob(".git/objects/**/*") if path.is_file())
    size = sum(path.stat().st_size for path in objects)
    shown = " ".join(word for word in words if "://" not in word and word != ".")
    return (
        f"{shown}: {requests} requests; now {files} files, and .git has {size:,} bytes of objects"
    )
