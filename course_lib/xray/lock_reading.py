"""What the readers of lock files share: values of the right kind, complete files, versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from course_lib.files import read_toml
from course_lib.xray.packages import newest

Versions = dict[str, str]
"""Name → version; empty where none is pinned."""


def add_versions(found: Versions, entries: Iterable[tuple[str, str]]) -> None:
    """Add packages to those that were found; of several versions of one, the newest."""
    for name, version in entries:
        found[name] = newest([version, found[name]]) if name in found else version


def collect(entries: Iterable[tuple[str, str]]) -> Versions:
    """Return the versions of packages; of several versions of one, the newest."""
    found: Versions = {}
    add_versions(found, entries)
    return found


def check_version(version: object, *known: object) -> None:
    """Refuse a format that is not among those that are known."""
    if version not in known:
        names = ", ".join(str(one) for one in known if one is not None)
        raise ValueError(f"its format has the version {version}; known here: {names}")


def check_complete(packages: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Refuse packages without one that they depend on: the end of such a file is missing."""
    needed = [(name, list(others)) for name, others in packages]
    known = {name for name, _ in needed}
    if not known:
        raise ValueError("it has no package, not even the project's own: the end is missing")
    for name, others in needed:
        for other in others:
            if other not in known:
                raise ValueError(f"{name} depends on {other}, which is not in it: is it complete?")


def toml_packages(
    lock: dict[str, Any], key: str = "package"
) -> list[tuple[str, str, dict[str, Any]]]:
    """Return name, version and table of each package of a lock file in TOML."""
    found = []
    for place, table in enumerate(tables_at(lock, key)):
        name, version = table.get("name"), table.get("version", "")
        if not name or not isinstance(name, str) or not isinstance(version, str):
            raise ValueError(f"{key} {place} has no name, or a version that is not text")
        found.append((name, version, table))
    return found


def text_at(table: dict[str, Any], key: str, default: str = "") -> str:
    """Return the text that a key holds; the default where it holds nothing."""
    value = table.get(key)
    if isinstance(value, (dict, list)):
        raise ValueError(f"{key} is not a text")
    return default if value is None else str(value)


def tables_at(table: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the list of tables that a key holds; none where there is no such key."""
    values = list_at(table, key)
    if not all(isinstance(value, dict) for value in values):
        raise ValueError(f"{key} is not a list of tables")
    return values


def list_at(table: dict[str, Any], key: str) -> list[Any]:
    """Return the list that a key holds; an empty one where there is no such key."""
    value = table.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key} is not a list")
    return value


def table_at(table: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the table that a key holds; an empty one where there is no such key."""
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise ValueError(f"{key} is not a table")
    return value


Table = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Tables:
    r"""How a lock file of tables, in TOML or JSON, says what its packages are.

    Attributes
    ----------
    version, known
        The key of the format's version, with a point before a key inside of it, and the first
        numbers of the versions that are known, None where it may be missing; an empty key where
        the format has no version.
    own
        Whether a package is the project's own, by its table.
    needs
        The names that a package depends on, by its table; None where the file does not tell.
    lists
        The keys of the lists of packages. All have to be there, and may be null.
    same
        Gives the form in which names are compared.
    read
        Text → table.

    Examples
    --------
    >>> made = Tables("lock.version", ("2",), own=lambda table: "path" in table)
    >>> made.parse("lock.version = 2.1\n[[package]]\nname = 'a'\nversion = '1'\n")
    {'a': '1'}
    """

    version: str
    known: tuple[str | None, ...]
    own: Callable[[Table], object]
    needs: Callable[[Table], Iterable[str]] | None = None
    lists: tuple[str, ...] = ("package",)
    same: Callable[[str], str] = str
    read: Callable[[str], Any] = read_toml

    def parse(self, text: str) -> Versions:
        """Return the packages of a lock file, without the project's own.

        Raises
        ------
        ValueError
            If it is not such a file, or a part of it is missing.
        """
        lock = self.read(text)
        if not isinstance(lock, dict):
            raise ValueError("it is not a table")
        if self.version:
            above, _, key = self.version.rpartition(".")
            written = (table_at(lock, above) if above else lock).get(key)
            check_version(written and str(written).split(".")[0], *self.known)
        if missing := [one for one in self.lists if one not in lock]:
            raise ValueError(f"it has no {missing[0]}: the end is missing")
        packages = [
            (self.same(name), version, table)
            for one in self.lists
            if lock[one] is not None
            for name, version, table in toml_packages(lock, one)
        ]
        if self.needs is not None:
            check_complete((name, map(self.same, self.needs(table))) for name, _, table in packages)
        return collect((name, version) for name, version, table in packages if not self.own(table))
