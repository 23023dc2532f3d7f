"""Module files of Go: the text of one goes in, name → version comes out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from course_lib.xray.lock_reading import Versions, add_versions, collect

_TOKEN = re.compile(r"""//.*|"(?:\\.|[^"\\])*"|`[^`]*`|[()\[\]{},]|(?:(?!//)[^\s()\[\]{},])+""")
_DIRECTIVES = frozenset(
    "module go toolchain godebug require exclude replace retract tool ignore".split()
)


def parse_go_mod(text: str) -> Versions:
    r"""Return the modules that a `go.mod` requires, as replaced; without those in local folders.

    Raises
    ------
    ValueError
        If a requirement or replacement cannot be understood, a block is not closed, or what is not
        known has a version: it could be a package.

    Examples
    --------
    >>> parse_go_mod("module a\nrequire(\n\texample.org/b v1.2.0 // indirect\n)\n")
    {'example.org/b': 'v1.2.0'}
    """
    module = ""
    required: Versions = {}
    replaced: dict[tuple[str, str], list[str]] = {}
    for number, (directive, *words) in _statements(text):
        # Of a later Go, a directive is passed over, but not where it could name packages.
        has_version = re.match(r"v\d", words[-1] if words else "")
        if directive not in _DIRECTIVES and (has_version or not directive.isalpha()):
            raise ValueError(f"line {number} begins with {directive!r}, which is not known here")
        if directive == "module" and words:
            module = words[0]
        elif directive == "require":
            if len(words) != 2:
                raise ValueError(f"line {number} requires no module and version: {words}")
            add_versions(required, [(words[0], words[1])])
        elif directive == "replace":
            # Of one version, or of all: `replace a v1.2.0 => b v1.3.0`.
            old = words[: words.index("=>")] if "=>" in words else []
            new = words[len(old) + 1 :]
            if len(old) not in (1, 2) or len(new) not in (1, 2):
                raise ValueError(f"line {number} does not replace a module by another: {words}")
            replaced[old[0], "".join(old[1:])] = new
    if not module:
        raise ValueError("it names no module")
    taken = (
        replaced.get((name, version)) or replaced.get((name, "")) or [name, version]
        for name, version in required.items()
    )
    # Without a version, it is a local folder.
    return collect((one[0], one[1]) for one in taken if len(one) == 2)


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
    match = re.search(r"^[ \t]*go[ \t]+([0-9]+)\.([0-9]+)", go_mod, flags=re.MULTILINE)
    return match is not None and (int(match[1]), int(match[2])) >= (1, 17)


def _statements(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the words of each line, those in a block with its directive first."""
    directive, opened = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        words = [word for word in _TOKEN.findall(line) if not word.startswith("//")]
        if directive and words == [")"]:
            directive = ""
        elif not directive and len(words) == 2 and words[1] == "(":
            directive, opened = words[0], number
        elif words and words[1:] != ["(", ")"]:  # an empty block
            plain = [word.strip('"`') for word in words]
            yield number, [directive, *plain] if directive else plain
    if directive:
        raise ValueError(f"`{directive} (` in line {opened} is never closed: the end is missing")
