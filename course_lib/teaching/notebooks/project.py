"""Where things are: the labs' sources, the notebooks made from them, the modules they show.

Everything else in this package takes a `Project`, so that a test can build labs of its own in a
temporary folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_lib.errors import CourseError, InputError
from course_lib.settings import project_root
from course_lib.teaching.checks import load

CORE = ("00", "01", "02", "05", "06", "07", "08", "11", "15", "16")
"""The labs that build the five things of the course and measure them; the others are electives.

Lab 08 belongs to them, and 14 does not: what lab 16 compares are searches by meaning with and
without words, which lab 08 builds; lab 14 itself needs lab 08, and lab 11 needs neither.
"""

_SOURCE_NAME = re.compile(r"(\d\d)_[a-z0-9_]+\.py")


class BuildError(CourseError):
    """A lab cannot be built from its source."""


class StaleError(BuildError):
    """A committed notebook is not what its source gives."""


@dataclass(frozen=True, slots=True)
class LabSource:
    """One lab's hand-edited source, `solutions/NN_name.py`."""

    lab: str
    path: Path

    @property
    def stem(self) -> str:
        """The name that the source and both notebooks share, as in ``01_recursive_splitter``."""
        return self.path.stem

    @property
    def is_core(self) -> bool:
        """Whether it is one of the labs that everybody does."""
        return self.lab in CORE


@dataclass(frozen=True)
class Project:
    """A folder with `solutions/`, `labs/` and the package whose functions the labs show.

    Parameters
    ----------
    root
        The folder.
    checks
        Gives the exercises of a lab, by id; the course's own by default.
    checks_file
        Where the checks of a lab are, relative to the root; ``{lab}`` is replaced.
    """

    root: Path = field(default_factory=project_root)
    checks: Callable[[str], Mapping[str, Any]] = load
    checks_file: str = "course_lib/teaching/checks/lab{lab}.py"

    @property
    def solutions(self) -> Path:
        """The folder of the sources and of the executed solutions."""
        return self.root / "solutions"

    @property
    def labs(self) -> Path:
        """The folder of the learner's notebooks."""
        return self.root / "labs"

    def lab_notebook(self, source: LabSource) -> Path:
        """Return where the learner's version of a lab is."""
        return self.labs / f"{source.stem}.ipynb"

    def solution_notebook(self, source: LabSource) -> Path:
        """Return where the executed solution of a lab is."""
        return self.solutions / f"{source.stem}.ipynb"

    def relative(self, path: Path) -> str:
        """Return a path as it is shown to people: relative to the root, with forward slashes."""
        return path.relative_to(self.root).as_posix()

    def sources(self, labs: Sequence[str] | None = None) -> list[LabSource]:
        """Return the labs that were asked for, or all, in their order.

        Parameters
        ----------
        labs
            Numbers (``"1"``, ``"01"``) or names (``"01_recursive_splitter"``).

        Raises
        ------
        InputError
            No lab bears that number or name.
        """
        found = [
            LabSource(match[1], path)
            for path in sorted(self.solutions.glob("*.py"))
            if (match := _SOURCE_NAME.fullmatch(path.name))
        ]
        if not labs:
            return found
        wanted = {_lab_number(lab): lab for lab in labs}
        known = {source.lab for source in found}
        if missing := [given for number, given in wanted.items() if number not in known]:
            raise InputError(
                f"there is no lab {missing[0]!r}",
                hint=f"The labs are {', '.join(sorted(known)) or 'still to be written'}.",
            )
        return [source for source in found if source.lab in wanted]

    def module_file(self, module: str) -> Path | None:
        """Return the file of one of the project's own modules; None for anybody else's."""
        base = self.root.joinpath(*module.split("."))
        candidates = (base.with_suffix(".py"), base / "__init__.py")
        return next((path for path in candidates if path.is_file()), None)

    def checks_text(self, lab: str) -> str:
        """Return the source of a lab's checks and hints; empty where it has none."""
        path = self.root / self.checks_file.format(lab=lab)
        files = [one for one in (path, path.with_suffix(".md")) if one.is_file()]
        return "".join(one.read_text(encoding="utf-8") for one in files)


def _lab_number(given: str) -> str:
    match = re.fullmatch(r"(\d{1,2})(?:_.*)?", Path(given).stem)
    return match[1].zfill(2) if match else given
