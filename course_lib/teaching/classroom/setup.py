"""Making a class: the folder, its configuration, and one assignment a lab."""

from __future__ import annotations

import copy
import json
import logging
import os
import sys
from pathlib import Path

from course_lib.files import told_if_not_written, write_atomically
from course_lib.settings import with_variables
from course_lib.teaching.classroom.folder import (
    CONFIG,
    Classroom,
    convert,
    find_class,
)
from course_lib.teaching.classroom.hidden import source_of
from course_lib.teaching.classroom.templates import CONFIGURATION
from course_lib.teaching.grade import GradeError, Master, read_master
from course_lib.teaching.version import course_version

GITIGNORE = """\
# A class's folder holds names, answers and grades: git leaves all of it alone. Where it has a
# private repository of its own, this file is yours to change.
*
"""


def make_class(folder: Path) -> Classroom:
    """Make a class's folder with its configuration and an empty gradebook.

    What is there stays as it is: a class may be made again to add labs and learners.

    Raises
    ------
    GradeError
        Something else is there, or the gradebook cannot be made.
    InputError
        The folder cannot be written.
    """
    root = folder.resolve()
    known = (root / CONFIG).is_file()
    if root.exists() and not known and (not root.is_dir() or any(root.iterdir())):
        raise GradeError(
            f"{folder} holds something else than a class", hint="Name an empty folder or a new one."
        )
    with told_if_not_written(folder):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not known:
            write_atomically(root / CONFIG, CONFIGURATION)
        if not (root / ".gitignore").exists():
            write_atomically(root / ".gitignore", GITIGNORE)
    room = find_class(root)
    file = room.database_file
    if not known or file is None or not (file.exists() or any(root.glob("submitted/*"))):
        # nbgrader starts alembic by its name.
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        from nbgrader.api import Gradebook

        try:
            with with_variables({"PATH": path}):
                Gradebook(room.database).close()
        except Exception as error:  # sqlalchemy's, and those of starting alembic
            told = (str(error).splitlines() or [type(error).__name__])[0]
            raise GradeError(f"no gradebook can be made in {folder}: {told}") from error
    return room


def add_assignment(room: Classroom, master: Master) -> None:
    """See that the gradebook knows a master's cells: `source/` and `release/` are made from it.

    Raises
    ------
    GradeError
        Submissions were graded with other cells, or nbgrader refuses the master.
    """
    from course_lib.teaching.classroom.versions import kept_of, what_is_needed

    kept = kept_of(room, master.name)
    fits = kept.fits(master)
    if kept.submissions and not fits:
        changed = kept.points.keys() ^ {cell.grade_id for cell in master.checks}
        raise GradeError(
            f"{master.name} has other checks now than those that submissions were graded with"
            + (f": {', '.join(sorted(changed))}" if changed else ", or other points"),
            hint=what_is_needed(kept.version),
        )
    if not (fits and (master.lab or _is_copied(room, master))):
        make_assignment(room, master)


def make_assignment(room: Classroom, master: Master) -> None:
    """Make `source/`, `release/` and the gradebook's cells from a master, whatever is there.

    Raises
    ------
    GradeError
        nbgrader refuses the master, because of its cells or those that were graded.
    """
    # Cells that only the executed solution has are not among the master's.
    version = course_version()
    metadata = {**master.notebook["metadata"], "course_version": version}
    text = json.dumps({**master.notebook, "metadata": metadata}, indent=1, ensure_ascii=False)
    place = source_of(room, master.name)
    with told_if_not_written(place):
        write_atomically(place, f"{text}\n")
    from nbgrader.converters import GenerateAssignment

    from course_lib.teaching.classroom.versions import MadeWith
    from course_lib.teaching.notebooks.clearing import PREPROCESSORS

    directory = room.course_directory(assignment_id=master.name)
    config = copy.deepcopy(room.config)
    config.GenerateAssignment.setdefault("preprocessors", PREPROCESSORS)
    log = logging.getLogger(__name__)  # without an application, traitlets says nothing
    log.setLevel(logging.ERROR)
    converter = GenerateAssignment(coursedir=directory, config=config, force=True, log=log)
    convert(converter, f"nbgrader does not take {master.name}")
    with room.gradebook() as book:
        book.db.merge(MadeWith(assignment=master.name, version=version))
        book.db.commit()


def _is_copied(room: Classroom, master: Master) -> bool:
    """Tell whether the class's own copy of a master would grade as it does."""
    try:
        return read_master(source_of(room, master.name)).digest == master.digest
    except GradeError:
        return False
