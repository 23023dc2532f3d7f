"""The virtual environment `.venv`: where its parts lie, whether it is complete, who may write."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from course_lib.installer.processes import SetupError

STAMP = "course-setup.json"


def venv_bin(root: Path) -> Path:
    """Return the folder of `.venv` that holds `python` and `course`."""
    return root / ".venv" / ("Scripts" if os.name == "nt" else "bin")


def venv_python(root: Path) -> Path:
    """Return the path of the Python in `.venv`, whether it exists or not."""
    return venv_bin(root) / ("python.exe" if os.name == "nt" else "python")


def site_packages(root: Path) -> Path:
    """Return the folder of `.venv` that holds the packages."""
    if os.name == "nt":
        return root / ".venv" / "Lib" / "site-packages"
    found = sorted((root / ".venv" / "lib").glob("python*/site-packages"))
    return found[0] if found else root / ".venv" / "lib" / "site-packages"


def up_to_date(root: Path) -> bool:
    """Return whether `.venv` was completed in this folder, for this lock and `pyproject.toml`."""
    try:
        found = (root / ".venv" / STAMP).read_text(encoding="utf-8")
    except OSError:
        return False
    return found == stamp(root) and venv_python(root).exists()


def stamp(root: Path) -> str:
    """Return what is written into `.venv` as the last step of a set-up."""
    digest = hashlib.sha256()
    for name in ("requirements.lock", "pyproject.toml"):
        with contextlib.suppress(OSError):
            digest.update((root / name).read_bytes())
        digest.update(b"\0")
    return json.dumps({"root": str(root), "sha256": digest.hexdigest()}, indent=1) + "\n"


def made_elsewhere(root: Path) -> bool:
    """Return whether `.venv` was made in another folder: its programs start with that path.

    A checkout that was moved, renamed or copied carries such a `.venv` along.
    """
    try:
        config = (root / ".venv" / "pyvenv.cfg").read_text(encoding="utf-8")
    except OSError:
        return False
    found = re.search(r"^command = .* -m (?:venv|virtualenv) (.*)$", config, flags=re.MULTILINE)
    if not found or f" {found.group(1)}".endswith(f" {root / '.venv'}"):
        return False
    try:
        return not Path(found.group(1).rsplit(" ", 1)[-1]).samefile(root / ".venv")
    except OSError:
        return True


def sweep(site: Path) -> list[str]:
    """Make pip install again what an interrupted installation left incomplete.

    A package whose record, or a file of it, is missing or has another size loses its `dist-info`
    folder: pip then takes it for absent and writes it anew.

    Returns
    -------
    list of str
        Names of the folders that were removed.
    """
    removed = []
    for folder in sorted(site.glob("*.dist-info")):
        if not _complete(folder):
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder.name)
    for left in site.glob("~*"):  # what pip renames before it replaces a package
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
    return removed


@contextlib.contextmanager
def only_one(root: Path) -> Iterator[None]:
    """Hold a lock while installing, so that two calls at once do not write into one `.venv`."""
    try:
        (root / "build").mkdir(exist_ok=True)
        lock = (root / "build" / "setup.lock").open("a", encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"{error.filename} cannot be written ({error.strerror}), and the set-up writes to "
            f"{root}. Copy the course to a folder of your own and run it there."
        ) from error
    with lock as handle:
        waiting = False
        while not _try_lock(handle.fileno()):
            if not waiting:
                print("Another set-up of this folder is running; waiting for it.", flush=True)
                waiting = True
            time.sleep(0.2)
        yield  # closing the file releases the lock, and so does the end of the process


def _complete(folder: Path) -> bool:
    try:
        record = (folder / "RECORD").read_text(encoding="utf-8")
        (folder / "METADATA").stat()
        for name, _, size in csv.reader(record.splitlines()):
            if name.endswith(".pyc"):
                continue
            there = os.stat(os.path.join(str(folder.parent), name)).st_size
            if size and int(size) != there:
                return False
    except (OSError, ValueError):
        return False
    return True


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
