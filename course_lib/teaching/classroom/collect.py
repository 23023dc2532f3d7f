"""Collecting: what an LMS gives for download becomes `submitted/<login>/<assignment>/`.

Archives within folders, folders within archives and archives of learners' own are read alike. Who
handed a notebook in is told by its path: by the names that Canvas and Moodle make, by the roster,
or else by the first folder or file in it. A notebook's bytes are copied as they are.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import tempfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.files import told_if_not_written
from course_lib.teaching.classroom.extensions import own_dates
from course_lib.teaching.classroom.folder import Classroom
from course_lib.teaching.classroom.given import Given
from course_lib.teaching.classroom.naming import LMS_NAMES, compiled, is_named
from course_lib.teaching.classroom.roster import Roster, is_login
from course_lib.teaching.classroom.taken import Taken, read_taken, write_taken
from course_lib.teaching.grade.submissions import LARGEST, SKIPPED, is_plain_file, shown
from course_lib.teaching.notebooks.project import write_atomically

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

DEEPEST = 4
"""Archives within archives that are opened."""

MOST_BYTES = 8_000_000_000
"""Of one collection, unpacked."""

STAMP = "timestamp.txt"

BROKEN = (
    zipfile.BadZipFile, OSError, ValueError, LookupError, RuntimeError, EOFError, zlib.error,
    lzma.LZMAError,
)  # fmt: skip
"""What comes of an archive that is damaged, has a password, or is of a kind unknown here."""


@dataclass
class Collected:
    """What came of a collection: logins, and names of what could not be used.

    Attributes
    ----------
    placed
        Whose submission is now in the class's folder.
    late
        Those of them that the LMS calls late.
    new
        Those of them who are not in the roster, where there is one.
    due_unknown
        Whether somebody is late and the gradebook has no due date, so that no time says so.
    older
        Whose submission here is newer than the one in this collection, and stays.
    kept
        Of whom nothing was taken, and what is here, if anything, stays; with the reason.
    unknown
        What an LMS calls people whom the roster does not have.
    unfit
        Notebooks of the lab with something written into them that the pattern does not fit.
    left_out
        Files that are neither notebooks nor archives, cannot be read, are of another assignment,
        or are not what the pattern is about.
    """

    placed: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    due_unknown: bool = False
    new: list[str] = field(default_factory=list)
    older: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    unfit: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _File:
    """What was found: the folders and archives it is in with its name, and when it was written.

    `path` is None for a folder of somebody's, and for a link; `name` is what the file is called
    without what an LMS puts before it, which is `lms`, and `late` what Canvas says, None where
    nobody says it.
    """

    parts: tuple[str, ...]
    path: Path | None = None
    time: datetime | None = None
    name: str = ""
    late: bool | None = None
    lms: str = ""


def collect(
    room: Classroom, assignment: str, given: Iterable[Path], *, pattern: str = ""
) -> Collected:
    """Put submissions into the class's folder.

    Parameters
    ----------
    room, assignment
        Where to.
    given
        Archives (`.zip`), folders or notebooks.
    pattern
        A regular expression as `nbgrader zip_collect` takes it, with the groups `student_id` and,
        if wanted, `timestamp`; it is searched in each path.

    Raises
    ------
    InputError
        Something that was given is not there or holds no notebook, or the pattern cannot be used,
        or fits no path.
    """
    own = compiled(pattern)
    with room.gradebook() as book:
        roster = Roster.of(book)
        due = _due_dates(room, book, assignment)
        others = {one.name for one in book.assignments} - {assignment}
    said = Collected()
    given_out = Given(room.place("release", ".", assignment) / f"{assignment}.ipynb")
    found: dict[str, list[_File]] = defaultdict(list)
    with (
        told_if_not_written(room.root, "Make room, or say who may write there, and collect again."),
        tempfile.TemporaryDirectory(dir=room.root, prefix=".collecting-") as scratch,
    ):
        reader = _Reader(Path(scratch), said)
        for path in given:
            files = _within_outer(list(reader.read(path)), roster, assignment, own)
            if own is not None:
                files = _fitting(files, own, path, said, given_out)
            for file in files:
                if _is_of(others, file, own):
                    said.left_out.append(f"{'/'.join(file.parts)}: of another assignment")
                    continue
                login, hand_in = _owner(file, roster, own)
                if not login:
                    said.unknown.append(hand_in.name)
                elif is_login(login):
                    found[login].append(hand_in)
                else:
                    said.left_out.append("/".join(file.parts))
            if not files:
                unread = f": {'; '.join(said.left_out[:3])}" if said.left_out else ""
                raise InputError(
                    f"{path} holds no notebooks that can be read{unread}",
                    hint="Name a folder or a zip file with one notebook or one folder a learner.",
                )
        for login in _alike(found, roster):
            del found[login]
            said.left_out.append(f"{login}: another login differs from it by case only")
        for login, hand_ins in sorted(found.items()):
            with told_if_not_written(room.place("submitted", login, assignment)):
                own_due = due.get(login, due[""])
                _place(room, assignment, login, hand_ins, (due[""], own_due), said, given_out)
    if roster.ids:
        said.new = [login for login in said.placed if login not in roster.ids]
    said.unknown = sorted(set(said.unknown))
    return said


def _fitting(
    files: list[_File], own: re.Pattern[str], given: Path, said: Collected, given_out: Given
) -> list[_File]:
    """Return what the pattern fits, and name the rest: folders before files, one line each."""
    fitting = [file for file in files if own.search("/".join(file.parts))]
    rest = [file for file in files if file not in fitting]
    if files and not fitting:
        raise InputError(
            f"the pattern fits nothing in {given}, such as {'/'.join(files[0].parts)}",
            hint="It is searched in paths like this one, below what was given.",
        )
    work = [file for file in rest if file.path and given_out.is_work(file.path)]
    said.unfit += ["/".join(file.parts) for file in work]
    rest = [file for file in rest if file not in work]
    outer = len(os.path.commonprefix([file.parts[:-1] for file in files])) + 1
    known = {file.parts[:outer] for file in fitting}
    names = {file.parts if file.parts[:outer] in known else file.parts[:outer] for file in rest}
    for parts in sorted(names, key=lambda parts: (len(parts), parts)):
        said.left_out.append(f"{'/'.join(parts)}: the pattern does not fit")
    return fitting


def _is_of(others: set[str], file: _File, own: re.Pattern[str] | None) -> bool:
    """Tell whether a file is of another assignment: by its folder, in repositories by its name."""
    by_name = own is not None and any(is_named(file.parts[-1], one) for one in others)
    return by_name or bool(others.intersection(file.parts[:-1]))


def _alike(logins: Iterable[str], roster: Roster) -> list[str]:
    """Return those not in the roster that many disks would give another one's folder."""
    folders: dict[str, set[str]] = defaultdict(set)
    for login in {*logins, *roster.ids}:
        folders[login.casefold()].add(login)
    return [
        login for login in logins if login not in roster.ids and len(folders[login.casefold()]) > 1
    ]


class _Reader:
    """Reads what was given, and unpacks archives into a folder of its own."""

    def __init__(self, scratch: Path, said: Collected) -> None:
        self.scratch = scratch
        self.said = said
        self.count = 0
        self.size = 0

    def read(self, path: Path) -> Iterator[_File]:
        if path.is_dir():
            for entry in sorted(path.iterdir()):
                yield from self._entry(entry, ())
        elif is_plain_file(path):
            # What is in an archive belongs to whoever it names, and not to the archive.
            parts = () if path.suffix.lower() == ".zip" else (shown(path.name),)
            yield from self._file(path, parts, None, DEEPEST)
        else:
            raise InputError(f"{path} is not there", hint="Name a zip file or a folder.")

    def _entry(self, path: Path, above: tuple[str, ...]) -> Iterator[_File]:
        parts = (*above, shown(path.name))
        if path.name.startswith(".") or path.name in SKIPPED:
            return
        if path.is_symlink():  # it is not followed; who has nothing else needs a person
            yield _File(parts)
        elif path.is_dir():
            before = len(self.said.left_out)
            within = [one for e in sorted(path.iterdir()) for one in self._entry(e, parts)]
            # Who has handed in an empty folder needs a person.
            is_empty = not above and len(self.said.left_out) == before
            yield from within or ([_File(parts)] if is_empty else [])
        elif is_plain_file(path):
            yield from self._file(path, parts, None, DEEPEST)
        else:
            self.said.left_out.append("/".join(parts))

    def _file(
        self, path: Path, parts: tuple[str, ...], time: datetime | None, depth: int
    ) -> Iterator[_File]:
        name = parts[-1] if parts else path.name
        suffix = PurePosixPath(name).suffix.lower()
        if suffix == ".zip" and depth:
            yield from self._archive(path, (*parts[:-1], name[:-4]) if parts else (), depth - 1)
        elif (suffix == ".ipynb" or name == STAMP) and path.stat().st_size <= LARGEST:
            yield _File(parts, path, time)
        else:
            self.said.left_out.append("/".join(parts))

    def _archive(self, path: Path, above: tuple[str, ...], depth: int) -> Iterator[_File]:
        try:
            archive = zipfile.ZipFile(path)
        except BROKEN as error:
            self.said.left_out.append(f"{'/'.join(above) or path.name}: {error}")
            return
        with archive:
            for info in archive.infolist():
                inner = PurePosixPath(_name(info).replace("\\", "/")).parts
                names = [shown(one) for one in inner if one not in ("/", "..")]
                parts = (*above, *names)
                if info.filename.endswith("/") or any(
                    p.startswith(".") or p in SKIPPED for p in names
                ):
                    continue
                try:
                    unpacked = self._unpacked(_blocks(archive, info))
                except zipfile.BadZipFile as error:
                    self.said.left_out.append(f"{'/'.join(parts)}: {error}")
                    continue
                if unpacked is None:
                    self.said.left_out.append("/".join(parts))
                else:
                    yield from self._file(unpacked, parts, _time(info), depth)

    def _unpacked(self, blocks: Iterator[bytes]) -> Path | None:
        """Write a member to a file of its own; None where it is too large for a notebook."""
        self.count += 1
        path = self.scratch / str(self.count)
        with path.open("wb") as file:
            for block in blocks:
                self.size += len(block)
                if self.size > MOST_BYTES:
                    raise InputError(f"unpacked, it has more than {MOST_BYTES:,} bytes")
                if file.write(block) and file.tell() > LARGEST:
                    return None
        return path


def _blocks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield what a member holds; what is wrong with it is a `BadZipFile`, whatever it is."""
    try:
        with archive.open(info) as member:
            while block := member.read(1 << 20):
                yield block
    except BROKEN as error:
        raise zipfile.BadZipFile(str(error)) from error


def _within_outer(
    files: list[_File], roster: Roster, assignment: str, own: re.Pattern[str] | None
) -> list[_File]:
    """Return files without an outer folder that holds those of several learners.

    Sakai, ILIAS, Gradescope and people make such archives. A folder is a learner's own if the
    roster or an LMS's name says so, or a notebook in it bears the assignment's name.
    """
    if own is not None:
        return files
    outer = os.path.commonprefix([file.parts[:-1] for file in files])
    within = {file.parts[len(outer)] for file in files}
    is_learners = any(
        roster.find(name) or any(one.fullmatch(name) for one in LMS_NAMES) for name in outer
    )
    if is_learners or len(within) < 2 or any(is_named(one, assignment) for one in within):
        return files
    return [replace(file, parts=file.parts[len(outer) :]) for file in files]


def _owner(file: _File, roster: Roster, own: re.Pattern[str] | None) -> tuple[str, _File]:
    """Return whose a file is, and as what; no login where an LMS names somebody unknown."""
    parts, last = file.parts, file.parts[-1]
    if own is not None and (match := own.search("/".join(parts))):
        given = match.groupdict()
        login = given["student_id"] or ""
        stamp = given.get("timestamp")
        time = parse_stamp(stamp) if stamp else file.time
        return roster.find(login) or login, replace(file, name=last, time=time)
    stranger = ""
    for part in reversed(parts):
        for pattern in LMS_NAMES:
            if match := pattern.fullmatch(part):
                given = match.groupdict()
                name = (given["file"] or last) if part == last else last
                late = bool(given["late"]) if "canvas" in given else None
                if login := roster.find(given.get("canvas") or "", given["name"]):
                    lms = part.removesuffix(given["file"] or "").rstrip("_") + "_"
                    return login, replace(file, name=name, late=late, lms=lms)
                stranger = stranger or part
    stems = [part[:-6] if part.lower().endswith(".ipynb") else part for part in parts]
    login = next(filter(None, (roster.find(stem) for stem in stems)), "")
    if stranger and not login:
        return "", replace(file, name=stranger)
    return login or stems[0], replace(file, name=last)


def _place(
    room: Classroom,
    assignment: str,
    login: str,
    hand_ins: Sequence[_File],
    dates: tuple[datetime | None, datetime | None],
    said: Collected,
    given_out: Given,
) -> None:
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


def _write(notebooks: Sequence[_File], target: Path, assignment: str) -> None:
    kept: set[Path] = set()
    for one in notebooks:
        assert one.path is not None
        is_only = len(notebooks) == 1
        path = target / (f"{assignment}.ipynb" if is_only else f"{len(kept) + 1} {one.name}")
        write_atomically(path, one.path.read_bytes())
        kept.add(path)
    for path in target.glob("*.ipynb"):
        if path not in kept:
            path.unlink()


def _is_nbgraders(path: Path, parts: tuple[str, ...], login: str, assignment: str) -> bool:
    """Tell whether a time stamp is where nbgrader writes it, and not in a learner's own folder."""
    owners = [number for number, part in enumerate(parts) if part.casefold() == login.casefold()]
    return (
        path.parts[-3:] == parts[-3:]  # what was in an archive has another path
        and parts[-2:] == (assignment, STAMP)
        and owners == [len(parts) - 3]
        and not any(name.fullmatch(part) for part in parts for name in LMS_NAMES)
    )


def _chosen(notebooks: Sequence[_File], assignment: str, given_out: Given) -> list[_File]:
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


def _due_dates(room: Classroom, book: Gradebook, assignment: str) -> dict[str, datetime | None]:
    """Return when an assignment is due: for everybody (""), and for whom has an extension."""
    known = book.find_assignment(assignment)
    due: dict[str, datetime | None] = {"": known.duedate}
    if known.duedate:
        due |= {one.student.id: one.duedate for one in known.submissions if one.extension}
        due |= own_dates(room, assignment)
    return due


def _name(info: zipfile.ZipInfo) -> str:
    """Return a member's name; Linux and macOS write UTF-8 and often do not say so."""
    if not info.flag_bits & 0x800:  # then it was read as code page 437
        with suppress(UnicodeError):
            return info.filename.encode("cp437").decode("utf-8")
    return info.filename


def _time(info: zipfile.ZipInfo) -> datetime | None:
    """Return when a member was written, in UTC; archives hold the local time."""
    try:
        local = datetime(*info.date_time)
    except ValueError:
        return None
    return local.astimezone(UTC).replace(tzinfo=None) if local.year > 1980 else None


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
