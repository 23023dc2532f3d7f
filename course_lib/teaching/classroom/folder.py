"""The class's folder: nbgrader's layout, its configuration and its gradebook.

    nbgrader_config.py  gradebook.db  source/  release/  submitted/  autograded/  feedback/

Beside them is `reports/`, which is ours: a page an assignment for whoever grades. nbgrader is
imported when the gradebook is opened, because that takes a second.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.files import told_if_not_written
from course_lib.teaching.grade.errors import GradeError

if TYPE_CHECKING:
    from nbgrader.api import Gradebook
    from traitlets.config import Config

CONFIG = "nbgrader_config.py"
COPIES = "gradebook-copies"
RESTORE = "Where it is damaged, put a copy in its place: the file has not been changed."
MEND = (
    "What was recorded before is kept. Where it is locked, another program uses it: close "
    "formgrader, or wait. On a full disk, make room. After a new version of nbgrader, `nbgrader db "
    "upgrade` brings it up to date. Then run the command again, `course grade` with --resume."
)


@dataclass(frozen=True)
class Classroom:
    """A class's folder.

    Attributes
    ----------
    root
        The folder.
    config
        What its `nbgrader_config.py` says.
    """

    root: Path
    config: Config

    @property
    def database(self) -> str:
        """The gradebook's URL."""
        given = self.config.CourseDirectory.get("db_url")
        return str(given or f"sqlite:///{self.root / 'gradebook.db'}")

    @property
    def database_file(self) -> Path | None:
        """The gradebook's file; None where it is on a server."""
        kind, _, path = self.database.partition("sqlite:///")
        return None if kind else self.root / path

    def place(self, step: str, learner: str, assignment: str) -> Path:
        """Return where something is; a step is ``source``, ``submitted``, ``autograded``, …."""
        return self.root / step / learner / assignment

    def report(self, assignment: str) -> Path:
        """Return the folder with the page about an assignment."""
        return self.root / "reports" / assignment

    def course_directory(self, **given: str) -> Any:
        """Return nbgrader's own idea of this folder."""
        from nbgrader.coursedir import CourseDirectory

        return CourseDirectory(config=self.config, root=str(self.root), **given)

    @contextmanager
    def gradebook(self) -> Iterator[Gradebook]:
        """Open the gradebook.

        Raises
        ------
        GradeError
            It is not there, damaged, of another version of nbgrader, or cannot be written.
        """
        if (file := self.database_file) is not None:
            _refuse_damaged(file)
        from nbgrader.api import Gradebook

        with told_if_unusable(self.database), Gradebook(self.database) as book:
            yield book


def keep_copy(room: Classroom) -> None:
    """Keep a copy of the gradebook as it is, one a minute, unless the newest says the same."""
    if (file := room.database_file) is None:
        return
    folder = room.root / COPIES
    copies = sorted(folder.glob(f"{file.stem}-*{file.suffix}"))
    copy = folder / f"{file.stem}-{datetime.now():%Y-%m-%d-%H%M}{file.suffix}"
    if copy.exists():  # nbgrader grades learner by learner, and the oldest is from before
        return
    with told_if_not_written(copy):
        folder.mkdir(mode=0o700, exist_ok=True)
        with closing(sqlite3.connect(file)) as now, closing(sqlite3.connect(copy)) as kept:
            now.backup(kept)
    if copies and copies[-1].read_bytes() == copy.read_bytes():
        copy.unlink()


def convert(converter: Any, told: str) -> None:
    """Run one of nbgrader's converters; raise a `GradeError` with the last error of its log.

    Parameters
    ----------
    converter
        What is run: it logs what is wrong.
    told
        How the error's message begins.
    """
    from nbgrader.utils import capture_log

    done = capture_log(converter)
    if not done["success"]:
        lines = [line for line in done.get("log", "").splitlines() if "Error: " in line]
        why = lines[-1].strip() if lines else "it does not say why"
        raise GradeError(f"{told}: {why}", hint=MEND if "sqlite3." in why else "")


@contextmanager
def told_if_unusable(database: str) -> Iterator[None]:
    """Raise a `GradeError` where a gradebook that is open cannot be read or written."""
    from nbgrader.api import InvalidEntry
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, InvalidEntry) as error:
        told = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise GradeError(f"the gradebook {database} cannot be used: {told}", hint=MEND) from error


def find_class(folder: Path) -> Classroom:
    """Return the class that a folder holds.

    Raises
    ------
    GradeError
        It holds none, or its configuration cannot be read.
    """
    from traitlets.config.loader import PyFileConfigLoader

    root = folder.resolve()
    if not (root / CONFIG).is_file():
        raise GradeError(
            f"{folder} holds no class: it has no {CONFIG}",
            hint="`course class init DIR` makes one; --class DIR says where it is.",
        )
    try:
        config = PyFileConfigLoader(CONFIG, path=str(root)).load_config()
    except Exception as error:  # it is a program
        told = (str(error).splitlines() or [type(error).__name__])[0]
        raise GradeError(f"{root / CONFIG} cannot be read: {told}") from error
    structure = config.CourseDirectory.get("directory_structure", "")
    usual = Path("{nbgrader_step}", "{student_id}", "{assignment_id}")
    if structure and Path(structure) != usual:
        raise GradeError(
            f"{root / CONFIG} sets CourseDirectory.directory_structure",
            hint="Leave it at nbgrader's own: step, learner, assignment.",
        )
    if str(root) not in sys.path:
        sys.path.append(str(root))  # as nbgrader does, for plugins beside the configuration
    return Classroom(root, config)


def _refuse_damaged(file: Path) -> None:
    """Look at a gradebook's file without changing it: nbgrader would fill an empty one again."""
    if not file.is_file():
        raise GradeError(
            f"there is no gradebook {file}",
            hint="`course class init` makes it; if there was one, put a copy of it there.",
        )
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True)) as connection:
            (told,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            connection.execute("SELECT 1 FROM submitted_assignment LIMIT 1")
    except sqlite3.Error as error:
        told = str(error)
    if told != "ok":
        raise GradeError(f"the gradebook {file} cannot be used: {told}", hint=f"{RESTORE} {MEND}")
