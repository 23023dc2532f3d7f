"""Making a class: the folder, its configuration, and one assignment a lab."""

from __future__ import annotations

import copy
import json
import logging
import os
import sys
from pathlib import Path

from course_lib.files import told_if_not_written
from course_lib.settings import with_variables
from course_lib.teaching.classroom.folder import (
    CONFIG,
    Classroom,
    convert,
    find_class,
    refuse_path,
)
from course_lib.teaching.classroom.hidden import source_of
from course_lib.teaching.grade import GradeError, Master, read_master
from course_lib.teaching.notebooks.project import write_atomically

CONFIGURATION = """\
# The class's configuration, for nbgrader and for `course grade`. It is yours to change:
# https://nbgrader.readthedocs.io/en/stable/configuration/config_options.html
from course_lib.teaching.classroom.templates import FOLDERS
from course_lib.teaching.notebooks.clearing import PREPROCESSORS

c = get_config()  # noqa: F821

# In release/, a gap in a text of SQL is a comment of SQL, as in labs/, and not Python.
c.GenerateAssignment.preprocessors = PREPROCESSORS

# `nbgrader autograde` and formgrader's button run submissions as `course grade` does, within its
# fence. Without these two lines nbgrader runs them itself, with your rights.
c.Autograde.sanitize_preprocessors = ["nbgrader.preprocessors.ClearOutput"]
c.Autograde.autograde_preprocessors = [
    "course_lib.teaching.classroom.engine.GradeWithinFence",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Who is kept back from the export gets no page either; `course class feedback` makes the pages.
c.GenerateFeedback.preprocessors = [
    "course_lib.teaching.classroom.feedback.HoldBack",
    "nbgrader.preprocessors.GetGrades",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
]

# Formgrader works without a network: it does not wait for MathJax, which comes from there.
c.HTMLExporter.extra_template_basedirs = FOLDERS

# `nbgrader export` writes what Canvas imports; MoodleExporter what Moodle does.
c.ExportApp.plugin_class = "course_lib.teaching.classroom.export.CanvasExporter"

# Which points does a late submission lose? "none" or "zero", or a plugin of your own:
# https://nbgrader.readthedocs.io/en/stable/plugins/late-plugin.html
c.LateSubmissionPlugin.penalty_method = "none"
"""

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
    refuse_path(root)
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
    if not (_has_cells(room, master) and (master.lab or _is_copied(room, master))):
        make_assignment(room, master)


def make_assignment(room: Classroom, master: Master) -> None:
    """Make `source/`, `release/` and the gradebook's cells from a master, whatever is there.

    Raises
    ------
    GradeError
        nbgrader refuses the master, because of its cells or those that were graded.
    """
    # Cells that only the executed solution has are not among the master's.
    text = json.dumps(master.notebook, indent=1, ensure_ascii=False)
    place = room.place("source", ".", master.name)
    with told_if_not_written(place):
        write_atomically(place / f"{master.name}.ipynb", f"{text}\n")
    from nbgrader.converters import GenerateAssignment

    from course_lib.teaching.notebooks.clearing import PREPROCESSORS

    directory = room.course_directory(assignment_id=master.name)
    config = copy.deepcopy(room.config)
    config.GenerateAssignment.setdefault("preprocessors", PREPROCESSORS)
    log = logging.getLogger(__name__)  # without an application, traitlets says nothing
    log.setLevel(logging.ERROR)
    converter = GenerateAssignment(coursedir=directory, config=config, force=True, log=log)
    convert(converter, f"nbgrader does not take {master.name}")


def _is_copied(room: Classroom, master: Master) -> bool:
    """Tell whether the class's own copy of a master would grade as it does."""
    try:
        return read_master(source_of(room, master.name)).digest == master.digest
    except GradeError:
        return False


def _has_cells(room: Classroom, master: Master) -> bool:
    with room.gradebook() as book:
        from nbgrader.api import MissingEntry

        try:
            notebook = book.find_notebook(master.name, master.name)
        except MissingEntry:
            return False
        graded = [*notebook.grade_cells, *notebook.task_cells]
        known = {cell.name: cell.max_score for cell in graded}
        same = known == {cell.grade_id: cell.points for cell in master.checks}
        if not same and notebook.submissions:
            changed = set(known) ^ {cell.grade_id for cell in master.checks}
            raise GradeError(
                f"{master.name} has other checks now than those that submissions were graded with"
                + (f": {', '.join(sorted(changed))}" if changed else ", or other points"),
                hint="Grade with the version of the course that it was released with, or make a "
                "new class.",
            )
        return same
