"""Lock files of JavaScript: the text of one goes in, name → version comes out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from course_lib.xray.lock_reading import (
    Versions,
    add_versions,
    check_version,
    collect,
    list_at,
    table_at,
)

LOCAL = ("file:", "link:", "portal:", "workspace:", "root:")
"""Where a package of the project itself is; it is in no registry."""

_NAME = re.compile(r"(@?[^@]+)@(.*)", re.DOTALL)


def parse_package_lock(text: str) -> Versions:
    """Return the packages of a `package-lock.json` of any version.

    Of several versions of one, the one that the project's own code gets: that in its top folder.
    """
    lock = json.loads(text)
    if not isinstance(lock, dict) or not {"lockfileVersion", "packages", "dependencies"} & set(
        lock
    ):
        raise ValueError("it has neither packages nor dependencies")
    check_version(lock.get("lockfileVersion"), None, 1, 2, 3)
    if "packages" in lock:
        entries = _installed(table_at(lock, "packages"))
    else:
        entries = _nested(table_at(lock, "dependencies"), 0)
    found: Versions = {}
    for _, name, version in sorted(entries):
        found.setdefault(name, version)
    return found


def parse_pnpm_lock(text: str) -> Versions:
    """Return the packages of a `pnpm-lock.yaml` of version 6 or 9, in their newest versions."""
    lock = _read_yaml(text)
    check_version(str(lock.get("lockfileVersion", "")).split(".")[0], "6", "9")
    if not {"importers", "dependencies", "devDependencies", "packages"} & set(lock):
        raise ValueError("it has neither importers nor packages: the end is missing")
    packages = table_at(lock, "packages")
    if packages and str(lock["lockfileVersion"]).startswith("9") and "snapshots" not in lock:
        raise ValueError("it has no snapshots, which come last: the end is missing")
    needed = [
        (key, other, str(version))
        for key in packages
        for other, version in table_at(table_at(packages, key), "dependencies").items()
    ]
    for key, other, version in needed:  # only version 6 has them here
        is_there = version in packages or f"/{other}@{version}" in packages
        if not is_there and not version.startswith(LOCAL):
            raise ValueError(f"{key} depends on {other}, which is not in it: is it complete?")
    found: Versions = {}
    for key in packages:
        entry = table_at(packages, key)
        # Peers are in brackets: /react-dom@18.2.0(react@18.2.0)
        match = _NAME.fullmatch(key.removeprefix("/").split("(")[0])
        name, version = (match[1], match[2]) if match else (key, key)
        is_local = table_at(entry, "resolution").get("type") == "directory"
        if is_local or version.startswith(LOCAL):
            continue
        if "/" in version:  # a tarball, or a commit of a repository
            name, version = str(entry.get("name", name)), str(entry.get("version", ""))
        add_versions(found, [(name, version)])
    return found


def parse_yarn_lock(text: str) -> Versions:
    """Return the packages of a `yarn.lock` of any version, in their newest versions."""
    if "__metadata:" in text:
        return _parse_berry(text)
    if "# yarn lockfile v1" not in text:
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
            entry = line[:-1].split(", ")[0].strip('"')
        elif entry and (match := re.fullmatch(r' {2}version "?([^"]*)"?', line)):
            spec = _NAME.fullmatch(entry)
            if spec is None:
                raise ValueError(f"{entry[:60]!r} is not a name with a version")
            name, wanted = spec[1], spec[2]
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
    found: Versions = {}
    for key in table_at(lock, "packages"):
        entry = list_at(lock["packages"], key)
        match = _NAME.fullmatch(str(entry[0])) if entry else None
        if match is None:
            raise ValueError(f"{key[:60]!r} has no name with a version")
        if not match[2].startswith(LOCAL):
            add_versions(found, [(match[1], "" if "/" in match[2] else match[2])])
    return found


def _parse_berry(text: str) -> Versions:
    lock = _read_yaml(text)
    entries = (table_at(lock, key) for key in lock if key != "__metadata")
    found: list[tuple[str, str]] = []
    for entry in entries:
        match = _NAME.fullmatch(str(entry.get("resolution", "")))
        if match is None or "version" not in entry:
            raise ValueError("a package in it has no version or resolution: is it complete?")
        if entry.get("linkType") != "soft" and not match[2].startswith(LOCAL):
            found.append((match[1], str(entry["version"])))
    return collect(found)


def _read_yaml(text: str) -> dict[str, Any]:
    """Return a table in YAML with all of its values as texts."""
    try:
        # It makes texts, lists and tables. pnpm may write what is for itself before a separator.
        *_, found = [None, *yaml.load_all(text, yaml.CBaseLoader)]
    except yaml.YAMLError as error:
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
            name, version = str(entry.get("name", name)), str(entry.get("version", ""))
            yield (path.count("node_modules/"), folder), name, version


def _nested(dependencies: dict[str, Any], depth: int) -> Iterator[tuple[tuple[int, str], str, str]]:
    for name in dependencies:
        entry = table_at(dependencies, name)
        version = str(entry.get("version", ""))
        if version.startswith("npm:"):  # an alias: npm:real@1.2.3
            name, _, version = version.removeprefix("npm:").rpartition("@")
        if not version.startswith("file:"):
            yield (depth, ""), name, "" if "/" in version else version
        yield from _nested(table_at(entry, "dependencies"), depth + 1)
