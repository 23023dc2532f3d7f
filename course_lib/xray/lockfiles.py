"""Lock files: the text of one goes in, name → version comes out.

What is not from a registry — the project itself, the members of its workspace, local folders — is
left out, because no other project can share it. A text that is not such a lock file is a
`ValueError`, and so is one whose end is missing, where its format lets that be seen: packages that
are not in it would count as removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from course_lib.xray.lock_go import parse_go_mod, parse_go_sum
from course_lib.xray.lock_javascript import (
    parse_bun_lock,
    parse_package_lock,
    parse_pnpm_lock,
    parse_yarn_lock,
)
from course_lib.xray.lock_python import parse_pipfile_lock, parse_poetry_lock, parse_requirements
from course_lib.xray.lock_reading import (
    Table,
    Tables,
    Versions,
    collect,
    list_at,
    table_at,
    tables_at,
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


def parse_gemfile_lock(text: str) -> Versions:
    """Return the gems of a `Gemfile.lock`, without those of a local path."""
    sections: dict[str, list[str]] = {}
    section = ""
    for line in map(str.rstrip, text.split("\n")):
        if line and not line[0].isspace():
            section = line
        sections.setdefault(section, []).append(line)
    sources = [one for one in ("GEM", "GIT", "PATH", "PLUGIN SOURCE") if one in sections]
    if not sources or any(one.startswith("<<<<") for one in sections):
        raise ValueError("it has no section GEM, GIT or PATH, or a conflict is left in it")
    if "DEPENDENCIES" not in sections:
        raise ValueError("it has no section DEPENDENCIES, which comes late: the end is missing")
    gem = re.compile(r" {4}(\S+)(?: \(([^()]*)\))?")
    gems = [
        (source, match[1], match[2] or "")
        for source in sources
        for match in map(gem.fullmatch, sections[source])
        if match
    ]
    if not gems and any(line.startswith(" ") for line in sections["DEPENDENCIES"]):
        raise ValueError("its section DEPENDENCIES names gems, and no other section has one")
    # What follows the dash is a platform: nokogiri (1.18.9-arm64-darwin).
    return collect(
        (name, version.split("-")[0]) for source, name, version in gems if source != "PATH"
    )


def _needed_in_pdm(table: Table) -> Iterable[str]:
    """Return what is needed everywhere: what no Python or system needs is not in the file."""
    needed = map(Requirement, map(str, list_at(table, "dependencies")))
    return [one.name for one in needed if one.marker is None]


UV = Tables(
    "version",
    ("1",),
    own=lambda table: {"virtual", "editable", "directory"} & {*table_at(table, "source")},
    needs=lambda table: [str(one.get("name")) for one in tables_at(table, "dependencies")],
    same=canonicalize_name,
)
PYLOCK = Tables(
    "lock-version",
    ("1",),
    own=lambda table: "directory" in table,
    lists=("packages",),
    same=canonicalize_name,
)
PDM = Tables(
    "metadata.lock_version",
    ("3", "4"),
    own=lambda table: "path" in table,
    needs=_needed_in_pdm,
    same=canonicalize_name,
)
CARGO = Tables(
    "version",
    (None, "3", "4"),
    own=lambda table: "source" not in table,
    # An entry is a name, or a name with its version and source where that is needed.
    needs=lambda table: [str(one).split(" ")[0] for one in list_at(table, "dependencies")],
)
COMPOSER = Tables(
    "",
    (),
    own=lambda table: table_at(table, "dist").get("type") == "path",
    lists=("packages", "packages-dev"),  # the latter is null after `composer update --no-dev`
    read=json.loads,
)
"""Formats of tables: a row says where a package is, and which are the project's own."""

FORMATS = (
    LockFormat("uv.lock", "python", "uv.lock", UV.parse),
    LockFormat("poetry.lock", "python", "poetry.lock", parse_poetry_lock),
    LockFormat("pylock.toml", "python", "pylock.toml", PYLOCK.parse),
    LockFormat("pylock.toml", "python", "pylock.*.toml", PYLOCK.parse),
    LockFormat("requirements.txt", "python", "requirements*.txt", parse_requirements),
    LockFormat("requirements.txt", "python", "requirements/*.txt", parse_requirements),
    LockFormat("requirements.txt", "python", "*[-_]requirements.txt", parse_requirements),
    LockFormat("Pipfile.lock", "python", "Pipfile.lock", parse_pipfile_lock),
    LockFormat("pdm.lock", "python", "pdm.lock", PDM.parse),
    LockFormat("package-lock.json", "javascript", "package-lock.json", parse_package_lock),
    LockFormat("npm-shrinkwrap.json", "javascript", "npm-shrinkwrap.json", parse_package_lock),
    LockFormat("pnpm-lock.yaml", "javascript", "pnpm-lock.yaml", parse_pnpm_lock),
    LockFormat("yarn.lock", "javascript", "yarn.lock", parse_yarn_lock),
    LockFormat("bun.lock", "javascript", "bun.lock", parse_bun_lock),
    LockFormat("Gemfile.lock", "ruby", "Gemfile.lock", parse_gemfile_lock),
    LockFormat("gems.locked", "ruby", "gems.locked", parse_gemfile_lock),
    LockFormat("go.mod", "go", "go.mod", parse_go_mod),
    LockFormat("go.sum", "go", "go.sum", parse_go_sum),
    LockFormat("Cargo.lock", "rust", "Cargo.lock", CARGO.parse),
    LockFormat("composer.lock", "php", "composer.lock", COMPOSER.parse),
)

INSTEAD_OF = {"Gemfile.lock": "gems.locked", "package-lock.json": "npm-shrinkwrap.json"}
"""Lock files that their tool does not look at where the other one is beside it."""

NOT_READ = {
    "Package.resolved": "packages of Swift are not known here",
    "Podfile.lock": "packages of CocoaPods are not known here",
    "bun.lockb": "`bun install --save-text-lockfile` makes bun.lock",
    "conda-lock.yml": "packages of conda are not known here",
    "deno.lock": "packages of Deno are not known here",
    "go.work": "each go.mod counts as it is, without what is replaced here",
    "gradle.lockfile": "packages of Java are not known here",
    "mix.lock": "packages of Elixir are not known here",
    "packages.lock.json": "packages of .NET are not known here",
    "pixi.lock": "packages of conda are not known here",
    "pubspec.lock": "packages of Dart are not known here",
}
"""Lock files that are not read, and what can be done."""

MANIFESTS = {
    "Cargo.toml": "`cargo generate-lockfile` makes Cargo.lock",
    "Gemfile": "`bundle lock` makes Gemfile.lock",
    "Pipfile": "`pipenv lock` makes Pipfile.lock",
    "build.gradle": "packages of Java are not known here",
    "build.gradle.kts": "packages of Java are not known here",
    "composer.json": "`composer update` makes composer.lock",
    "gems.rb": "`bundle lock` makes gems.locked",
    "package.json": "`npm install` makes package-lock.json",
    "pom.xml": "packages of Java are not known here",
    "pyproject.toml": "`uv lock` makes uv.lock",
    "setup.py": "`pip freeze` makes requirements.txt",
}
"""Files from which a lock file is made, and how."""
