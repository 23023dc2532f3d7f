"""JSON Lines: records to a file and back, one a line, so that what one stage made can be looked at.

A file is written beside its place and moved there when it is complete; a broken line is reported
with its number.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile

from pydantic import ValidationError

from course_lib.errors import InputError
from course_lib.records import Chunk


def write_jsonl(path: str | os.PathLike[str], lines: Iterable[str]) -> int:
    """Write lines of JSON to a file, whole or not at all, and return how many.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "chunks.jsonl"
    >>> write_jsonl(target, ['{"a": 1}', '{"a": 2}'])
    2
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with NamedTemporaryFile(
        "w", encoding="utf-8", newline="\n", dir=target.parent, suffix=".part", delete=False
    ) as part:
        try:
            for line in lines:
                part.write(line + "\n")
                count += 1
            part.close()
            os.replace(part.name, target)
        except BaseException:
            part.close()
            os.unlink(part.name)
            raise
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
            f"{source} cannot be read: {error.strerror}", hint="Check the path."
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
            fields = "; ".join(
                f"{'.'.join(map(str, item['loc'])) or 'record'}: {item['msg']}"
                for item in error.errors()[:3]
            )
            raise InputError(
                f"{path}, line {number}: {fields}", hint="Make the file anew with `course load`."
            ) from error
