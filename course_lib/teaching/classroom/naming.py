"""How files are named that are handed in: by an LMS, by browsers, by a pattern of one's own."""

from __future__ import annotations

import re
from contextlib import suppress

from course_lib.errors import InputError

LMS_NAMES = [
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # Canvas, a file: doejane_LATE_1234_56789_01_recursive_splitter-1.ipynb
        r"(?P<name>.+?)_(?:(?P<late>late)_)?(?P<canvas>\d+)_(?:question_\d+_)?\d+_(?P<file>.+)",
        # Moodle, a folder or the start of a file's name: Jane Doe_1234_assignsubmission_file_
        r"(?P<name>.+?)_\d+_assignsubmission_file(?:_(?P<file>.*))?",
    )
]
"""What an LMS makes of names; each matches a whole folder's or file's."""


_SMALL_LETTER = re.compile("[ß-öø-ÿ]")
"""Of Latin-1, beyond ASCII."""


def is_named(name: str, assignment: str) -> bool:
    """Tell whether a notebook bears an assignment's name."""
    # Canvas and browsers number what was handed in again.
    named = rf"{re.escape(assignment)}(?:[-_ ]?\(?\d+\)?)?\.ipynb"
    return re.fullmatch(named, name, re.IGNORECASE) is not None


def as_notebook(name: str) -> str:
    """Return a file's name without what some browsers put after `.ipynb` when they save it.

    Examples
    --------
    >>> as_notebook("01_lab.ipynb.txt"), as_notebook("01_lab.ipynb-1.json"), as_notebook("a.txt")
    ('01_lab.ipynb', '01_lab.ipynb', 'a.txt')
    """
    return re.sub(r"(?i)(\.ipynb)(?:[-_ ]?\(?\d+\)?)?\.(?:txt|json)$", r"\1", name)


def readings(name: str) -> list[str]:
    """Return what a name in an archive may be that does not say its encoding, likeliest first.

    Linux and macOS write UTF-8, Windows a code page of DOS, and some programs Latin-1. A byte that
    is a small letter in one of them is a line, a Greek or a capital letter in others.

    Parameters
    ----------
    name
        As `zipfile` has it, which takes every byte for code page 437.

    Examples
    --------
    >>> readings("Jörg"), readings("José".encode("cp1252").decode("cp437"))
    (['Jörg', 'Jörg', 'J”rg'], ['José', 'JosΘ', 'JosÚ'])
    """
    try:
        raw = name.encode("cp437")
        with suppress(UnicodeDecodeError):
            return [raw.decode("utf-8")]
    except UnicodeEncodeError:  # the archive had it in UTF-8 as well
        return [name]
    found = [raw.decode(encoding, "replace") for encoding in ("cp437", "cp1252", "cp850")]
    return sorted(found, key=lambda one: len(_SMALL_LETTER.findall(one)), reverse=True)


def compiled(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern that has the group `student_id`; None where there is none.

    Raises
    ------
    InputError
        It cannot be read, or has no such group.
    """
    if not pattern:
        return None
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise InputError(f"the pattern {pattern!r} cannot be read: {error}") from error
    if "student_id" not in compiled.groupindex:
        raise InputError(
            f"the pattern {pattern!r} has no group (?P<student_id>…)",
            hint="It is the part of a path that is a login.",
        )
    return compiled
