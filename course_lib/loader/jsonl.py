"""JSON Lines: records to a file and back, one a line, so that what one stage made can be looked at.

A file is written beside its place and moved there when it is complete. It is read as numbered
lines of bytes, so that a line that is not UTF-8 is one bad line and not the end of the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from course_lib.errors import InputError
from course_lib.files import replacing, told_if_not_written, whole_lines

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class NumberedLine(NamedTuple):
    """A line of a file: its number, from 1; the offset of its first byte; its bytes."""

    number: int
    offset: int
    raw: bytes


def write_jsonl(path: str | os.PathLike[str], lines: Iterable[str]) -> int:
    """Write lines of JSON to a file, whole or not at all, and return how many.

    Parameters
    ----------
    path
        Where the file goes; folders above it are made.
    lines
        One record each.

    Raises
    ------
    InputError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "chunks.jsonl"
    >>> write_jsonl(target, ['{"a": 1}', '{"a": 2}'])
    2
    """
    target = file_to_write(path)
    count = 0
    with told_if_not_written(target):
        with replacing(target) as file:
            for line in lines:
                file.write(f"{line}\n".encode())
                count += 1
    return count


def file_to_write(path: str | os.PathLike[str]) -> Path:
    """Return which file is written, a link's target for a link; folders above it are made.

    Raises
    ------
    InputError
        If it is something else than a file, or a folder cannot be made.
    """
    target = Path(path)
    if target.is_symlink():
        target = Path(os.path.realpath(target))  # the link stays
    if target.exists() and not target.is_file():
        kind = "a directory" if target.is_dir() else "a device or a pipe"
        raise InputError(f"{target} cannot be written: it is {kind}", hint="Name a file.")
    with told_if_not_written(target):
        target.parent.mkdir(parents=True, exist_ok=True)
    return target


def read_lines(path: str | os.PathLike[str]) -> Iterator[NumberedLine]:
    """Yield the lines of a JSON Lines file that are not blank.

    Raises
    ------
    InputError
        If there is no such file.
    """
    source = Path(path)
    try:
        with source.open("rb") as file:
            yield from numbered_lines(file)
    except OSError as error:
        raise InputError(
            f"{source} cannot be read: {error.strerror}",
            hint="Check the path, or run the step that writes the file.",
        ) from error


def numbered_lines(file: BinaryIO) -> Iterator[NumberedLine]:
    r"""Yield the lines of an open file that are not blank.

    A line ends at a line feed and nowhere else. A byte order mark before the first is passed over.

    Raises
    ------
    InputError
        If one is longer than any record, as that of a device without an end.

    Examples
    --------
    >>> from io import BytesIO
    >>> [(line.number, line.offset) for line in numbered_lines(BytesIO(b"{}\n\n{}\n"))]
    [(1, 0), (3, 4)]
    """
    offset = 0
    for number, raw in enumerate(whole_lines(file), 1):
        start, offset = offset, offset + len(raw)
        if number == 1 and raw.startswith(_BYTE_ORDER_MARK):
            start, raw = len(_BYTE_ORDER_MARK), raw.removeprefix(_BYTE_ORDER_MARK)
        if raw.strip():
            yield NumberedLine(number, start, raw)
