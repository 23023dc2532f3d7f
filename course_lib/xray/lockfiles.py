"""Lock files: the text of one goes in, name → version comes out.

What is not from a registry — the project itself, the members of its workspace, local folders — is
left out, because no other project can share it. A text that is not such a lock file is a
`ValueError`, and so is one whose end is missing, where its format lets that be seen: packages that
are not in it would count as removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from course_lib.files import read_toml
from course_lib.xray.packages import newest

Versions = dict[str, str]


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


def parse_requirements(text: str) -> Versions:
    r"""Return the packages of a `requirements.txt`; a version only where one is pinned.

    Options are passed over, and so are URLs and paths without a name. A file of constraints (`-c`)
    adds no package, and one that `-r` includes has packages of its own: see `included_files`.

    Examples
    --------
    >>> parse_requirements("-i URL\nFlask_Login==0.6.3 \\\n  --hash=sha256:00\nrich>=13 # wide\n")
    {'flask-login': '0.6.3', 'rich': ''}
    """
    found: Versions = {}
    for number, line in enumerate(_joined(text).splitlines(), 1):
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            raise ValueError(f"entry {number} goes on in a line that is missing: {line[:60]!r}")
        # An option begins with a dash after a blank; a comment, with a hash after a blank.
        line = re.split(r"(?:^|\s)(?:#|--?[A-Za-z])", line, maxsplit=1)[0].strip()
        if not line or re.match(r"[./\\]|[A-Za-z][A-Za-z0-9+.-]*:", line):
            continue
        try:
            requirement = Requirement(line)
        except InvalidRequirement as error:
            raise ValueError(f"entry {number} is not a requirement: {line[:60]!r}") from error
        pins = [one.version for one in requirement.specifier if one.operator in ("==", "===")]
        pinned = pins[0] if len(pins) == 1 and "*" not in pins[0] else ""
        add_versions(found, [(canonicalize_name(requirement.name), pinned)])
    return found


def included_files(text: str) -> list[str]:
    r"""Return the files that a `requirements.txt` includes with `-r`, as it writes them.

    Examples
    --------
    >>> included_files("-r base.txt\n--requirement=../all.txt  # shared\n--require-hashes\n")
    ['base.txt', '../all.txt']
    """
    option = r"^[ \t]*(?:-r|--requirement(?=[ \t=]))[ \t=]*([^\s#]+)"
    return re.findall(option, _joined(text), flags=re.MULTILINE)


def parse_uv_lock(text: str) -> Versions:
    """Return the packages of a `uv.lock`."""
    lock = read_toml(text)
    _check_version(lock.get("version"), 1)
    packages = _toml_packages(lock)
    _check_complete(
        (name, (str(one.get("name")) for one in _tables(table, "dependencies")))
        for name, _, table in packages
    )
    own = ("virtual", "editable", "directory")
    return _collect(
        (canonicalize_name(name), version)
        for name, version, table in packages
        if not any(kind in _table(table, "source") for kind in own)
    )


def parse_poetry_lock(text: str) -> Versions:
    """Return the packages of a `poetry.lock`."""
    lock = read_toml(text)
    if "metadata" not in lock:
        raise ValueError("it has no metadata, which come last: the end is missing")
    written = str(_table(lock, "metadata").get("lock-version", "1"))
    _check_version(written.split(".")[0], "1", "2")
    return _collect(
        (canonicalize_name(name), version)
        for name, version, table in _toml_packages(lock)
        if _table(table, "source").get("type") != "directory"
    )


def parse_pylock(text: str) -> Versions:
    """Return the packages of a `pylock.toml` (PEP 751)."""
    lock = read_toml(text)
    _check_version(str(lock.get("lock-version")).split(".")[0], "1")
    if "packages" not in lock:
        raise ValueError("it has no packages, which come last: the end is missing")
    return _collect(
        (canonicalize_name(name), version)
        for name, version, table in _toml_packages(lock, "packages")
        if "directory" not in table
    )


def parse_cargo_lock(text: str) -> Versions:
    """Return the packages of a `Cargo.lock`; of several versions of one, the newest."""
    lock = read_toml(text)
    _check_version(lock.get("version"), None, 3, 4)
    packages = _toml_packages(lock)
    # An entry is a name, or a name with its version and source where that is needed.
    _check_complete(
        (name, (str(one).split(" ")[0] for one in _list(table, "dependencies")))
        for name, _, table in packages
    )
    return _collect((name, version) for name, version, table in packages if "source" in table)


def parse_package_lock(text: str) -> Versions:
    """Return the packages of a `package-lock.json` of any version.

    Of several versions of one, the one that the project's own code gets: that in its top folder.
    """
    lock = json.loads(text)
    if not isinstance(lock, dict) or not {"lockfileVersion", "packages", "dependencies"} & set(
        lock
    ):
        raise ValueError("it has neither packages nor dependencies")
    _check_version(lock.get("lockfileVersion"), None, 1, 2, 3)
    if "packages" in lock:
        entries = _installed(_table(lock, "packages"))
    else:
        entries = _nested(_table(lock, "dependencies"), 0)
    found: Versions = {}
    for _, name, version in sorted(entries):
        found.setdefault(name, version)
    return found


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
    replaced: dict[str, tuple[str, ...]] = {}
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
            replaced[words[0]] = tuple(words[at + 1 :])
    if verb:
        raise ValueError(f"`{verb} (` in line {opened} is never closed: the end is missing")
    if not is_module:
        raise ValueError("it names no module")
    for old, new in replaced.items():
        if old in required:
            del required[old]
            if len(new) == 2:
                add_versions(required, [(new[0], new[1])])
    return required


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


FORMATS = (
    LockFormat("uv.lock", "python", "uv.lock", parse_uv_lock),
    LockFormat("poetry.lock", "python", "poetry.lock", parse_poetry_lock),
    LockFormat("pylock.toml", "python", "pylock.toml", parse_pylock),
    LockFormat("pylock.toml", "python", "pylock.*.toml", parse_pylock),
    LockFormat("requirements.txt", "python", "requirements*.txt", parse_requirements),
    LockFormat("requirements.txt", "python", "requirements/*.txt", parse_requirements),
    LockFormat("package-lock.json", "javascript", "package-lock.json", parse_package_lock),
    LockFormat("Gemfile.lock", "ruby", "Gemfile.lock", parse_gemfile_lock),
    LockFormat("go.mod", "go", "go.mod", parse_go_mod),
    LockFormat("go.sum", "go", "go.sum", parse_go_sum),
    LockFormat("Cargo.lock", "rust", "Cargo.lock", parse_cargo_lock),
)


def add_versions(found: Versions, entries: Iterable[tuple[str, str]]) -> None:
    """Add packages to those that were found; of several versions of one, the newest."""
    for name, version in entries:
        found[name] = newest([version, found[name]]) if name in found else version


def _collect(entries: Iterable[tuple[str, str]]) -> Versions:
    found: Versions = {}
    add_versions(found, entries)
    return found


def _joined(text: str) -> str:
    """Return the text of a `requirements.txt` with each entry in one line; a comment has one."""
    return re.sub(r"^(?![ \t]*#)(.*)\\\r?\n(?!\Z)", r"\1 ", text, flags=re.MULTILINE)


def _check_version(version: object, *known: object) -> None:
    if version not in known:
        names = ", ".join(str(one) for one in known if one is not None)
        raise ValueError(f"its format has the version {version}; known here: {names}")


def _check_complete(packages: Iterable[tuple[str, Iterable[str]]]) -> None:
    """Refuse packages without one that they depend on: the end of such a file is missing."""
    needed = [(name, list(others)) for name, others in packages]
    known = {name for name, _ in needed}
    if not known:
        raise ValueError("it has no package, not even the project's own: the end is missing")
    for name, others in needed:
        for other in others:
            if other not in known:
                raise ValueError(f"{name} depends on {other}, which is not in it: is it complete?")


def _toml_packages(
    lock: dict[str, Any], key: str = "package"
) -> list[tuple[str, str, dict[str, Any]]]:
    found = []
    for place, table in enumerate(_tables(lock, key)):
        name, version = table.get("name"), table.get("version", "")
        if not name or not isinstance(name, str) or not isinstance(version, str):
            raise ValueError(f"{key} {place} has no name, or a version that is not text")
        found.append((name, version, table))
    return found


def _tables(table: dict[str, Any], key: str) -> list[dict[str, Any]]:
    values = _list(table, key)
    if not all(isinstance(value, dict) for value in values):
        raise ValueError(f"{key} is not a list of tables")
    return values


def _list(table: dict[str, Any], key: str) -> list[Any]:
    value = table.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"{key} is not a list")
    return value


def _table(table: dict[str, Any], key: str) -> dict[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise ValueError(f"{key} is not a table")
    return value


def _installed(packages: dict[str, Any]) -> Iterator[tuple[tuple[int, str], str, str]]:
    """Yield depth, name and version of what is in `node_modules`; the rest is the project's."""
    for path in packages:
        entry = _table(packages, path)
        folder, inside, name = path.rpartition("node_modules/")
        if inside and not entry.get("link"):
            name, version = str(entry.get("name", name)), str(entry.get("version", ""))
            yield (path.count("node_modules/"), folder), name, version


def _nested(dependencies: dict[str, Any], depth: int) -> Iterator[tuple[tuple[int, str], str, str]]:
    for name in dependencies:
        entry = _table(dependencies, name)
        version = str(entry.get("version", ""))
        if version.startswith("npm:"):  # an alias: npm:real@1.2.3
            name, _, version = version.removeprefix("npm:").rpartition("@")
        if not version.startswith("file:"):
            yield (depth, ""), name, "" if "/" in version else version
        yield from _nested(_table(entry, "dependencies"), depth + 1)
