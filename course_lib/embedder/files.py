"""Small files that several processes share: whole or absent, never half.

What is written goes to a new file beside the old one and takes its place in one step, so a reader
sees the old text or the new one. A file that cannot be read counts as absent.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; empty where there is none, or something else.

    Examples
    --------
    >>> read_json(Path("nowhere.json"))
    {}
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write an object in one step.

    Raises
    ------
    OSError
        If the folder cannot be written to, or the disk is full; `path` is then as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        # What tempfile makes is closed to others, but a checkout can have several users.
        Path(name).chmod(0o644)
        os.replace(name, path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamp(path: Path) -> list[int]:
    """Return what changes when a file is replaced or written to: size, time, inode.

    Comparing it with an earlier one costs nothing, whereas hashing 90 MB costs a query's time.

    Raises
    ------
    OSError
        If the file is not there.
    """
    found = path.stat()
    return [found.st_size, found.st_mtime_ns, found.st_ino]
