"""The exercises of the labs: parts, named cases and draws in `lab01.py`, hints in `lab01.md`.

`load("01")` gives a lab's exercises by id. Whoever writes one needs `definition.exercise` and reads
`lab14.py` as the example; whoever runs one calls `course_lib.teaching.lab.checking.run_check`.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.errors import InputError
from course_lib.teaching.checks.drawn import Drawn, as_json

if TYPE_CHECKING:
    from course_lib.teaching.checks.definition import Parts

__all__ = ["Exercise", "lab_number", "load"]


@dataclass(frozen=True)
class Exercise:
    """One exercise: what the learner writes, how it is judged, and what helps.

    Attributes
    ----------
    id
        Lab and number, as in ``"1.2"``.
    name
        The name of what the learner writes: a function, a constant with a text of SQL, a pipeline.
    define
        Returns the parts: named cases with their points and reasons.
    draws
        How the answer is called, and random calls of it.
    hints
        From a nudge to nearly the answer, in this order.
    waits_for
        Ids of the exercises that this one builds on.
    time_limit
        Seconds that the whole check may take; the reference takes a small part of it.
    library
        Where the library has the final version, as in ``"course_lib.loader.recursive:find_cut"``;
        None for a sketch, which only the lab's solution has.
    """

    id: str
    name: str
    define: Callable[[], Parts]
    draws: Drawn
    hints: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    time_limit: float = 5.0
    library: str | None = None

    @cached_property
    def parts(self) -> Parts:
        """The named cases."""
        return tuple(self.define())

    @cached_property
    def calls(self) -> list[Any]:
        """The calls of the named cases, as JSON; made once, because an iterator is read once."""
        return [as_json(one.call) for part in self.parts for one in part.cases]

    @property
    def lab(self) -> str:
        """Two digits."""
        return lab_number(self.id.partition(".")[0])

    @property
    def points(self) -> int:
        """What it counts."""
        return sum(one.points for one in self.parts)

    @property
    def room(self) -> str:
        """The stage of the library that it belongs to, such as ``"loader"``; empty for a sketch."""
        return re.split("[.:]", self.library)[1] if self.library else ""


def lab_number(lab_id: str | int) -> str:
    """Return a lab's id in its two-digit form.

    Raises
    ------
    InputError
        If it is not a number from 0 to 99.

    Examples
    --------
    >>> lab_number("1"), lab_number("01"), lab_number(1)
    ('01', '01', '01')
    """
    text = str(lab_id)
    if not (text.isascii() and text.isdigit() and int(text) < 100):
        raise InputError(f"{lab_id!r} is not a lab", hint='Labs have two digits, as in "01".')
    return f"{int(text):02d}"


def load(lab_id: str | int) -> dict[str, Exercise]:
    """Return the exercises of a lab by id, in their order; none for a lab that has none.

    Parameters
    ----------
    lab_id
        As in ``"01"``.

    Raises
    ------
    InputError
        If `lab_id` is not the id of a lab.
    """
    return dict(_loaded(lab_number(lab_id)))


@cache
def _loaded(lab: str) -> dict[str, Exercise]:
    name = f"{__name__}.lab{lab}"
    if importlib.util.find_spec(name) is None:
        return {}
    module = importlib.import_module(name)
    hints = _hints(Path(__file__).with_name(f"lab{lab}.md"))
    exercises = [value for value in vars(module).values() if isinstance(value, Exercise)]
    return {one.id: replace(one, hints=hints[one.id]) for one in exercises}


def _hints(page: Path) -> dict[str, tuple[str, ...]]:
    """Return the hints of a lab's exercises by id: the paragraphs below each heading."""
    _, *parts = page.read_text(encoding="utf-8").split("\n## ")
    paragraphs = [part.strip().split("\n\n") for part in parts]
    return {heading: tuple(hints) for heading, *hints in paragraphs}
