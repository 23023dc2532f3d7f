"""Who is in the class: read from a CSV, kept in the gradebook, found by what an LMS calls them."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import combining, normalize

from course_lib.errors import InputError

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

COLUMNS = {
    "login": ("login", "id", "username", "sis login id", "student id"),
    "name": ("name", "student", "full name"),
    "first_name": ("first name", "firstname", "given name"),
    "last_name": ("last name", "lastname", "surname", "family name"),
    "email": ("email", "e mail", "email address"),
    "lms_user_id": ("lms user id", "lms id", "canvas id", "moodle id", "user id"),
}
"""What a column may be called, by what nbgrader calls it; `-` and `_` are read as spaces."""

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

    Raises
    ------
    InputError
        It cannot be read, or a line cannot be used; the message says which.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8: {error}", hint="Save it as “CSV UTF-8”, as Excel calls it."
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    first = text.partition("\n")[0]
    rows = csv.DictReader(
        io.StringIO(text, newline=""), delimiter=";" if first.count(";") > first.count(",") else ","
    )
    names = {name: _field(name) for name in rows.fieldnames or ()}
    if "login" not in names.values():
        raise InputError(
            f"{path} has no column `login`",
            hint="Its first line names the columns: login,name,email,lms_user_id.",
        )
    found: dict[str, Learner] = {}
    try:
        for row in rows:
            learner = _learner(
                {names[key]: value.strip() for key, value in row.items() if key and value}
            )
            if learner is None:
                continue
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


def _field(column: str) -> str:
    plain = re.sub(r"[\s_-]+", " ", column).strip().casefold()
    return next((name for name, known in COLUMNS.items() if plain in known), "")


def _learner(row: Mapping[str, str]) -> Learner | None:
    given = {name: value for name, value in row.items() if name and value}
    if not given:
        return None
    if name := given.pop("name", ""):
        last, comma, first = (part.strip() for part in name.partition(","))
        if not comma:
            first, _, last = name.rpartition(" ")
        given = {"first_name": first, "last_name": last, **given}
    return Learner(**{"login": "", **given})
