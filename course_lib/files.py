"""Folders and files: what is below, what is in one, up to a limit, and writing one as a whole."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from course_lib.errors import InputError
from course_lib.settings import make_folder

LONGEST_LINE = 150_000_000
"""Bytes; JSON takes up to six for one of a document, and a document has 20 MB at most."""

NOT_OURS = frozenset(
    {"node_modules", "vendor", "bower_components", "site-packages", "__pycache__", "target", "venv"}
)
"""Folders of what was installed or built: what is in them is other people's."""

_DOTTED = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}(?:[\w"'-])""", re.ASCII
)
"""A hundred keys with dots between, for each of which Python's parser copies all before it."""


def files_below(
    root: str | os.PathLike[str],
    enter: Callable[[str], bool],
    on_error: Callable[[OSError], None],
) -> Iterator[Path]:
    """Yield all but folders in a folder and those below it; links to folders are not followed.

    Parameters
    ----------
    root
        The folder.
    enter
        Whether to look into a folder of this name.
    on_error
        Called where a folder cannot be looked into.

    Examples
    --------
    >>> [file.name for file in files_below(Path(__file__).parent, lambda name: False, print)][:2]
    ['README.md', '__init__.py']
    """
    for folder, folders, names in os.walk(root, onerror=on_error):
        folders[:] = sorted(filter(enter, folders))
        yield from (Path(folder, name) for name in sorted(names))


def read_file(path: Path, most: int, inside: str | None = None) -> bytes:
    """Return what a file holds.

    No more is read than the limit, and a pipe is not waited for.

    Parameters
    ----------
    path
        The file.
    most
        Bytes that it may have.
    inside
        The folder in which it has to be, with links resolved; None for any place.

    Raises
    ------
    ValueError
        If it is not a file, too large or outside. The message goes after the file's name.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> read_file(Path(__file__), 3)
    Traceback (most recent call last):
        ...
    ValueError: has 0.0 MB; the limit is 0.0 MB
    """
    if inside is not None:
        path = Path(os.path.realpath(path))
        if not path.is_relative_to(inside):
            raise ValueError("is a link that leads out of the directory")
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("is not a regular file")
    if status.st_size > most:
        raise ValueError(f"has {status.st_size / 1e6:.1f} MB; the limit is {most / 1e6:.1f} MB")
    with path.open("rb") as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise ValueError(f"grew while it was read; the limit is {most / 1e6:.1f} MB")
    return raw


@contextmanager
def replacing(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Give a new file that takes a file's place at the end; after an error, the old one stays.

    Parameters
    ----------
    path
        The file, in a folder that exists.
    mode
        Who may read and write the new one; nobody else can before.

    Examples
    --------
    >>> path = Path(tempfile.mkdtemp(), "a.txt")
    >>> with replacing(path) as file:
    ...     _ = file.write(b"whole")
    >>> path.read_text()
    'whole'
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:50]}-", suffix=".part", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            yield file
            if sys.platform != "win32":
                os.fchmod(handle, mode)  # by its name, it may be another file by now
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def write_atomically(path: Path, content: str | bytes, mode: int = 0o644) -> bool:
    """Write a file so that readers see the old or the new one; return whether it changed.

    Parameters
    ----------
    path
        The file; folders above it are made.
    content
        What it is to hold; a text is written in UTF-8.
    mode
        As in `replacing`.

    Examples
    --------
    >>> path = Path(tempfile.mkdtemp(), "a.txt")
    >>> write_atomically(path, "whole"), write_atomically(path, "whole")
    (True, False)
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    if path.is_file() and path.read_bytes() == data:
        return False
    make_folder(path.parent)
    with replacing(path, mode) as file:
        file.write(data)
    return True


@contextmanager
def told_if_not_written(
    path: str | os.PathLike[str],
    hint: str = "Check the path, its permissions and the free space.",
) -> Iterator[None]:
    """Raise an `InputError` that names a path, and why, where what is inside cannot write it."""
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{os.fspath(path)} cannot be written: {why}", hint=hint) from error


def whole_lines(file: BinaryIO) -> Iterator[bytes]:
    r"""Yield the lines of an open file, each with its line feed.

    Raises
    ------
    InputError
        If one has more than `LONGEST_LINE` bytes.

    Examples
    --------
    >>> from io import BytesIO
    >>> list(whole_lines(BytesIO(b"{}\n[]")))
    [b'{}\n', b'[]']
    """
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise InputError(
                f"{file.name} has a line of more than {LONGEST_LINE // 1_000_000} MB",
                hint="It holds no JSON Lines, in which each line is one record.",
            )
        yield line


def read_toml(text: str) -> dict[str, Any]:
    r"""Return what a TOML text holds.

    Raises
    ------
    ValueError
        If it is not TOML, or has a key of a hundred parts: of one of 100 kB, `tomllib` would make
        several gigabytes.
    RecursionError
        If it is nested too deep.

    Examples
    --------
    >>> read_toml('[package]\nversion = "1"')
    {'package': {'version': '1'}}
    """
    if found := _DOTTED.search(text):
        raise ValueError(
            f"line {text.count(chr(10), 0, found.start()) + 1} has a key of over 100 parts"
        )
    return tomllib.loads(text)
