"""What the readers of lock files share: values of the right kind, complete files, versions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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
