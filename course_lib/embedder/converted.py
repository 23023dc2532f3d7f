"""Converted models on disk: made once, by one process, and checked before each use.

A conversion lies in a folder of its own below `.course/models`; a small record beside it names the
folder, the versions it was made with, and each file's size and checksum. A process that finds the
record good uses the files; otherwise it converts anew, under a lock, and replaces the record.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from course_lib.embedder.files import read_json, sha256, stamp, write_json

log = logging.getLogger(__name__)

PATIENCE = 120.0
"""Seconds to wait for another process that converts; it takes that one about two."""


def converted(place: Path, name: str, version: str, write: Callable[[Path], None]) -> Path | None:
    """Return the folder of a converted model, which is made where it is missing or spoilt.

    Parameters
    ----------
    place
        The folder for all conversions of one model.
    name
        Which conversion, for instance ``onnx``.
    version
        What it depends on; a conversion of another version is made anew.
    write
        Writes the files into the empty folder it is given.

    Returns
    -------
    Path or None
        None where nothing can be written: the model then has to be built in memory. A log line
        says so.
    """
    record = place / f"{name}.json"
    if folder := _good(record, version):
        return folder
    # It costs a query more than all the rest of this module, and is needed once.
    from filelock import FileLock, Timeout

    try:
        place.mkdir(parents=True, exist_ok=True)
        with FileLock(place / f"{name}.lock", timeout=PATIENCE):
            # Another process may have made it while this one waited.
            if folder := _good(record, version):
                return folder
            return _convert(record, version, write)
    except (OSError, Timeout, NotImplementedError) as error:
        log.warning("%s cannot keep the converted model; it stays in memory: %s", place, error)
        return None


def _convert(record: Path, version: str, write: Callable[[Path], None]) -> Path:
    before = read_json(record).get("folder")
    folder = Path(tempfile.mkdtemp(dir=record.parent, prefix=f"{record.stem}-"))
    try:
        # What tempfile makes is closed to others, but a checkout can have several users.
        folder.chmod(0o755)
        write(folder)
        files = {file.name: _facts(file) for file in sorted(folder.iterdir())}
        content = {"version": version, "folder": folder.name, "files": files}
        write_json(record, content)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    for old in record.parent.glob(f"{record.stem}-*"):
        if old.is_dir() and (old.name == before or old != folder):
            shutil.rmtree(old, ignore_errors=True)
    return folder


def _facts(file: Path) -> dict[str, Any]:
    return {"stamp": stamp(file), "sha256": sha256(file)}


def _good(record: Path, version: str) -> Path | None:
    """Return the folder that the record names if its files are whole."""
    content = read_json(record)
    files = content.get("files")
    if content.get("version") != version or not isinstance(files, dict) or not files:
        return None
    folder = record.parent / str(content.get("folder"))
    try:
        if all(_is_whole(folder / name, facts) for name, facts in files.items()):
            return folder
    except (OSError, KeyError, TypeError, IndexError):
        pass
    return None


def _is_whole(file: Path, facts: dict[str, Any]) -> bool:
    now = stamp(file)
    if now == facts["stamp"]:
        return True
    # Copied, for instance into an image: the size and the content decide.
    return bool(now[0] == facts["stamp"][0] and sha256(file) == facts["sha256"])
