"""The course's library as submissions see it: without the grader, compiled where it is taught.

A module that holds the answer to one of the lab's exercises is there for `lab.use` and for the
cells that need its other functions, as bytecode alone.
"""

from __future__ import annotations

import py_compile
import shutil
from pathlib import Path

from course_lib.settings import project_root

LEFT_OUT = ("classroom", "grade")
"""Rooms of `teaching` that no notebook needs."""


def library_for(lab: str, folder: Path) -> Path:
    """Make the library in a folder and return its path, the package's own.

    Parameters
    ----------
    lab
        Two digits; empty where the master is none of the course's.
    folder
        Where `course_lib` is put.
    """
    source, target = project_root() / "course_lib", folder / "course_lib"
    rooms = {source / "teaching" / name for name in LEFT_OUT}
    shutil.copytree(
        source, target, ignore=lambda at, names: [n for n in names if Path(at, n) in rooms]
    )
    inside = target / "teaching" / "grade" / "inside"
    shutil.copytree(source / "teaching" / "grade" / "inside", inside)
    (inside.parent / "__init__.py").touch()
    for module in taught_modules(lab):
        path = target.parent / f"{module.replace('.', '/')}.py"
        if "@dsl." in path.read_text(encoding="utf-8"):
            continue  # kfp makes a component of its source, and takes nothing else
        py_compile.compile(str(path), cfile=f"{path}c", dfile=path.name, doraise=True)
        path.unlink()
    return target


def taught_modules(lab: str) -> set[str]:
    """Return the modules that hold answers to a lab's exercises.

    Examples
    --------
    >>> taught_modules("01")
    {'course_lib.loader.recursive'}
    """
    if not lab:
        return set()
    from course_lib.teaching.checks import load

    named = (one.library for one in load(lab).values() if one.library is not None)
    return {library.partition(":")[0] for library in named}
