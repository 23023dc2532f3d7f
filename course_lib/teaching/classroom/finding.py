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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from course_lib.errors import InputError
from course_lib.teaching.classroom.naming import LMS_NAMES, as_notebook, is_named, readings
from course_lib.teaching.classroom.roster import Roster
from course_lib.teaching.classroom.stamps import STAMP, parse_stamp
from course_lib.teaching.grade.submissions import (
    LARGEST,
    is_plain_file,
    is_skipped,
    shown,
)

DEEPEST = 4
"""Archives within archives that are opened."""

MOST_BYTES = 8_000_000_000
"""Of one collection, unpacked."""

BROKEN = (
    zipfile.BadZipFile, OSError, ValueError, LookupError, RuntimeError, EOFError, zlib.error,
    lzma.LZMAError,
)  # fmt: skip
"""What comes of an archive that is damaged, has a password, or is of a kind unknown here."""


@dataclass(frozen=True)
class HandIn:
    """What was found: the folders and archives it is in with its name, and when it was written.

    `path` is None for a folder of somebody's, and for a link; `name` is what the file is called
    without what an LMS puts before it, which is `lms`, and `late` what Canvas says, None where
    nobody says it. `left_out` says which file it is where it cannot be used, and may say why.
    """

    parts: tuple[str, ...]
    path: Path | None = None
    time: datetime | None = None
    name: str = ""
    late: bool | None = None
    lms: str = ""
    left_out: str = ""

    @property
    def file(self) -> Path:
        """Its path, of what is known to have one."""
        assert self.path is not None
        return self.path


def is_of(others: set[str], file: HandIn, own: re.Pattern[str] | None) -> bool:
    """Tell whether a file is of another assignment: by its folder, in repositories by its name."""
    by_name = own is not None and any(is_named(file.parts[-1], one) for one in others)
    return by_name or bool(others.intersection(file.parts[:-1]))


def alike(logins: Iterable[str], roster: Roster) -> list[str]:
    """Return those not in the roster that many disks would give another one's folder."""
    names = [one.casefold() for one in {*logins, *roster.ids}]
    return [one for one in logins if one not in roster.ids and names.count(one.casefold()) > 1]


class HandInReader:
    """Reads what was given, and unpacks archives into a folder of its own."""

    def __init__(self, scratch: Path, roster: Roster) -> None:
        self.scratch = scratch
        self.roster = roster
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
            yield from self._file(path, parts)
        else:
            raise InputError(f"{path} is not there", hint="Name a zip file or a folder.")

    def _entry(self, path: Path, above: tuple[str, ...]) -> Iterator[HandIn]:
        parts = (*above, shown(path.name))
        if is_skipped(path.name):
            return
        if path.is_symlink():  # it is not followed; who has nothing else needs a person
            yield HandIn(parts)
        elif path.is_dir():
            within = [one for e in sorted(path.iterdir()) for one in self._entry(e, parts)]
            # Who has handed in an empty folder needs a person.
            yield from within or ([] if above else [HandIn(parts)])
        elif is_plain_file(path):
            yield from self._file(path, parts)
        else:
            yield HandIn(parts, left_out="/".join(parts))

    def _file(
        self,
        path: Path,
        parts: tuple[str, ...],
        time: datetime | None = None,
        depth: int = DEEPEST,
    ) -> Iterator[HandIn]:
        name = as_notebook(parts[-1] if parts else path.name)
        parts = (*parts[:-1], name) if parts else ()
        suffix = PurePosixPath(name).suffix.lower()
        if suffix == ".zip" and depth:
            above = (*parts[:-1], name[:-4]) if parts else ()
            try:
                archive = zipfile.ZipFile(path)
            except BROKEN as error:
                yield HandIn(above, left_out=f"{'/'.join(above) or path.name}: {error}")
                return
            with archive:
                yield from self._members(archive, above, depth - 1)
        elif (suffix == ".ipynb" or name == STAMP) and path.stat().st_size <= LARGEST:
            yield HandIn(parts, path, time)
        else:
            yield HandIn(parts, left_out="/".join(parts))

    def _members(
        self, archive: zipfile.ZipFile, above: tuple[str, ...], depth: int
    ) -> Iterator[HandIn]:
        for info in archive.infolist():
            parts = self._parts(info)
            if info.filename.endswith("/") or any(map(is_skipped, parts)):
                continue
            parts = (*above, *parts)
            self.size += info.file_size
            if self.size > MOST_BYTES:
                raise InputError(f"unpacked, it has more than {MOST_BYTES:,} bytes")
            self.count += 1
            path = self.scratch / str(self.count)
            try:
                with archive.open(info) as member:
                    path.write_bytes(member.read(min(info.file_size, LARGEST + 1)))
            except BROKEN as error:
                yield HandIn(parts, left_out=f"{'/'.join(parts)}: {error}")
            else:
                yield from self._file(path, parts, _time(info), depth)

    def _parts(self, info: zipfile.ZipInfo) -> tuple[str, ...]:
        """Return a member's path; of several readings of its bytes the one that is of a learner."""
        name = info.filename.replace("\\", "/")
        names = [name] if info.flag_bits & 0x800 else readings(name)
        paths, ids = [PurePosixPath(one).parts for one in names], self.roster.ids
        fits = (one for one in paths if one and owner(HandIn(one), self.roster, None)[0] in ids)
        return tuple(shown(one) for one in next(fits, paths[0]) if one not in ("/", ".."))


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
    last = file.parts[-1]
    if own is not None and (match := own.search("/".join(file.parts))):
        return _by_pattern(match, file, roster)
    matches = [(part, one.fullmatch(part)) for part in reversed(file.parts) for one in LMS_NAMES]
    strangers = [(part, match.groupdict()) for part, match in matches if match]
    for part, given in strangers:
        if login := roster.find(given.get("canvas") or "", given["name"]):
            of_part = given["file"] or ""
            name = of_part if of_part and part == last else last
            late = bool(given["late"]) if "canvas" in given else None
            lms = part.removesuffix(of_part).rstrip("_") + "_"
            return login, replace(file, name=name, late=late, lms=lms)
    stems = [re.sub(r"(?i)\.ipynb$", "", part) for part in file.parts]
    login = next(filter(None, map(roster.find, stems)), "")
    if strangers and not login:
        return "", replace(file, name=strangers[0][0])
    return login or stems[0], replace(file, name=last)


def _by_pattern(match: re.Match[str], file: HandIn, roster: Roster) -> tuple[str, HandIn]:
    given = match.groupdict()
    login, stamp = given["student_id"] or "", given.get("timestamp")
    time = parse_stamp(stamp) if stamp else file.time
    return roster.find(login) or login, replace(file, name=file.parts[-1], time=time)


def _time(info: zipfile.ZipInfo) -> datetime | None:
    """Return when a member was written, in UTC; archives hold the local time."""
    try:
        local = datetime(*info.date_time)
    except ValueError:
        return None
    return local.astimezone(UTC).replace(tzinfo=None) if local.year > 1980 else None
