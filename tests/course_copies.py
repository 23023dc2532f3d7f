"""What the tests of the set-up share: a copy of the course, and a wheel without a module."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from course_lib.settings import project_root

MADE = {".git", ".venv", ".course", ".hypothesis", "build", "my"}
"""At the top of a checkout, what is not part of the course."""


def copy_course(to: Path) -> None:
    """Copy the checkout as a clone would have it, with the changes of its files."""
    root = project_root()

    def left(folder: str, names: list[str]) -> set[str]:
        found = {name for name in names if name.endswith(("__pycache__", ".egg-info", "_cache"))}
        return found | MADE.intersection(names) if Path(folder) == root else found

    shutil.copytree(root, to, ignore=left)


def write_empty_wheel(folder: Path, name: str, version: str) -> None:
    """Write a wheel for every Python and machine, in place of a package that is large."""
    described = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        wheel.writestr(f"{described}/METADATA", metadata)
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{described}/WHEEL", tags)
        wheel.writestr(f"{described}/RECORD", "")


def remove_without_waiting(folder: Path) -> None:
    """Let a process of its own remove a folder: some disks take minutes for 60,000 files."""
    program = "import shutil, sys; shutil.rmtree(sys.argv[1], ignore_errors=True)"
    subprocess.Popen([sys.executable, "-c", program, folder], start_new_session=True)
