"""A learner's own copies: `labs/NN_name.ipynb` is copied to `my/`, and JupyterLab opens there.

`my/` is ignored by git and nothing here ever overwrites a file in it, so neither `git pull` nor a
second `make start` can destroy anybody's work.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from course_lib.errors import InputError
from course_lib.settings import project_root

MINE = "my"


def start_lab(number: str, root: Path | None = None) -> tuple[Path, bool]:
    """Copy a lab into `my/`, unless a copy is there.

    Parameters
    ----------
    number
        Such as ``01`` or ``1``.
    root
        The project; None takes the one that this package belongs to.

    Returns
    -------
    tuple of Path and bool
        The learner's copy, and whether it was made now.

    Raises
    ------
    InputError
        If there is no such lab.
    """
    base = root or project_root()
    wanted = f"{number.strip()[:2]:0>2}"
    found = sorted((base / "labs").glob(f"{wanted}_*.ipynb")) if wanted.isdigit() else []
    if not found:
        there = ", ".join(path.name[:2] for path in sorted((base / "labs").glob("[0-9]*.ipynb")))
        raise InputError(
            f"there is no lab {number!r}", hint=f"There are: {there}. Example: make start LAB=01"
        )
    target = base / MINE / found[0].name
    target.parent.mkdir(exist_ok=True)
    try:
        # Mode "x" fails where the file exists, also for one that appears in this very moment.
        with target.open("xb") as copy:
            copy.write(found[0].read_bytes())
    except FileExistsError:
        return target, False
    return target, True


def open_jupyterlab(port: int = 8888, *, browser: bool = True) -> int:
    """Run JupyterLab on `my/` until it is stopped, and return its exit code.

    The first time it puts lab 00 there, so that nobody opens an empty folder.
    """
    base = project_root()
    if not any((base / MINE).glob("*.ipynb")):
        start_lab("00")
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={base}",
        f"--LabApp.default_url=/lab/tree/{MINE}",
        f"--ServerApp.port={port}",
    ]
    if not browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    # Kernels named python3 are this environment's, whatever else is installed for the user.
    environment = {**os.environ, "PATH": _path_with_ours_first()}
    return subprocess.run(command, env=environment, check=False).returncode


def _path_with_ours_first() -> str:
    ours = str(Path(sys.executable).parent)
    return os.pathsep.join([ours, os.environ.get("PATH", "")])
