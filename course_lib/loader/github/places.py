"""Places: a path in a repository goes in, and why no file may be written there comes out.

Git allows names that would lead out of the destination, and names that one system or another
refuses or takes for a device.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

OWN_FILES = (".github-download.json", ".github-download.lock")
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(\..*)?", re.I)


def why_refused(path: str, *, windows: bool = os.name == "nt") -> str:
    r"""Return why a path of a repository cannot be a file below the destination; nothing if it can.

    Parameters
    ----------
    path
        As git has it.
    windows
        Whether the rules of Windows hold as well.

    Examples
    --------
    >>> why_refused("docs/a.md"), why_refused("../a.md")
    ('', 'leads out of the destination')
    >>> why_refused("aux.yaml", windows=False), why_refused("aux.yaml", windows=True)
    ('', 'has a name that Windows refuses')
    """
    parts = path.split("/")
    if not path or path.startswith("/") or "\\" in path:
        return "leads out of the destination"
    if ".." in parts or "." in parts or "" in parts:
        return "leads out of the destination"
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in path):
        return "has a control character in its name"
    if len(path.encode("utf-8")) > 1000:
        return "has a path of more than 1,000 bytes"
    if any(part.lower().rstrip(". ") == ".git" for part in parts):
        return "has a name that would damage the destination"
    if path.lower().startswith(".github-download"):
        return "has a name that would damage the destination"
    if windows and any(
        _DEVICE.fullmatch(part) or part.endswith((".", " ")) or re.search(r'[<>:"|?*]', part)
        for part in parts
    ):
        return "has a name that Windows refuses"
    return ""


def collisions(paths: Iterable[str]) -> dict[str, str]:
    """Return path → earlier path that a file system without upper case takes for the same.

    Examples
    --------
    >>> collisions(["README.md", "docs/a.md", "readme.md"])
    {'readme.md': 'README.md'}
    """
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for path in paths:
        key = unicodedata.normalize("NFC", path).casefold()
        if key in first:
            found[path] = first[key]
        first.setdefault(key, path)
    return found


def tells_cases_apart(folder: Path) -> bool:
    """Return whether a file system tells ``a`` from ``A``; the folder holds our own lock file."""
    return not (folder / OWN_FILES[1].upper()).exists()


def is_inside(folder: Path, path: Path) -> bool:
    """Return whether a path lies below a folder, with all links on the way resolved."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
