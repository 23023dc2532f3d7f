"""What a package is: a language's registry, a name in it, and a version.

Lock files, tables, descriptions and suggestions all speak of packages in these terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import NamedTuple

LANGUAGES = ("go", "javascript", "php", "python", "ruby", "rust")
"""The languages whose lock files are read; the name of a package is unique within one of them."""

_SUFFIXES = {
    "go": (".go",),
    "javascript": (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"),
    "php": (".php", ".phtml"),
    "python": (".py", ".pyi"),
    "ruby": (".rb", ".rake", ".gemspec"),
    "rust": (".rs",),
    "shell": (".sh", ".bash"),
}
_LANGUAGE_OF = {suffix: language for language, some in _SUFFIXES.items() for suffix in some}


class Package(NamedTuple):
    """One package as a project uses it; `version` is empty where the lock file gives none."""

    language: str
    name: str
    version: str = ""


def language_of(path: str | PurePath) -> str | None:
    """Return the language that a source file is written in, by its suffix; None if unknown.

    TypeScript takes its packages from where JavaScript does, and is called so here.

    Examples
    --------
    >>> language_of("web/src/App.tsx"), language_of("main.go"), language_of("notes.md")
    ('javascript', 'go', None)
    """
    return _LANGUAGE_OF.get(PurePath(path).suffix.lower())


def newest(versions: Iterable[str]) -> str:
    """Return the highest of some versions, whatever registry they come from.

    A pre-release comes before its release. That is enough to choose among the versions that one
    project holds; it is not a resolver.

    Examples
    --------
    >>> newest(["1.9.0", "1.10.0-rc.1", "1.10.0", "v1.2"])
    '1.10.0'
    """
    return max(versions, key=_order, default="")


def _order(version: str) -> tuple[object, ...]:
    match = re.match(r"v?(?:\d+!)?(\d+(?:\.\d+)*)", version)
    if match is None:
        return ((), False, version)
    numbers = [int(part) for part in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    rest = version[match.end() :].split("+")[0]
    is_release = not rest or rest.lstrip(".-").startswith(("post", "incompatible"))
    # Numbers within a pre-release count as numbers: rc.9 comes before rc.10.
    padded = re.sub(r"\d+", lambda found: found[0].zfill(12), rest)
    return (tuple(numbers), is_release, padded)
