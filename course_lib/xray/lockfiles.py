"""Lock files: the text of one goes in, name → version comes out.

What is not from a registry — the project itself, the members of its workspace, local folders — is
left out, because no other project can share it. A text that is not such a lock file is a
`ValueError`, and so is one whose end is missing, where its format lets that be seen: packages that
are not in it would count as removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

from course_lib.files import read_toml
from course_lib.xray.lock_javascript import (
    parse_bun_lock,
    parse_package_lock,
    parse_pnpm_lock,
    parse_yarn_lock,
)
from course_lib.xray.lock_python import (
    parse_pdm_lock,
    parse_pipfile_lock,
    parse_poetry_lock,
    parse_pylock,
    parse_requirements,
    parse_uv_lock,
)
from course_lib.xray.lock_reading import (
    Versions,
    add_versions,
    check_complete,
    check_version,
    collect,
    list_at,
    table_at,
    tables_at,
    toml_packages,
)


@dataclass(frozen=True, slots=True)
class LockFormat:
    """A kind of lock file.

    Attributes
    ----------
    id
        What it is called.
    language
        Whose packages it names.
    pattern
        A glob (`PurePath.match`) that fits the paths of its files.
    parse
        Text → name → version.
    """

    id: str
    language: str
    pattern: str
    parse: Callable[[str], Versions]


def lock_format(path: str) -> LockFormat | None:
    """Return the format of the lock file at a path, by its name; None if it is not a lock file.

    Examples
    --------
    >>> lock_format("web/package-lock.json").language, lock_format("README.md")
    ('javascript', None)
    """
    place = PurePosixPath(path)
    return next((one for one in FORMATS if place.match(one.pattern)), None)


def parse_cargo_lock(text: str) -> Versions:
    """Return the packages of a `Cargo.lock`; of several versions of one, the newest."""
    lock = read_toml(text)
    check_version(lock.get("version"), None, 3, 4)
    packages = toml_packages(lock)
    # An entry is a name, or a name with its version and source where that is needed.
    check_complete(
        (name, (str(one).split(" ")[0] for one in list_at(table, "dependencies")))
        for name, _, table in packages
    )
    return collect((name, version) for name, version, table in packages if "source" in table)


def parse_gemfile_lock(text: str) -> Versions:
    """Return the gems of a `Gemfile.lock`, without those of a local path."""
    found: Versions = {}
    section = ""
    sections = set()
    for line in text.split("\n"):
        if line and not line[0].isspace():
            section = line.strip()
            sections.add(section)
        elif section in ("GEM", "GIT", "PLUGIN SOURCE"):
            match = re.fullmatch(r" {4}(\S+)(?: \(([^()]*)\))?", line.rstrip())
            if match:
                # What follows the dash is a platform: nokogiri (1.18.9-arm64-darwin).
                add_versions(found, [(match[1], (match[2] or "").split("-")[0])])
    if not sections & {"GEM", "GIT", "PATH"} or any(one.startswith("<<<<") for one in sections):
        raise ValueError("it has no section GEM, GIT or PATH, or a conflict is left in it")
    if "DEPENDENCIES" not in sections:
        raise ValueError("it has no section DEPENDENCIES, which comes late: the end is missing")
    return found


def parse_go_mod(text: str) -> Versions:
    """Return the modules that a `go.mod` requires, as replaced; without those in local folders."""
    required: Versions = {}
    replaced: dict[tuple[str, str], list[str]] = {}
    verb = ""
    opened = 0
    is_module = False
    for number, line in enumerate(text.split("\n"), 1):
        words = [word.strip('"`') for word in line.split("//")[0].split()]
        if not words:
            continue
        if words == [")"]:
            verb = ""
            continue
        if not verb:
            first, *words = words
            if words == ["("]:
                verb, opened = first, number
                continue
            is_module = is_module or first == "module"
        else:
            first = verb
        if first == "require":
            if len(words) != 2:
                raise ValueError(f"line {number} requires no module and version: {line[:60]!r}")
            add_versions(required, [(words[0], words[1])])
        elif first == "replace" and "=>" in words:
            at = words.index("=>")
            # Of one version, or of all: `replace a v1.2.0 => b v1.3.0`.
            replaced[words[0], words[1] if at > 1 else ""] = words[at + 1 :]
    if verb:
        raise ValueError(f"`{verb} (` in line {opened} is never closed: the end is missing")
    if not is_module:
        raise ValueError("it names no module")
    found: Versions = {}
    for name, version in required.items():
        new = replaced.get((name, version)) or replaced.get((name, ""), [name, version])
        if len(new) == 2:  # else it is a local folder
            add_versions(found, [(new[0], new[1])])
    return found


def parse_go_sum(text: str) -> Versions:
    """Return the modules of a `go.sum`; of several versions of one, the newest.

    It also names versions that were looked at and not taken: read it only where no `go.mod` of
    Go 1.17 or newer is beside it, which names all that was taken.
    """
    found: Versions = {}
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words:
            continue
        if len(words) != 3 or not re.fullmatch("h1:[A-Za-z0-9+/]+=", words[2]):
            raise ValueError(f"line {number} is not a checksum of a module: {line[:60]!r}")
        if not words[1].endswith("/go.mod"):
            add_versions(found, [(words[0], words[1])])
    return found


def names_all_modules(go_mod: str) -> bool:
    """Return whether a `go.mod` names indirect requirements too: from Go 1.17 on."""
    match = re.search(r"^go ([0-9]+)\.([0-9]+)", go_mod, flags=re.MULTILINE)
    return match is not None and (int(match[1]), int(match[2])) >= (1, 17)


def parse_composer_lock(text: str) -> Versions:
    """Return the packages of a `composer.lock`, those for development too."""
    lock = json.loads(text)
    if not isinstance(lock, dict) or not {"packages", "packages-dev"} <= set(lock):
        raise ValueError("it has no packages and packages-dev")
    packages = tables_at(lock, "packages")
    if lock["packages-dev"] is not None:  # as it is after `composer update --no-dev`
        packages = packages + tables_at(lock, "packages-dev")
    return collect(
        (str(one.get("name", "")), str(one.get("version", "")))
        for one in packages
        if table_at(one, "dist").get("type") != "path"
    )


FORMATS = (
    LockFormat("uv.lock", "python", "uv.lock", parse_uv_lock),
    LockFormat("poetry.lock", "python", "poetry.lock", parse_poetry_lock),
    LockFormat("pylock.toml", "python", "pylock.toml", parse_pylock),
    LockFormat("pylock.toml", "python", "pylock.*.toml", parse_pylock),
    LockFormat("requirements.txt", "python", "requirements*.txt", parse_requirements),
    LockFormat("requirements.txt", "python", "requirements/*.txt", parse_requirements),
    LockFormat("Pipfile.lock", "python", "Pipfile.lock", parse_pipfile_lock),
    LockFormat("pdm.lock", "python", "pdm.lock", parse_pdm_lock),
    LockFormat("package-lock.json", "javascript", "package-lock.json", parse_package_lock),
    LockFormat("pnpm-lock.yaml", "javascript", "pnpm-lock.yaml", parse_pnpm_lock),
    LockFormat("yarn.lock", "javascript", "yarn.lock", parse_yarn_lock),
    LockFormat("bun.lock", "javascript", "bun.lock", parse_bun_lock),
    LockFormat("Gemfile.lock", "ruby", "Gemfile.lock", parse_gemfile_lock),
    LockFormat("go.mod", "go", "go.mod", parse_go_mod),
    LockFormat("go.sum", "go", "go.sum", parse_go_sum),
    LockFormat("Cargo.lock", "rust", "Cargo.lock", parse_cargo_lock),
    LockFormat("composer.lock", "php", "composer.lock", parse_composer_lock),
)

UNSUPPORTED = {
    "Cargo.toml": "`cargo generate-lockfile` makes Cargo.lock",
    "Gemfile": "`bundle lock` makes Gemfile.lock",
    "Pipfile": "`pipenv lock` makes Pipfile.lock",
    "build.gradle": "packages of Java are not known here",
    "build.gradle.kts": "packages of Java are not known here",
    "bun.lockb": "`bun install --save-text-lockfile` makes bun.lock",
    "composer.json": "`composer update` makes composer.lock",
    "gradle.lockfile": "packages of Java are not known here",
    "mix.lock": "packages of Elixir are not known here",
    "package.json": "`npm install` makes package-lock.json",
    "packages.lock.json": "packages of .NET are not known here",
    "pom.xml": "packages of Java are not known here",
    "pyproject.toml": "`uv lock` makes uv.lock",
    "setup.py": "`pip freeze` makes requirements.txt",
}
"""Files that name packages and are not read, and what can be done."""
