"""Finding notebooks in what an LMS gives for download, and telling whose they are.

Archives within folders, folders within archives and archives of learners' own are read alike. Who
handed a notebook in is told by its path: by the names that Canvas and Moodle make, by the roster,
or else by the first folder or file in it.
"""

from __future__ import annotations

import lzma
import os
import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from course_lib.errors import InputError
from course_lib.teaching.classroom.given import Given
from course_lib.teaching.classroom.naming import LMS_NAMES, as_notebook, is_named
from course_lib.teaching.classroom.roster import Roster
from course_lib.teaching.classroom.stamps import STAMP, parse_stamp
from course_lib.teaching.grade.submissions import LARGEST, SKIPPED, is_plain_file, shown

DEEPEST = 4
"""Archives within archives that are opened."""

MOST_BYTES = 8_000_000_000
"""Of one collection, unpacked."""

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
class HandIn:
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


def fitting(
    files: list[HandIn], own: re.Pattern[str], given: Path, said: Collected, given_out: Given
) -> list[HandIn]:
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


def is_of(others: set[str], file: HandIn, own: re.Pattern[str] | None) -> bool:
    """Tell whether a file is of another assignment: by its folder, in repositories by its name."""
    by_name = own is not None and any(is_named(file.parts[-1], one) for one in others)
    return by_name or bool(others.intersection(file.parts[:-1]))


def alike(logins: Iterable[str], roster: Roster) -> list[str]:
    """Return those not in the roster that many disks would give another one's folder."""
    folders: dict[str, set[str]] = defaultdict(set)
    for login in {*logins, *roster.ids}:
        folders[login.casefold()].add(login)
    return [
        login for login in logins if login not in roster.ids and len(folders[login.casefold()]) > 1
    ]


class Reader:
    """Reads what was given, and unpacks archives into a folder of its own."""

    def __init__(self, scratch: Path, said: Collected) -> None:
        self.scratch = scratch
        self.said = said
        self.count = 0
        self.size = 0

    def read(self, path: Path) -> Iterator[HandIn]:
        """Yield what a folder, an archive or a file holds."""
        if path.is_dir():
            for entry in sorted(path.iterdir()):
                yield from self._entry(entry, ())
        elif is_plain_file(path):
            # What is in an archive belongs to whoever it names, and not to the archive.
            parts = () if path.suffix.lower() == ".zip" else (shown(path.name),)
            yield from self._file(path, parts, None, DEEPEST)
        else:
            raise InputError(f"{path} is not there", hint="Name a zip file or a folder.")

    def _entry(self, path: Path, above: tuple[str, ...]) -> Iterator[HandIn]:
        parts = (*above, shown(path.name))
        if path.name.startswith(".") or path.name in SKIPPED:
            return
        if path.is_symlink():  # it is not followed; who has nothing else needs a person
            yield HandIn(parts)
        elif path.is_dir():
            before = len(self.said.left_out)
            within = [one for e in sorted(path.iterdir()) for one in self._entry(e, parts)]
            # Who has handed in an empty folder needs a person.
            is_empty = not above and len(self.said.left_out) == before
            yield from within or ([HandIn(parts)] if is_empty else [])
        elif is_plain_file(path):
            yield from self._file(path, parts, None, DEEPEST)
        else:
            self.said.left_out.append("/".join(parts))

    def _file(
        self, path: Path, parts: tuple[str, ...], time: datetime | None, depth: int
    ) -> Iterator[HandIn]:
        name = as_notebook(parts[-1] if parts else path.name)
        parts = (*parts[:-1], name) if parts else ()
        suffix = PurePosixPath(name).suffix.lower()
        if suffix == ".zip" and depth:
            yield from self._archive(path, (*parts[:-1], name[:-4]) if parts else (), depth - 1)
        elif (suffix == ".ipynb" or name == STAMP) and path.stat().st_size <= LARGEST:
            yield HandIn(parts, path, time)
        else:
            self.said.left_out.append("/".join(parts))

    def _archive(self, path: Path, above: tuple[str, ...], depth: int) -> Iterator[HandIn]:
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


def within_outer(
    files: list[HandIn], roster: Roster, assignment: str, own: re.Pattern[str] | None
) -> list[HandIn]:
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


def owner(file: HandIn, roster: Roster, own: re.Pattern[str] | None) -> tuple[str, HandIn]:
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
