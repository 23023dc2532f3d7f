"""The contract: a record from outside goes in; a `Chunk`, or what is wrong with it, comes out.

Whoever parses elsewhere sends parsed-chunk-v1 records, one a line. Each is judged alone: one that
breaks the contract is refused with a stable code, the record and the fields, and its siblings go
through. A record that passes can be stored: whatever PostgreSQL would refuse is refused here.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from course_lib.errors import InputError
from course_lib.loader.jsonl import read_lines
from course_lib.records import MOST_NAME_BYTES, Chunk

INVALID = "KB_PARSED_CHUNK_INVALID"
EMBEDDING_REJECTED = "KB_PARSED_CHUNK_EMBEDDING_REJECTED"
PARSER_NOT_REGISTERED = "KB_PARSER_NOT_REGISTERED"
PARSER_FAILED = "KB_PARSER_FAILED"
FILE_INVALID = "KB_SOURCE_FILE_INVALID"

SCHEMA_PATH = Path(__file__).with_name("parsed-chunk-v1.schema.json")

MOST_BYTES = {
    "sourcePath": 1000,
    "repoSlug": MOST_NAME_BYTES,
    "kind": MOST_NAME_BYTES,
    "customMeta.branch": MOST_NAME_BYTES,
    "customMeta.namespace": MOST_NAME_BYTES,
}
"""What is in an index of the database, whose entries have room for 2,700 bytes in all."""

_TEXTS = ("branch", "namespace", "commitSha", "citationUrl", "header")
_FIELDS = tuple(str(field.alias) for field in Chunk.model_fields.values())


@dataclass(frozen=True, slots=True)
class Problem:
    """A field (its name in JSON, dots between levels; ``record`` for all of it) and its fault."""

    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Rejection:
    """A record, or a file, that was refused.

    Attributes
    ----------
    code
        One of the stable codes, ``KB_…``.
    record
        Which one: ``line 3``, ``record 0``, ``files[2].parsedChunks[0]``.
    problems
        What is wrong with it, one entry a field.
    """

    code: str
    record: str
    problems: tuple[Problem, ...]

    @property
    def field(self) -> str:
        """The first field that is wrong."""
        return self.problems[0].field

    @property
    def message(self) -> str:
        """All that is wrong, in one line."""
        return "; ".join(f"{problem.field}: {problem.message}" for problem in self.problems)

    def __str__(self) -> str:
        return f"{self.record}: {self.code}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        problems = [
            {"field": _sendable(one.field), "message": _sendable(one.message)}
            for one in self.problems
        ]
        return {"code": self.code, "record": _sendable(self.record), "problems": problems}


def _sendable(text: str) -> str:
    """Return a text with its halves of surrogate pairs, which UTF-8 has not, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


NO_VECTORS = Problem(
    "embedding",
    "vectors are made here; a record with its own is a restore record (backup-record-v1)",
)
"""What is wrong with a record that brings a vector along."""


class FileRejectedError(InputError):
    """A file that cannot be parsed; the files beside it can.

    Attributes
    ----------
    code
        One of the stable codes.
    field, reason
        What of the file is at fault, and why.
    """

    def __init__(self, code: str, field: str, message: str, *, hint: str = "") -> None:
        super().__init__(f"{code}: {message}", hint=hint)
        self.code = code
        self.reason = message
        self.field = field

    def rejection(self, record: str) -> Rejection:
        """Return the same as a report about the file that `record` names."""
        return Rejection(self.code, record, (Problem(self.field, self.reason),))


def check_record(
    record: str | bytes | Mapping[str, Any], where: str = "record"
) -> Chunk | Rejection:
    """Return a record as a `Chunk`, or a `Rejection` that says what is wrong with it.

    1. Raise no error. A record that is wrong gives a `Rejection` with the code `INVALID` and all
       its problems. Only rule 3 has another code.
    2. Read the values with `read_object`. Convert no types: ``"3"`` is not a line number.
       Accept only the names in JSON: `sourcePath`, not `source_path`.
    3. If there is a field `embedding`, even an empty one, the code is `EMBEDDING_REJECTED`, and
       `NO_VECTORS` is the only problem, whatever else is wrong.
    4. List the problems in this order: first those of `missing_version(values)`. Then those of
       `problems_of(error)` if there is a `ValidationError`, or of `unstorable(chunk)` if not.
    5. Any other `ValueError` is one problem: the field ``"record"`` with the message
       `reason_of(error)`. So is a `RecursionError`, of JSON that is nested too deep.

    Parameters
    ----------
    record
        A JSON object, as text, as bytes or as its values. `read_object` reads all three.
    where
        The name of the record in the rejection, such as ``"line 7"``.

    Returns
    -------
    Chunk or Rejection

    Examples
    --------
    >>> refused = check_record('{"embedding": [0.1]}', "line 7")
    >>> refused.code, refused.record, refused.field
    ('KB_PARSED_CHUNK_EMBEDDING_REJECTED', 'line 7', 'embedding')
    """
    try:
        values = read_object(record)
        if "embedding" in values:
            return Rejection(EMBEDDING_REJECTED, where, (NO_VECTORS,))
        chunk = Chunk.model_validate(values, strict=True, by_alias=True, by_name=False)
        problems = missing_version(values) + unstorable(chunk)
    except ValidationError as error:
        problems = missing_version(values) + problems_of(error)
    except (ValueError, RecursionError) as error:
        problems = [Problem("record", reason_of(error))]
    return Rejection(INVALID, where, tuple(problems)) if problems else chunk


def check_chunk(chunk: Chunk, where: str = "record") -> Chunk | Rejection:
    """Judge a chunk that was made in this process; see `unstorable`."""
    problems = tuple(unstorable(chunk))
    return Rejection(INVALID, where, problems) if problems else chunk


def read_object(record: str | bytes | Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a JSON object.

    Raises
    ------
    ValueError
        If the record is not JSON, is not an object, or has the same key twice.

    Examples
    --------
    >>> read_object('{"kind": "function"}')
    {'kind': 'function'}
    """
    if isinstance(record, bytes):
        record = record.decode("utf-8")  # given bytes, `json.loads` would guess the encoding
    if isinstance(record, str):
        record = json.loads(record, object_pairs_hook=_object, parse_constant=_no_number)
    if not isinstance(record, Mapping):
        raise ValueError(f"must be a JSON object, not {_json_type(record)}")
    return dict(record)


def missing_version(values: Mapping[str, Any]) -> list[Problem]:
    """Return the problem of a record that does not say which version of the contract it keeps."""
    return [] if "schemaVersion" in values else [Problem("schemaVersion", "Field required")]


def unstorable(chunk: Chunk) -> list[Problem]:
    """Return what the record's types do not say: why it cannot be hashed or stored.

    Its strings hold no NUL, its numbers are finite, `hashInputs` names fields that there are, and
    what the server takes out of `customMeta` (the place in the document, `branch`, `namespace`,
    `commitSha`, `citationUrl`, `header`) has the type of its column.
    """
    problems = [
        Problem(f"hashInputs.{place}", f"{name!r} is not a field of a record")
        for place, name in enumerate(chunk.hash_inputs)
        if name not in _FIELDS
    ]
    for field, info in Chunk.model_fields.items():
        problems += value_problems(str(info.alias), getattr(chunk, field))
    return [*problems, *_server_fields(chunk)]


def problems_of(error: ValidationError) -> list[Problem]:
    """Return what pydantic found wrong with a record, one problem a field."""
    found: dict[str, str] = {}
    for item in error.errors(include_url=False, include_context=False, include_input=False):
        path = item["loc"][:2] if item["loc"][:1] == ("customMeta",) else item["loc"]
        message = str(item["msg"]).removeprefix("Value error, ")
        field = ".".join(map(str, path)) or "record"
        if message.startswith("line_end"):
            field = "line_end"
        found.setdefault(field, message)
    return [Problem(field, message) for field, message in found.items()]


def reason_of(error: ValueError | RecursionError) -> str:
    """Return why a text is not a record, without the text."""
    if isinstance(error, RecursionError):
        return "is nested too deep"
    if isinstance(error, json.JSONDecodeError):
        return f"is not JSON: {error.msg} at column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"is not UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start}"
    return str(error)


def check_lines(path: str | os.PathLike[str]) -> Iterator[Chunk | Rejection]:
    """Judge a JSON Lines file, record by record; the file is never in memory as a whole.

    Raises
    ------
    InputError
        If there is no such file.
    """
    for line in read_lines(path):
        yield check_record(line.raw, f"line {line.number}")


def read_chunks(path: str | os.PathLike[str]) -> Iterator[Chunk]:
    """Yield the records of a JSON Lines file that the course has written, where all are valid.

    Raises
    ------
    InputError
        If one is not; the message says which line and which fields. Without it, part of a document
        would be taken for the whole.
    """
    for judged in check_lines(path):
        if isinstance(judged, Rejection):
            raise InputError(f"{path}, {judged}", hint="Make the file again with `course load`.")
        yield judged


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of parsed-chunk-v1, made from the model.

    Examples
    --------
    >>> json_schema()["properties"]["schemaVersion"]["const"]
    '1.0.0'
    """
    schema = Chunk.model_json_schema(by_alias=True)
    properties = schema["properties"]
    # What the model checks in Python, said in the schema's words.
    properties["hashInputs"] |= {
        "contains": {"const": "content"},
        "items": {"type": "string", "enum": list(_FIELDS)},
    }
    properties["sourcePath"]["pattern"] = r"^(?!/)(?!(?:[^\\]*/)?\.\.(?:/|$))[^\\]+$"
    meta: dict[str, Any] = {name: {"type": "string"} for name in _TEXTS}
    meta["citationUrl"]["pattern"] = "^https?://"
    meta["chunkIndex"] = {"type": "integer", "minimum": 0, "exclusiveMaximum": 2**31}
    properties["customMeta"] |= {"properties": dict(sorted(meta.items()))}
    required = ["schemaVersion", *schema["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "parsed-chunk-v1",
        "description": "One piece of a source, ready to be embedded and stored.",
        "required": required,
    }


def schema_text() -> str:
    """Return the schema as it is committed in `SCHEMA_PATH`."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def fault_of(text: str) -> str:
    """Return why a text cannot be stored; nothing where it can."""
    if "\0" in text:
        return "holds a NUL character, which PostgreSQL cannot store"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "holds half of a surrogate pair, which is not text"
    return ""


def value_problems(field: str, value: object) -> Iterator[Problem]:
    """Yield why PostgreSQL would not take the value of a field."""
    if isinstance(value, str):
        most = MOST_BYTES.get(field)
        if fault := fault_of(value):
            yield Problem(field, fault)
        elif most is not None and (size := len(value.encode("utf-8"))) > most:
            yield Problem(field, f"has {size} bytes; the limit is {most}")
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield Problem(field, f"is {value}, which is not a JSON number")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from value_problems(f"{field} (a key)", key)
            yield from value_problems(f"{field}.{key}" if field == "customMeta" else field, inner)
    elif isinstance(value, list):
        for inner in value:
            yield from value_problems(field, inner)


def _server_fields(chunk: Chunk) -> Iterator[Problem]:
    meta = chunk.custom_meta
    index = meta.get("chunkIndex", 0)
    if type(index) is not int or not 0 <= index < 2**31:
        yield Problem("customMeta.chunkIndex", f"must be an integer from 0 on, not {index!r}")
    for key in _TEXTS:
        if key in meta and not isinstance(meta[key], str):
            yield Problem(f"customMeta.{key}", f"must be a string, not {_json_type(meta[key])}")
    link = meta.get("citationUrl")
    if isinstance(link, str) and not link.startswith(("http://", "https://")):
        yield Problem("customMeta.citationUrl", "must begin with http:// or https://")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"has the key {twice!r} twice")
    return record


def _no_number(name: str) -> Any:
    raise ValueError(f"holds {name}, which is not a JSON number")


def _json_type(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    names |= {int: "a number", float: "a number", dict: "an object"}
    return names.get(type(value), type(value).__name__)
