"""JSON Lines: records to a file and back, one a line, so that what one stage made can be looked at.

A file is written beside its place and moved there when it is complete; a broken line is reported
with its number.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from course_lib.errors import InputError
from course_lib.records import Chunk, explain


def write_jsonl(path: str | os.PathLike[str], lines: Iterable[str]) -> int:
    """Write lines of JSON to a file, whole or not at all, and return how many.

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
    target = Path(path)
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    count = 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", newline="\n") as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
        os.replace(part, target)
    except OSError as error:
        raise InputError(
            f"{target} cannot be written: {error.strerror or error}",
            hint="Check the path, its permissions and the free space.",
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return count


def read_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yield the lines of a JSON Lines file that are not blank, with their numbers.

    Raises
    ------
    InputError
        If there is no such file, or it is not UTF-8.
    """
    source = Path(path)
    try:
        with source.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is not UTF-8", hint="Write it as UTF-8.") from error
    except OSError as error:
        raise InputError(
            f"{source} cannot be read: {error.strerror}",
            hint="Check the path; `course load DIR --output-dir …` writes what `embed` reads.",
        ) from error


def read_chunks(path: str | os.PathLike[str]) -> Iterator[Chunk]:
    """Yield the parsed-chunk-v1 records of a JSON Lines file.

    Raises
    ------
    InputError
        If a line is not a valid record; the message says which line and which fields.
    """
    for number, line in read_lines(path):
        try:
            yield Chunk.model_validate_json(line)
        except ValidationError as error:
            raise InputError(
                f"{path}, line {number}: {explain(error)}",
                hint="Make the file anew with `course load`.",
            ) from error
