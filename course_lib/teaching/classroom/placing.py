"""Putting a learner's notebooks into `submitted/<login>/<assignment>/`: which one, and its time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from course_lib.errors import InputError
from course_lib.teaching.classroom.finding import Collected, HandIn
from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.classroom.given import Given
from course_lib.teaching.classroom.naming import LMS_NAMES, is_named
from course_lib.teaching.classroom.stamps import STAMP, time_of
from course_lib.teaching.classroom.taken import Taken, read_taken, write_taken
from course_lib.teaching.notebooks.project import write_atomically


def place(
    room: Classroom,
    assignment: str,
    login: str,
    hand_ins: Sequence[HandIn],
    dates: tuple[datetime | None, datetime | None],
    said: Collected,
    given_out: Given,
) -> None:
    """Write what a learner has handed in, with its time, and say what became of it.

    Parameters
    ----------
    room, assignment, login
        Where to.
    hand_ins
        All that was found of theirs.
    dates
        When it is due for everybody, and for them.
    said
        What came of the collection.
    given_out
        The lab as learners got it.
    """
    times: dict[Path, datetime | None] = {}
    for one in hand_ins:
        if one.path and one.name == STAMP:
            if not _is_nbgraders(one.path, one.parts, login, assignment):
                said.left_out.append(f"{'/'.join(one.parts)}: not where nbgrader writes it")
                continue
            try:
                times[one.path.parent] = time_of(one.path)
            except InputError as error:
                said.kept.append(f"{login} ({error.args[0]})")
                return
    found = [
        replace(one, time=times.get(one.path.parent, one.time))
        for one in hand_ins
        if one.path and one.name != STAMP
    ]
    # A repository has the course's own copy of the lab beside the learner's.
    handed = [one for one in found if not given_out.is_the_courses(one.parts, one.path)]
    notebooks = _chosen(handed, assignment, given_out)
    target = room.place("submitted", login, assignment)
    if not notebooks and (handed != found or any(target.rglob("*.ipynb"))):
        said.kept.append(
            f"{login} ({'no notebook' if handed == found else 'only the lab as it was given'})"
        )
        return
    time = max((one.time for one in notebooks if one.time), default=None)
    stamp, earlier = target / STAMP, None
    with suppress(InputError):
        earlier = time_of(stamp)
    everybodys, due = dates
    late = [one.late for one in notebooks if one.late is not None]
    if late and due:
        # An archive of Canvas says when it was made, and of each file only whether it was late.
        # Who has a later date here may be late for Canvas and in time for it: a person knows.
        after = (everybodys or due) + timedelta(seconds=1)
        if any(late):
            time = max(time or after, after) if due == everybodys else after
        else:
            time = min(time or due, due)
    digests = tuple(_digest(one.path).hex() for one in notebooks if one.path)
    taken, written = read_taken(target), ""
    if stamp.is_file():
        written = stamp.read_text(encoding="utf-8", errors="replace")
    # A person may have chosen among these, or changed the time: that stays.
    is_same = bool(digests) and digests == taken.notebooks
    has_own_time = is_same and bool(written) and written != taken.stamp
    different = not is_same and digests != tuple(
        _digest(path).hex() for path in sorted(target.glob("*.ipynb"))
    )
    if different and time and earlier and earlier > time:
        said.older.append(login)
        return
    target.mkdir(parents=True, exist_ok=True)
    if not is_same:
        _write(notebooks, target, assignment)
    if time is not None and not has_own_time:
        written = f"{time:%Y-%m-%d %H:%M:%S} UTC\n"
        write_atomically(stamp, written)
    elif time is None and different:
        written = ""
        stamp.unlink(missing_ok=True)
    lms = next((one.lms for one in notebooks if one.lms), "")
    write_taken(Taken(lms, digests, taken.stamp if has_own_time else written), target)
    said.placed.append(login)
    if any(late):
        said.late.append(login if due == everybodys else f"{login} (has a date of their own)")
        said.due_unknown = due is None


def _write(notebooks: Sequence[HandIn], target: Path, assignment: str) -> None:
    kept: set[Path] = set()
    for one in notebooks:
        assert one.path is not None
        is_only = len(notebooks) == 1
        path = target / (f"{assignment}.ipynb" if is_only else f"{len(kept) + 1} {one.name}")
        write_atomically(path, _as_utf8(one.path.read_bytes()))
        kept.add(path)
    for path in target.glob("*.ipynb"):
        if path not in kept:
            path.unlink()


def _as_utf8(notebook: bytes) -> bytes:
    """Return a notebook that an editor saved as UTF-16, or with a mark, as nbgrader reads it."""
    encoding = json.detect_encoding(notebook)
    if encoding == "utf-8":
        return notebook
    try:
        return notebook.decode(encoding).encode("utf-8")
    except ValueError:
        return notebook


def _is_nbgraders(path: Path, parts: tuple[str, ...], login: str, assignment: str) -> bool:
    """Tell whether a time stamp is where nbgrader writes it, and not in a learner's own folder."""
    owners = [number for number, part in enumerate(parts) if part.casefold() == login.casefold()]
    return (
        path.parts[-3:] == parts[-3:]  # what was in an archive has another path
        and parts[-2:] == (assignment, STAMP)
        and owners == [len(parts) - 3]
        and not any(name.fullmatch(part) for part in parts for name in LMS_NAMES)
    )


def _chosen(notebooks: Sequence[HandIn], assignment: str, given_out: Given) -> list[HandIn]:
    """Return the one that counts; several where a person has to decide."""
    chosen = [one for one in notebooks if is_named(one.name, assignment)] or list(notebooks)
    if len(notebooks) > 1:  # one in which somebody has written counts before one as it was given
        untouched = [one for one in notebooks if one.path and given_out.is_untouched(one.path)]
        written = [one for one in notebooks if one not in untouched]
        chosen = (
            [one for one in chosen if one in written]
            or [one for one in written if one.path and given_out.is_of_it(one.path)]
            or chosen[-1:]
        )
    different = {_digest(one.path): one for one in chosen if one.path}
    chosen = list(different.values())
    if len(chosen) > 1 and all(one.time for one in chosen):
        newest = max(one.time for one in chosen if one.time)
        chosen = [one for one in chosen if one.time == newest]
    return chosen


def _digest(path: Path) -> bytes:
    """Return a hash of a file; the files of one learner may have gigabytes together."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
