"""Until when learners may hand in who have a date of their own: kept in the class's folder.

nbgrader's gradebook has a place for it once there is a submission; an extension is given before.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime

from course_lib.errors import InputError
from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.notebooks.project import write_atomically

FILE = "extensions.json"


def own_dates(room: Classroom, assignment: str) -> dict[str, datetime]:
    """Return who has a date of their own, and which, in UTC."""
    found = _read(room).get(assignment, {})
    return {login: datetime.fromisoformat(text) for login, text in found.items()}


def keep_dates(
    room: Classroom, assignment: str, learners: Collection[str], due: datetime | None
) -> None:
    """Keep a date of their own for some learners; None takes it away."""
    dates = _read(room)
    own = {who: date for who, date in dates.get(assignment, {}).items() if who not in learners}
    if due is not None:
        own |= dict.fromkeys(learners, f"{due:%Y-%m-%d %H:%M:%S}")
    text = json.dumps({**dates, assignment: own}, indent=1, ensure_ascii=False)
    write_atomically(room.root / FILE, f"{text}\n")


def _read(room: Classroom) -> dict[str, dict[str, str]]:
    path = room.root / FILE
    if not path.is_file():
        return {}
    try:
        found: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
        for dates in found.values():
            for text in dates.values():
                datetime.fromisoformat(text)
    except (ValueError, TypeError, AttributeError, OSError) as error:
        raise InputError(
            f"{path} cannot be read: {error}",
            hint="Remove it, and give the extensions again: course class due.",
        ) from error
    return found
