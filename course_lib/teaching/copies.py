"""A learner's own copies: `labs/NN_name.ipynb` is copied to `my/`, and JupyterLab opens there.

`my/` is ignored by git and nothing here ever overwrites a file in it, so neither `git pull` nor a
second `make start` can destroy anybody's work. A lab ends with links to the next ones. In a copy
they lead to other copies, so all labs are copied at once: a link to a lab in `labs/` would have
the learner work on a file that `git pull` changes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from course_lib.errors import InputError
from course_lib.settings import project_root
from course_lib.teaching.attempts import latest_lab

MINE = "my"
_TO_ANOTHER_LAB = re.compile(rb"(?<=\]\()\.\./labs/(?=\d\d_\w+\.ipynb)")


def start_lab(number: str, root: Path | None = None) -> tuple[Path, bool]:
    """Copy a lab and those that it leads to into `my/`; a copy that is there stays as it is.

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
        If there is no such lab, or `my/` cannot be written.
    """
    base = root or project_root()
    wanted = f"{number.strip()[:2]:0>2}"
    labs = sorted((base / "labs").glob("[0-9][0-9]_*.ipynb"))
    found = [lab for lab in labs if lab.name.startswith(f"{wanted}_")]
    if not found:
        there = ", ".join(lab.name[:2] for lab in labs)
        raise InputError(
            f"there is no lab {number!r}", hint=f"There are: {there}. Example: make start LAB=01"
        )
    mine = base / MINE
    try:
        mine.mkdir(exist_ok=True)
        made = [lab for lab in labs if _copy(lab, mine / lab.name)]
    except OSError as error:
        raise InputError(
            f"{error.filename} cannot be written: {error.strerror}",
            hint="Your labs are kept in the course's folder: copy it to a folder of your own. "
            "(COURSE_STATE moves only what the course keeps in .course.)",
        ) from error
    return mine / found[0].name, found[0] in made


def is_learners(folder: Path) -> bool:
    """Tell whether a folder is `my/` or in it: what runs there is a learner's notebook."""
    return folder.is_relative_to(project_root() / MINE)


def _copy(lab: Path, target: Path) -> bool:
    """Copy a lab, with links that lead to the other copies; return whether there was none yet."""
    try:
        # Mode "x" fails where the file exists, also for one that appears in this very moment.
        with target.open("xb") as copy:
            copy.write(_TO_ANOTHER_LAB.sub(b"", lab.read_bytes()))
    except FileExistsError:
        return False
    return True


def jupyterlab_command(
    port: int = 8888, *, browser: bool = True, number: str = ""
) -> tuple[list[str], dict[str, str]]:
    """Return the command line of JupyterLab on `my/`, and the environment to run it with.

    It opens the lab with this number, without one the lab that was started last, and the first time
    lab 00. The folder `jupyterlab` holds the settings: line numbers, no news, and no menus of
    nbgrader.

    Raises
    ------
    InputError
        If there is no such lab.
    """
    base = project_root()
    latest = latest_lab()
    there = any((base / "labs").glob(f"{latest}_*.ipynb")) if latest else False
    notebook, _ = start_lab(number or (latest if there else "00"))
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={base}",
        f"--LabApp.default_url=/lab/tree/{MINE}/{notebook.name}",
        f"--LabApp.app_settings_dir={Path(__file__).with_name('jupyterlab')}",
        f"--ServerApp.port={port}",
    ]
    if not browser:
        command.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return command, kernel_environment(os.environ)


def kernel_environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the variables under which JupyterLab starts kernels.

    Kernels named python3 are this environment's, whatever else is installed for the user, and each
    says what to do where a name is missing, from its first cell on.
    """
    ours = str(Path(sys.executable).parent)
    return {
        **given,
        "PATH": os.pathsep.join([ours, given.get("PATH", "")]),
        "PYTHONSTARTUP": str(Path(__file__).with_name("lab") / "startup.py"),
    }
