"""Who is in the class: read from a CSV, kept in the gradebook, found by what an LMS calls them."""

from __future__ import annotations

import csv
import io
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import combining, normalize

from course_lib.errors import InputError

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

COLUMNS = {
    "login": ("login", "id", "username", "user name", "sis login id", "student id"),
    "name": ("name", "student", "full name"),
    "first_name": ("first name", "firstname", "given name"),
    "last_name": ("last name", "lastname", "surname", "family name"),
    "email": ("email", "e mail", "email address"),
    "number": ("id number", "sis user id"),
    "lms_user_id": ("lms user id", "lms id", "canvas id", "moodle id", "user id"),
}
"""What a column may be called, by what nbgrader calls it; `-` and `_` are read as spaces.

`number` is a person's number in Moodle or at the registrar's: a login where there is no other.
"""

FIELDS = {one: name for name, known in COLUMNS.items() for one in known}

LOGINS = ("login", "number", "email", "lms_user_id")
"""What is a person's login: the first of these that the roster has."""

CANVAS = frozenset({"student", "id", "section"})
"""The columns of a gradebook that Canvas has exported; its `ID` is not a login."""

NOT_PEOPLE = ("Points Possible", "Student, Test")
"""Lines of Canvas's."""

LONGEST_LOGIN = 200
"""Bytes: the name of a folder may have 255."""


@dataclass(frozen=True)
class Learner:
    """A line of the roster; what is not known is empty."""

    login: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""


def read_roster(path: Path) -> list[Learner]:
    """Read a roster.

    Parameters
    ----------
    path
        A CSV file with a header, comma or semicolon between its columns: `login`, `name` (or
        `first_name` and `last_name`), `email` and `lms_user_id`; only `login` has to be there.
        Or what Canvas exports of its gradebook, and Moodle of its participants or grades. Where
        there is no login, the person's number is it, or else the e-mail address.

    Raises
    ------
    InputError
        It cannot be read, or a line cannot be used; the message says which.
    """
    text = _text(path)
    first = text.partition("\n")[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    fields = _fields(rows.fieldnames or ())
    if not set(LOGINS) & set(fields.values()):
        raise InputError(
            f"{path} has no column `login`",
            hint="Its first line names the columns: login,name,email,lms_user_id.",
        )
    found: dict[str, Learner] = {}
    try:
        for row in rows:
            texts = {key: (row[key] or "").strip() for key in fields}
            given = {fields[key]: text for key, text in texts.items() if text}
            if not given or given.get("name") in NOT_PEOPLE:
                continue
            if "login" not in fields.values():
                given["login"] = next((given[one] for one in LOGINS if one in given), "")
            learner = _learner(given)
            if not is_login(learner.login):
                raise InputError(f"{path}, line {rows.line_num}: {learner.login!r} is not a login")
            if learner.login in found:
                raise InputError(f"{path}, line {rows.line_num}: {learner.login} is there twice")
            found[learner.login] = learner
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num}: {error}") from error
    return list(found.values())


def is_login(text: str) -> bool:
    """Tell whether a text can be a login: it also names a folder.

    Examples
    --------
    >>> is_login("ada"), is_login("../ada"), is_login("")
    (True, False, False)
    """
    fits = 0 < len(text.encode("utf-8", "replace")) <= LONGEST_LOGIN
    return fits and text.isprintable() and not re.search(r"^\.|[/\\\ufffd]", text)


def add_to_roster(book: Gradebook, learners: Iterable[Learner]) -> int:
    """Add learners to the gradebook, or complete those who are there; return how many are new.

    Nobody is taken away, and an empty field changes nothing.
    """
    known = {student.id for student in book.students}
    added = 0
    for learner in learners:
        fields = {name: value for name, value in asdict(learner).items() if value}
        login = fields.pop("login")
        added += login not in known
        book.update_or_create_student(login, **fields)
    return added


class Roster:
    """Finds logins by what an LMS calls people.

    Parameters
    ----------
    students
        Of the gradebook.
    """

    def __init__(self, students: Iterable[Learner]) -> None:
        self.ids: set[str] = set()
        self.logins: dict[str, set[str]] = defaultdict(set)
        for one in students:
            self.ids.add(one.login)
            first, last = one.first_name, one.last_name
            names = (one.login, one.email, one.lms_user_id, f"{first} {last}", f"{last} {first}")
            for name in filter(None, map(_plain, names)):
                self.logins[name].add(one.login)

    @classmethod
    def of(cls, book: Gradebook) -> Roster:
        """Return the gradebook's."""
        return cls(
            Learner(*(str(value or "") for value in fields))
            for one in book.students
            for fields in [(one.id, one.first_name, one.last_name, one.email, one.lms_user_id)]
        )

    def find(self, *names: str) -> str:
        """Return the login of whom one of the names is; empty where it is nobody's, or several's.

        Examples
        --------
        >>> roster = Roster([Learner("zoe1", "Zoë", "Müller", lms_user_id="77")])
        >>> roster.find("77"), roster.find("mullerzoe"), roster.find("Müller"), roster.find("Ada")
        ('zoe1', 'zoe1', '', '')
        """
        for name in names:
            if len(found := self.logins.get(_plain(name), set())) == 1:
                return next(iter(found))
        return ""


def _plain(name: str) -> str:
    """Return a name as Canvas writes it in names of files: lower case, no spaces, no accents."""
    letters = normalize("NFKD", name.casefold())
    return "".join(one for one in letters if one.isalnum() and not combining(one))


def _text(path: Path) -> str:
    """Return what a file holds: UTF-8, or what Excel writes on Windows."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _fields(columns: Iterable[str]) -> dict[str, str]:
    """Return by column what nbgrader calls it, as far as that is known."""
    plain = {one: re.sub(r"[\s_-]+", " ", one).strip().casefold() for one in columns}
    is_canvas = CANVAS.issubset(plain.values())
    known = FIELDS | ({"id": "lms_user_id"} if is_canvas else {})
    return {name: known[one] for name, one in plain.items() if one in known}


def _learner(given: dict[str, str]) -> Learner:
    given.pop("number", "")
    if name := given.pop("name", ""):
        last, comma, first = (part.strip() for part in name.partition(","))
        if not comma:
            first, _, last = name.rpartition(" ")
        given = {"first_name": first, "last_name": last, **given}
    return Learner(**{"login": "", **given})
