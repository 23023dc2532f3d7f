"""Time stamps beside submissions, as nbgrader writes them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from course_lib.errors import InputError

STAMP = "timestamp.txt"


def parse_stamp(stamp: str) -> datetime | None:
    """Return the time that a time stamp says, in UTC and without a zone, as nbgrader has it.

    Raises
    ------
    InputError
        It is not a time.
    """
    from nbgrader.utils import parse_utc

    try:
        parsed: datetime | None = parse_utc(stamp)
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"the time stamp {stamp[:60]!r} cannot be read",
            hint="Write it as 2026-11-24 10:00:00 UTC.",
        ) from error
    return parsed


def time_of(stamp: Path) -> datetime | None:
    """Return the time that a time stamp's file holds, in UTC; None where there is none.

    Raises
    ------
    InputError
        It cannot be read, or is not a time.
    """
    if not stamp.is_file():
        return None
    try:
        return parse_stamp(stamp.read_text(encoding="utf-8", errors="replace").strip())
    except (InputError, OSError) as error:
        raise InputError(f"{stamp}: {str(error).splitlines()[0]}") from error
