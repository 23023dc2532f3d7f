"""Lock files of JavaScript: the text of one goes in, name → version comes out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml
from yaml.constructor import BaseConstructor

from course_lib.xray.lock_reading import (
    Versions,
    add_versions,
    check_complete,
    check_version,
    collect,
    list_at,
    table_at,
    text_at,
)
from course_lib.yaml_nodes import parse_documents

LOCAL = ("file:", "link:", "portal:", "workspace:", "root:")
"""Where a package of the project itself is; it is in no registry."""

_NAME = re.compile(r"(@?[^@]+)@(.*)", re.DOTALL)

_LONG_KEY = re.compile(
    r"""^( *)("[^"\n]{1000,}"|'[^'\n]{1000,}'|[^\s"'#?-](?:(?!: )[^\n]){1000,}?):(?=[ \r]|$)""",
    re.MULTILINE,
)


def parse_package_lock(text: str) -> Versions:
    """Return the packages of a `package-lock.json` of version 2 or 3, which npm writes from 7 on.

    Of several versions of one, the one that the project's own code gets: that in its top folder.
    """
    lock = json.loads(text)
    if not isinstance(lock, dict):
        raise ValueError("it is not a table")
    check_version(lock.get("lockfileVersion"), 2, 3)
    packages = table_at(lock, "packages")
    if len(packages) <= 1:  # at most the project itself
        _refuse_none(table_at(packages, ""))
    found: Versions = {}
    for _, name, version in sorted(_installed(packages)):
        found.setdefault(name, version)
    return found


def parse_pnpm_lock(text: str) -> Versions:
    """Return the packages of a `pnpm-lock.yaml` of version 6 or 9, in their newest versions."""
    lock = _read_yaml(text)
    check_version(str(lock.get("lockfileVersion", "")).split(".")[0], "6", "9")
    own = {"importers", "dependencies", "devDependencies", "packages"}
    if not own & set(lock) and not text.endswith("\n"):  # it has none of them without dependencies
        raise ValueError("it has neither importers nor packages: the end is missing")
    packages = table_at(lock, "packages")
    if packages and str(lock["lockfileVersion"]).startswith("9") and "snapshots" not in lock:
        raise ValueError("it has no snapshots, which come last: the end is missing")
    known = {_without_peers(key) for key in packages}
    importers = table_at(lock, "importers") or {"the project": lock}
    for tables in (importers, packages):  # in version 9, only the former have them
        for key, other, version in _needed(tables):
            is_there = not {version, f"{other}@{version}"}.isdisjoint(known)
            if not is_there and not version.startswith(LOCAL):
                raise ValueError(f"{key} depends on {other}, which is not in it: is it complete?")
    found: Versions = {}
    for key in packages:
        entry = table_at(packages, key)
        match = _NAME.fullmatch(_without_peers(key))
        name, version = (match[1], match[2]) if match else (key, key)
        is_local = table_at(entry, "resolution").get("type") == "directory"
        if is_local or version.startswith(LOCAL):
            continue
        if "/" in version or ":" in version:  # a tarball, a commit of a repository, a runtime
            name, version = text_at(entry, "name", name), text_at(entry, "version")
        add_versions(found, [(name, version)])
    return found


def parse_yarn_lock(text: str) -> Versions:
    """Return the packages of a `yarn.lock` of any version, in their newest versions."""
    if "__metadata:" in text:
        return _parse_berry(text)
    # Early ones have no such line, but packages.
    if "# yarn lockfile v1" not in text and not re.search(r"^\S.*:\s*$", text, re.MULTILINE):
        raise ValueError("it has neither __metadata nor the line `# yarn lockfile v1`")
    found: Versions = {}
    entry = ""
    for number, line in enumerate([*text.split("\n"), "end:"], 1):
        line = line.rstrip()
        if line and not line.startswith((" ", "#")):
            if entry:
                raise ValueError(f"{entry[:60]} has no version before line {number}")
            if not line.endswith(":"):
                raise ValueError(f"line {number} is not a package: {line[:60]!r}")
            # Of several keys, the first; one in quotes may hold a comma: "a@>=1, <2".
            key = re.match(r'"([^"]+)"|([^",]+)', line[:-1])
            if key is None:
                raise ValueError(f"line {number} is not a package: {line[:60]!r}")
            entry = key[1] or key[2]
        elif entry and (match := re.fullmatch(r' {2}"?version"?:? "?([^"]*)"?', line)):
            # Without a version, any was wanted.
            spec = _NAME.fullmatch(entry)
            name, wanted = (spec[1], spec[2]) if spec else (entry, "")
            if alias := _NAME.fullmatch(wanted.removeprefix("npm:")):  # mine@npm:theirs@^1.0
                name = alias[1] if wanted.startswith("npm:") else name
            if not wanted.startswith((*LOCAL, ".", "/")):
                add_versions(found, [(name, match[1])])
            entry = ""
    return found


def parse_bun_lock(text: str) -> Versions:
    """Return the packages of a `bun.lock`; of several versions of one, the newest."""
    # It is JSON with a comma after the last entry.
    parts = r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])'
    lock = json.loads(re.sub(parts, lambda one: one[1] or "", text))
    if not isinstance(lock, dict):
        raise ValueError("it is not a table")
    check_version(lock.get("lockfileVersion"), 0, 1)
    if not table_at(lock, "packages"):
        for one in table_at(lock, "workspaces").values():
            _refuse_none(one if isinstance(one, dict) else {})
    found: Versions = {}
    for key in table_at(lock, "packages"):
        entry = list_at(lock["packages"], key)
        match = _NAME.fullmatch(str(entry[0])) if entry else None
        if match is None:
            raise ValueError(f"{key[:60]!r} has no name with a version")
        if not match[2].startswith(LOCAL):
            add_versions(found, [(match[1], "" if "/" in match[2] else match[2])])
    return found


def _without_peers(key: str) -> str:
    """`/react-dom@18.2.0(react@18.2.0)` → `react-dom@18.2.0`."""
    return key.removeprefix("/").split("(")[0]


def _needed(tables: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield who needs which other package in which version, in a lock file of pnpm."""
    for key in tables:
        for kind in ("dependencies", "devDependencies"):
            wanted = table_at(table_at(tables, key), kind)
            for other, entry in wanted.items():
                version = text_at(entry, "version") if isinstance(entry, dict) else str(entry)
                yield key, other, _without_peers(version)


def _refuse_none(own: dict[str, Any]) -> None:
    """Refuse to find no package where the project's own table names some that it needs."""
    wanted = [*table_at(own, "dependencies"), *table_at(own, "devDependencies")]
    if wanted:
        raise ValueError(f"the project depends on {wanted[0]}, which is not in it: is it complete?")


def _parse_berry(text: str) -> Versions:
    lock = _read_yaml(text)
    entries = {key: table_at(lock, key) for key in lock if key != "__metadata"}
    check_complete(
        (spec[:1] + spec[1:].split("@")[0], table_at(entry, "dependencies"))
        for key, entry in entries.items()
        for spec in key.split(", ")
    )
    found: list[tuple[str, str]] = []
    for entry in entries.values():
        match = _NAME.fullmatch(text_at(entry, "resolution"))
        if match is None or "version" not in entry:
            raise ValueError("a package in it has no version or resolution: is it complete?")
        if entry.get("linkType") != "soft" and not match[2].startswith(LOCAL):
            found.append((match[1], text_at(entry, "version")))
    return collect(found)


def _read_yaml(text: str) -> dict[str, Any]:
    """Return a table in YAML with all of its values as texts."""
    try:
        # It makes texts, lists and tables. pnpm may write what is for itself before a separator.
        # Its keys end after 1,024 characters, but those with a mark: `? "a@1, b@2"`, then `: …`.
        marked = _LONG_KEY.sub(r"\1? \2\n\1:", text)
        found = [None, *map(BaseConstructor().construct_document, parse_documents(marked))][-1]
    except (ValueError, yaml.YAMLError) as error:
        raise ValueError(f"it is not YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(found, dict):
        raise ValueError("it is not a table")
    return found


def _installed(packages: dict[str, Any]) -> Iterator[tuple[tuple[int, str], str, str]]:
    """Yield depth, name and version of what is in `node_modules`; the rest is the project's."""
    for path in packages:
        entry = table_at(packages, path)
        folder, inside, name = path.rpartition("node_modules/")
        if inside and not entry.get("link"):
            name, version = text_at(entry, "name", name), text_at(entry, "version")
            yield (path.count("node_modules/"), folder), name, version
