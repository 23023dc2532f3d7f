"""The course's library as submissions see it: without the grader, compiled where it is taught.

A module that holds the answer to one of the lab's exercises is there for `lab.use` and for the
cells that need its other functions, as bytecode alone. Bytecode shows a text of SQL, and kfp wants
the source of a module with components: there, all answers are packed.
"""

from __future__ import annotations

import py_compile
import shutil
from pathlib import Path

from course_lib.settings import project_root
from course_lib.teaching import checks
from course_lib.teaching.taught import by_module, find_answer, pack_answers, sql_of

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
    exercises = checks.load(lab).values() if lab else ()
    for module, answers in by_module(one.library for one in exercises).items():
        path = target.parent / f"{module.replace('.', '/')}.py"
        text = path.read_text(encoding="utf-8")
        pack_answers(path, [one for one in answers if is_shown(text, one, path.parent)])
        for cached in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
            cached.unlink()
        if "@dsl." in text:
            continue  # kfp makes a component of its source, and takes nothing else
        py_compile.compile(str(path), cfile=f"{path}c", dfile=path.name, doraise=True)
        path.unlink()
    return target


def is_shown(source: str, name: str, folder: Path) -> bool:
    """Tell whether an answer is a text of SQL, or in a module whose source stays for kfp."""
    node = find_answer(source, name)
    return bool(node and sql_of(node, folder)[0]) or "@dsl." in source
