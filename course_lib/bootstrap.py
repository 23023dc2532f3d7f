"""Set the course up: from a bare Python to a `.venv` that has everything, by one command.

`python course_lib/bootstrap.py` is what `make setup` and every other task call first; it returns at
once when `.venv` is up to date. It runs before anything is installed, with the standard library
alone; its parts are in `course_lib/installer`.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

if not __package__:  # run as a script: Python put this folder on the path, where its parent belongs
    sys.path[:] = [
        str(ROOT),
        *(p for p in sys.path if Path(p or ".").resolve() != ROOT / "course_lib"),
    ]

from course_lib.installer.interpreters import OLDEST_PYTHON, ask, find_python, unsuitable  # noqa: E402
from course_lib.installer.machine import missing_wheels, this_machine  # noqa: E402
from course_lib.installer.processes import SetupError, output_of  # noqa: E402
from course_lib.installer.pytorch import install_torch  # noqa: E402
from course_lib.installer.steps import Steps  # noqa: E402
from course_lib.installer.venvs import (  # noqa: E402
    STAMP,
    made_elsewhere,
    only_one,
    site_packages,
    stamp,
    sweep,
    up_to_date,
    venv_python,
)

FREE_GB = 4.0  # `.venv` takes 2.4, and pip unpacks beside it


def set_up(root: Path = ROOT) -> bool:
    """Bring `.venv` up to date; an interrupted set-up is gone on with.

    Returns
    -------
    bool
        Whether anything had to be done.

    Raises
    ------
    SetupError
        It cannot be done; the message says what to do about it.
    """
    if up_to_date(root):
        return False
    obstacle = missing_wheels(this_machine())
    if obstacle:
        raise SetupError(obstacle)
    with only_one(root):
        if up_to_date(root):  # by the call that was waited for
            return False
        _install(root)
    return True


def main(arguments: list[str] | None = None) -> int:
    """Run the set-up and return the exit code; `--check` only says whether it is up to date."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if "--check" in arguments:
        current = up_to_date(ROOT)
        print(".venv is up to date." if current else ".venv is not up to date: run `make setup`.")
        return 0 if current else 1
    try:
        if up_to_date(ROOT):
            return 0
        if sys.version_info[:2] < OLDEST_PYTHON:
            python = find_python()
            print(f"Python {platform.python_version()} is too old; going on with {python}.")
            sys.stdout.flush()
            return subprocess.call([python, str(Path(__file__).resolve()), *arguments])
        set_up()
    except SetupError as error:
        print(f"\nThe set-up stopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted. The next call goes on from here.", file=sys.stderr)
        return 130
    return 0


def _install(root: Path) -> None:
    lock = root / "requirements.lock"
    if not lock.is_file():
        raise SetupError(f"{lock} is missing. Restore it with `git checkout requirements.lock`.")
    pins = re.findall(r"^[A-Za-z0-9][^\s;]*==[^\s;]+", lock.read_text(encoding="utf-8"), re.M)
    free = shutil.disk_usage(root).free / 1e9
    if free < FREE_GB and not venv_python(root).exists():
        raise SetupError(
            f"the disk of {root} has {free:.1f} GB free, and the course needs {FREE_GB:.0f} GB. "
            "Free some space and try again."
        )
    started = time.monotonic()
    print("Setting the course up in .venv: once, a few minutes.", flush=True)
    steps = Steps(root, total=6)
    _make_venv(root, steps)

    # pip first and alone, because it must not replace itself while it installs others; setuptools
    # with it, because packages without wheels are built with the one that is pinned here.
    tools = [pin for pin in pins if pin.startswith(("pip==", "setuptools=="))]
    steps.begin(2, " and ".join(tools))
    steps.pip(["install", *tools])

    install_torch(root, steps, 3)

    steps.begin(4, "the packages of requirements.lock")
    unisolated = ["install", "--no-deps", "--no-build-isolation"]
    steps.pip([*unisolated, "-r", str(lock)], packages=len(pins))

    steps.begin(5, "the course itself")
    steps.pip([*unisolated, "-e", str(root)])
    complaints = output_of([str(venv_python(root)), "-I", "-m", "pip", "check"])

    # Where that does not work, the first search says why, and torch encodes.
    steps.begin(6, "the model, converted for OpenVINO")
    convert = "from course_lib.embedder import EmbeddingClient; EmbeddingClient().backend"
    steps.run([str(venv_python(root)), "-I", "-c", convert], required=False)
    steps.end()
    if complaints and "No broken requirements" not in complaints:
        print(f"Note: pip reports\n{complaints.rstrip()}", flush=True)
    (root / ".venv" / STAMP).write_text(stamp(root), encoding="utf-8")
    print(f"Ready after {time.monotonic() - started:.0f} s.", flush=True)


def _make_venv(root: Path, steps: Steps) -> None:
    venv = root / ".venv"
    reason = _why_anew(root)
    (venv / STAMP).unlink(missing_ok=True)
    if reason:
        python = find_python()
        steps.begin(1, f"a virtual environment with {python} ({reason})")
        steps.run([python, "-I", "-m", "venv", "--clear", "--prompt", "course", str(venv)])
        return
    steps.begin(1, "the virtual environment is there and gets completed")
    for name in sweep(site_packages(root)):
        print(f"\n        incomplete, and installed again: {name}", end="", flush=True)


def _why_anew(root: Path) -> str:
    if not venv_python(root).exists():
        return "there was none" if not (root / ".venv").exists() else "the old one does not run"
    if made_elsewhere(root):
        return "the old one was made in another folder"
    problem = unsuitable(ask(str(venv_python(root)), modules=("pip", "ssl")))
    return f"the old one cannot be used: {problem}" if problem else ""


if __name__ == "__main__":
    sys.exit(main())
