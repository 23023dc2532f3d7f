"""Putting a learner's notebooks into `submitted/<login>/<assignment>/`: which one, and its time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

from course_lib.errors import InputError
from course_lib.files import write_atomically
from course_lib.teaching.classroom.finding import HandIn
from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.classroom.given import Given
from course_lib.teaching.classroom.naming import LMS_NAMES, is_named
from course_lib.teaching.classroom.stamps import STAMP, time_of
from course_lib.teaching.classroom.taken import Taken, read_taken, write_taken


class Placed(NamedTuple):
    """What came of a learner's hand-ins.

    Attributes
    ----------
    state
        Which list of `Collected` the login is in.
    why
        Why nothing was taken.
    late
        The login, and more, of whoever is late; else empty.
    left_out
        Files that count for nothing, with the reason.
    """

    state: Literal["placed", "older", "kept"]
    why: str = ""
    late: str = ""
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placing:
    """A collection that is put into the class's folder, learner by learner.

    `due` says when it is due: for everybody (`""`), and for whom has a date of their own;
    `given_out` is the lab as learners got it.
    """

    room: Classroom
    assignment: str
    due: Mapping[str, datetime | None]
    given_out: Given

    def place(self, login: str, hand_ins: Sequence[HandIn]) -> Placed:
        """Write what a learner has handed in, of all that was found of theirs, with its time."""
        target = self.room.place("submitted", login, self.assignment)
        stamps = [one for one in hand_ins if one.name == STAMP]
        trusted = [one for one in stamps if _is_nbgraders(one, login, self.assignment)]
        left_out = tuple(
            f"{'/'.join(one.parts)}: not where nbgrader writes it"
            for one in stamps
            if one not in trusted
        )
        try:
            times = {one.path.parent: time_of(one.path) for one in trusted if one.path}
            found = [
                replace(one, time=times.get(one.path.parent, one.time))
                for one in hand_ins
                if one.path and one not in stamps
            ]
            notebooks = self._notebooks(found, target)
        except InputError as error:
            return Placed("kept", error.args[0], left_out=left_out)
        return self._written(login, notebooks, target)._replace(left_out=left_out)

    def _written(self, login: str, notebooks: Sequence[HandIn], target: Path) -> Placed:
        """Write notebooks and their time, unless a person has changed what was taken of these."""
        digests, taken = tuple(_digest(one.file) for one in notebooks), read_taken(target)
        is_known = bool(digests) and digests == taken.notebooks
        is_here = is_known or digests == tuple(map(_digest, sorted(target.glob("*.ipynb"))))
        stamp, time, there = target / STAMP, self._time(login, notebooks), None
        with suppress(InputError):
            there = time_of(stamp)
        if not is_here and time and there and there > time:
            return Placed("older")
        if not is_known:
            _write(notebooks, target, self.assignment)
        written = stamp.read_text(encoding="utf-8", errors="replace") if stamp.is_file() else ""
        if is_known and written not in ("", taken.stamp):  # a person's
            written, time = taken.stamp, there
        elif time is not None:
            written = f"{time:%Y-%m-%d %H:%M:%S} UTC\n"
            write_atomically(stamp, written)
        elif not is_here:
            written = ""
            stamp.unlink(missing_ok=True)
        lms = next((one.lms for one in notebooks if one.lms), "")
        write_taken(Taken(lms, digests, written), target)
        return Placed("placed", late=self._late(login, notebooks, time))

    def _late(self, login: str, notebooks: Sequence[HandIn], time: datetime | None) -> str:
        """Return the login, and more, of whoever is late; else empty."""
        due = self.due.get(login, self.due[""])
        if any(one.late for one in notebooks):
            return f"{login} (has a date of their own)" if due != self.due[""] else login
        return login if due and time and time > due else ""

    def _time(self, login: str, notebooks: Sequence[HandIn]) -> datetime | None:
        """Return when it was handed in, as far as that is known.

        An archive of Canvas says when it was made, and of each file only whether it was late. Who
        has a later date here may be late for Canvas and in time for it: a person knows.
        """
        due, for_all = self.due.get(login, self.due[""]), self.due[""]
        time = max((one.time for one in notebooks if one.time), default=None)
        late = [one.late for one in notebooks if one.late is not None]
        if not late or due is None:
            return time
        if not any(late):
            return min(time or due, due)
        after = (for_all or due) + timedelta(seconds=1)
        return max(time or after, after) if due == for_all else after

    def _notebooks(self, found: Sequence[HandIn], target: Path) -> Sequence[HandIn]:
        """Return the notebooks that count; raise where all has to stay."""
        # A repository has the course's own copy of the lab beside the learner's.
        handed = [one for one in found if not self.given_out.is_the_courses(one.parts, one.path)]
        notebooks = _chosen(handed, self.assignment, self.given_out)
        if not notebooks and handed != found:
            raise InputError("only the lab as it was given")
        if not notebooks and any(target.rglob("*.ipynb")):
            raise InputError("no notebook")
        return notebooks


def _write(notebooks: Sequence[HandIn], target: Path, assignment: str) -> None:
    """Write notebooks, several under numbered names, and remove others."""
    names = [f"{number} {one.name}" for number, one in enumerate(notebooks, 1)]
    names = names if len(names) > 1 else [f"{assignment}.ipynb"] * len(names)
    for name, one in zip(names, notebooks, strict=True):
        write_atomically(target / name, one.file.read_bytes())
    for path in target.glob("*.ipynb"):
        if path.name not in names:
            path.unlink()


def _is_nbgraders(stamp: HandIn, login: str, assignment: str) -> bool:
    """Tell whether a time stamp is where nbgrader writes it, and not in a learner's own folder."""
    parts = stamp.parts
    owners = [number for number, part in enumerate(parts) if part.casefold() == login.casefold()]
    is_in_folder = stamp.path and stamp.path.parts[-3:] == parts[-3:]  # and in no archive
    is_in_place = parts[-2:] == (assignment, STAMP) and owners == [len(parts) - 3]
    is_of_lms = any(name.fullmatch(part) for part in parts for name in LMS_NAMES)
    return bool(is_in_folder and is_in_place and not is_of_lms)


def _chosen(notebooks: Sequence[HandIn], assignment: str, given_out: Given) -> Sequence[HandIn]:
    """Return the one that counts; several where a person has to decide."""
    chosen = [one for one in notebooks if is_named(one.name, assignment)] or list(notebooks)
    if len(notebooks) > 1:  # one in which somebody has written counts before one as it was given
        written = [one for one in notebooks if not given_out.is_untouched(one.file)]
        of_it = [one for one in written if given_out.is_of_it(one.file)]
        chosen = [one for one in chosen if one in written] or of_it or chosen[-1:]
    chosen = list({_digest(one.file): one for one in chosen}.values())
    times = [one.time for one in chosen if one.time]
    if len(times) == len(chosen):
        return [one for one in chosen if one.time == max(times)]
    return chosen


def _digest(path: Path) -> str:
    """Return a hash of a file; the files of one learner may have gigabytes together."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
