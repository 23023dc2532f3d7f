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

from course_lib.addresses import is_link
from course_lib.errors import InputError
from course_lib.loader.jsonl import read_lines
from course_lib.records import MOST_NAME_BYTES, Chunk, Scope

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


def receive(values: Mapping[str, Any], where: str, scope: Scope | None) -> Chunk | Rejection:
    """Return what is kept of one record from outside: a chunk, or why the record is refused.

    1. Convert no types: ``"52"`` is not a line number (pydantic's `strict=True`). Accept only names
       as in JSON: ``tenantId``, and not ``tenant_id`` (`by_alias=True` and `by_name=False`).
    2. Raise no error, because other records follow. What pydantic finds wrong becomes a `Rejection`
       with the code `INVALID` and `problems_of(error)`.
    3. If there is a field `embedding`, whatever it holds, the code is `EMBEDDING_REJECTED`, and
       `NO_VECTORS` is the only problem, whatever else is wrong.
    4. Return the chunk with the tenant and the repository of `scope`, also if the record names
       others. If `scope` is None, they stay as they are.

    Parameters
    ----------
    values
        The fields of the record.
    where
        The name of the record in the rejection, such as ``"line 7"``.
    scope
        Who has logged in; None for a sender who tests records at home.

    Returns
    -------
    Chunk or Rejection
        A Rejection is ``Rejection(code, where, problems)``, with a tuple of problems.

    Examples
    --------
    >>> receive({"embedding": []}, "line 7", None).problems == (NO_VECTORS,)
    True
    """
    if "embedding" in values:
        return Rejection(EMBEDDING_REJECTED, where, (NO_VECTORS,))
    try:
        chunk = Chunk.model_validate(values, strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        return Rejection(INVALID, where, tuple(problems_of(error)))
    return stamp(chunk, scope) if scope else chunk


def check_record(
    record: str | bytes | Mapping[str, Any], where: str = "record", scope: Scope | None = None
) -> Chunk | Rejection:
    """Return the `Chunk` of a record, or a `Rejection` that says all that is wrong with it.

    Around `receive`, it also refuses what is not JSON, a record that does not say which version of
    the contract it keeps, and what cannot be stored.

    Parameters
    ----------
    record
        A JSON object, as text, as bytes or as its values. `read_object` reads all three.
    where, scope
        As in `receive`.

    Examples
    --------
    >>> refused = check_record('{"embedding": [0.1]}', "line 7")
    >>> refused.code, refused.record, refused.field
    ('KB_PARSED_CHUNK_EMBEDDING_REJECTED', 'line 7', 'embedding')
    """
    try:
        values = read_object(record)
    except (ValueError, RecursionError) as error:
        return Rejection(INVALID, where, (Problem("record", reason_of(error)),))
    judged = receive(values, where, scope)
    if isinstance(judged, Rejection) and judged.code != INVALID:
        return judged
    if isinstance(judged, Rejection):
        found = [*judged.problems]
    else:  # what it claims is judged, too: a sender is told the same at home
        found = unstorable(judged.model_copy(update={"repo_slug": values["repoSlug"]}))
    problems = (*missing_version(values), *found)
    return Rejection(INVALID, where, problems) if problems else judged


def stamp(chunk: Chunk, scope: Scope) -> Chunk:
    """Return the record with the tenant and the repository that the server knows.

    A record without a branch of its own gets the context's.

    Examples
    --------
    >>> claim = Chunk(
    ...     tenant_id="somebody-else", repo_slug="x", root_kind="external-source", source_path="a",
    ...     content="Hello.", hash_inputs=["content"], parser_id="mine", parser_version="1.0.0",
    ...     kind="raw-text", name="a",
    ... )
    >>> stamp(claim, Scope(tenant="acme", repo="docs")).tenant_id
    'acme'
    """
    meta = chunk.custom_meta
    if scope.branch and "branch" not in meta:
        meta = {**meta, "branch": scope.branch}
    return chunk.model_copy(
        update={
            "tenant_id": scope.tenant,
            "repo_slug": scope.repo,
            "custom_meta": meta,
        }
    )


def check_chunk(chunk: Chunk, where: str = "record") -> Chunk | Rejection:
    """Judge a chunk that was made in this process; see `unstorable`."""
    problems = tuple(unstorable(chunk))
    return Rejection(INVALID, where, problems) if problems else chunk


def read_object(record: str | bytes | Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a JSON object.

    Raises
    ------
    ValueError
        If the record is not JSON or is not an object. Also if it has the same key twice or holds
        NaN, unless it has an `embedding`: that is refused whatever else is wrong.

    Examples
    --------
    >>> read_object('{"kind": "function"}')
    {'kind': 'function'}
    """
    faults: list[str] = []
    if isinstance(record, bytes):
        record = record.decode("utf-8")  # given bytes, `json.loads` would guess the encoding
    if isinstance(record, str):

        def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            counts = Counter(name for name, _ in pairs)
            faults.extend(f"has the key {name!r} twice" for name in counts if counts[name] > 1)
            return dict(pairs)

        def no_number(name: str) -> None:
            faults.append(f"holds {name}, which is not a JSON number")

        record = json.loads(record, object_pairs_hook=as_object, parse_constant=no_number)
    if not isinstance(record, Mapping):
        raise ValueError(f"must be a JSON object, not {_json_type(record)}")
    if faults and "embedding" not in record:
        raise ValueError(faults[0])
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
    if isinstance(link, str) and not is_link(link):
        yield Problem("customMeta.citationUrl", "must begin with http:// or https://")


def _json_type(value: object) -> str:
    names = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    names |= {int: "a number", float: "a number", dict: "an object"}
    return names.get(type(value), type(value).__name__)
