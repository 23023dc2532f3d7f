"""Lock files of Python: the text of one goes in, name → version comes out."""

from __future__ import annotations

import json
import re

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from course_lib.files import read_toml
from course_lib.xray.lock_reading import (
    Versions,
    add_versions,
    check_version,
    collect,
    table_at,
    text_at,
    toml_packages,
)

_NO_PACKAGE = re.compile(
    r"[./\\]|[A-Za-z][A-Za-z0-9+.-]*:"  # a path or a URL; below, an archive or a folder
    r"|(?:[^@]*\.(?:whl|zip|tgz|tar\.(?:gz|bz2|xz))|(?:[\w.-]+/)+[\w.-]*)(?:\[[^][]*\])?\s*(?:;.*)?$"
)
_OF_VARIABLE = re.compile(r"((?<![=<>])[=<>]++\s*+)[^\s,;$=<>]*+\$\{[A-Z0-9_]++\}[^\s,;]*+")


def parse_requirements(text: str) -> Versions:
    r"""Return the packages of a `requirements.txt`; a version only where one is pinned.

    Options are passed over, and so are paths, archives and URLs without a name (`#egg=` gives one).
    What pip would take from the environment (`rich==${VERSION}`) is not a known version.
    A file of constraints (`-c`) adds no package, and one that `-r` includes has packages of its
    own: see `included_files`.

    Examples
    --------
    >>> parse_requirements("-i URL\nFlask_Login==0.6.3 \\\n  --hash=sha256:00\nrich>=13 # wide\n")
    {'flask-login': '0.6.3', 'rich': ''}
    """
    found: Versions = {}
    for number, line in enumerate(_joined(text).splitlines(), 1):
        if line.endswith("\\") and not line.lstrip().startswith("#"):
            # To pip, that is a line as others, but one of those with hashes lacks its own.
            if "--hash" in text:
                raise ValueError(f"entry {number} goes on in a line that is missing: {line[:60]!r}")
            line = line.rstrip("\\")
        if egg := re.match(r"\s*(?:(?:-e|--editable)[ \t=]+)?[a-z]+\+\S+[#&]egg=([\w.-]+)", line):
            add_versions(found, [(canonicalize_name(egg[1]), "")])
            continue
        # An option begins with a dash after a blank; a comment, with a hash after a blank.
        line = re.split(r"(?:^|\s)(?:#|--?[A-Za-z])", line, maxsplit=1)[0].strip()
        if not line or re.match(_NO_PACKAGE, line):
            continue
        line, variables = _OF_VARIABLE.subn(r"\g<1>0", line)
        try:
            requirement = Requirement(line)
        except InvalidRequirement as error:
            raise ValueError(f"entry {number} is not a requirement: {line[:60]!r}") from error
        pins = [one.version for one in requirement.specifier if one.operator in ("==", "===")]
        pinned = pins[0] if len(pins) == 1 and "*" not in pins[0] and not variables else ""
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


def parse_poetry_lock(text: str) -> Versions:
    r"""Return the packages of a `poetry.lock`: name → version.

    - `toml_packages(lock)` gives name, version and table of each package.
    - `table_at(table, "source")` returns the table `source` of a package, or an empty one.
    - A package whose `source` has the type "directory" is the project's own: skip it.
    - Names are compared in one form, which `canonicalize_name` returns.
    - A package may be there in several versions. `collect` takes pairs of name and version, and
      keeps the newest.
    - The table `metadata` of the file comes last. If it is missing, a part of the file is missing.

    Parameters
    ----------
    text
        The lock file.

    Raises
    ------
    ValueError
        If there is no `metadata`, or the format is not known.

    Examples
    --------
    >>> package = '[[package]]\nname = "Flask_Login"\nversion = "0.6.3"\n'
    >>> parse_poetry_lock(package + '[metadata]\nlock-version = "2.1"\n')
    {'flask-login': '0.6.3'}
    >>> parse_poetry_lock(package)
    Traceback (most recent call last):
    ValueError: it has no metadata, which come last: the end is missing
    """
    lock = read_toml(text)
    written = str(table_at(lock, "metadata").get("lock-version", "1"))
    check_version(written.split(".")[0], "1", "2")
    if "metadata" not in lock:
        raise ValueError("it has no metadata, which come last: the end is missing")
    return collect(
        (canonicalize_name(name), version)
        for name, version, table in toml_packages(lock)
        if table_at(table, "source").get("type") != "directory"
    )


def parse_pipfile_lock(text: str) -> Versions:
    """Return the packages of a `Pipfile.lock`, those for development too."""
    lock = json.loads(text)
    if not isinstance(lock, dict) or "_meta" not in lock:
        raise ValueError("it has no _meta")
    check_version(table_at(lock, "_meta").get("pipfile-spec"), 6)
    found: Versions = {}
    for group in (name for name in lock if name != "_meta"):
        for name in table_at(lock, group):
            entry = table_at(lock[group], name)
            if "path" not in entry:
                # Any but a pin ("*") is not a version.
                pin = re.fullmatch("={2,3}(.*)", text_at(entry, "version"))
                add_versions(found, [(canonicalize_name(name), pin[1] if pin else "")])
    return found


def _joined(text: str) -> str:
    """Return the text of a `requirements.txt` with each entry in one line; a comment has one."""
    return re.sub(r"^(?![ \t]*#)(.*)\\\r?\n(?!\Z)", r"\1 ", text, flags=re.MULTILINE)
