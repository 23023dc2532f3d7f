"""Lab 04, the chunk contract: judge a record, hash it, and a parser of the learner's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from course_lib.loader.contract import Rejection, read_object, reason_of
from course_lib.records import Chunk, Document, Scope
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.values import shown

INVALID = "KB_PARSED_CHUNK_INVALID"
REJECTED = "KB_PARSED_CHUNK_EMBEDDING_REJECTED"
HASH_INPUTS = ["content", "name", "sourcePath", "parserId", "parserVersion"]

RECORD: dict[str, Any] = {
    "schemaVersion": "1.0.0", "tenantId": "acme", "repoSlug": "docs",
    "rootKind": "external-source", "sourcePath": "a.py", "content": "Hello.",
    "hashInputs": ["content"], "parserId": "mine", "parserVersion": "1.0.0", "kind": "function",
    "name": "hello",
}  # fmt: skip
"""A record that keeps the contract; the cases change one field of it."""


def _verdict(function: Callable[..., Any], record: Any, where: str) -> Any:
    """Return a chunk as it is, and of a rejection what the check looks at."""
    found = function(record, where)
    if type(found).__name__ != "Rejection":
        return found
    return [found.code, found.record, [problem.field for problem in found.problems]]


@drawn(120, apply=_verdict)
def any_record(random: Draws) -> Call:
    """Draw a record with up to three changes, as text, bytes or values, or what is not a record."""
    where = f"line {random.randrange(99)}"
    first, *others = JUDGED[random.turn(len(JUDGED))], *random.choices(JUDGED, k=2)
    if isinstance(first[0], str):
        return given(first[0], where)
    values: dict[str, Any] = {**RECORD, "content": random.text(3), "name": random.text(1)}
    for change, *_ in (first, *others[: random.choice((0, 0, 1, 2))]):
        values.update(change if isinstance(change, dict) else {})
    record = {key: value for key, value in values.items() if value is not ...}
    written = json.dumps(record)
    return given(random.choice((written, written.encode(), record)), where)


@exercise("4.1", "loader.contract:check_record", 4, time_limit=2, draws=any_record)
def check_check_record(call: Probe) -> None:
    """Break a record in each way."""
    for points, about, judged in (
        (2, "a record that is right, and one problem", ONE_PROBLEM),
        (1, "several problems in order, and the names of fields", SEVERAL),
        (1, "records with a vector", VECTORS),
    ):
        with call.part(points, about):
            for record, code, fields, because in judged:
                _judge(call, record, code, fields, because)


Judged = tuple[tuple[str | dict[str, Any], str, list[str], str], ...]
"""A text, or what differs from a good record (`...`: the field is not there); the code of the
rejection, empty for none; the fields with problems, and why.
"""

ONE_PROBLEM: Judged = (
    ({}, "", [], "it keeps the contract, and becomes a Chunk"),
    ("oops", INVALID, ["record"], "it is not JSON"),
    ("", INVALID, ["record"], "an empty line is a line, and it is not JSON"),
    ("[" * 100_000, INVALID, ["record"], "it is nested too deep to be read"),
    ("[]", INVALID, ["record"], "it is JSON, but not an object"),
    ('"an embedding"', INVALID, ["record"], "it is JSON, but not an object"),
    ({"name": None}, INVALID, ["name"], "name must be a string"),
    ({"line_strat": 3}, INVALID, ["line_strat"], "there is no field with this name"),
    ({"sourcePath": "../a.py"}, INVALID, ["sourcePath"], "a path must not go up to parent folders"),
    ({"hashInputs": ["name"]}, INVALID, ["hashInputs"], "hashInputs must name the content"),
    ({"line_start": "3"}, INVALID, ["line_start"], "types are not converted: '3' is not a number"),
    ({"line_start": True}, INVALID, ["line_start"],
     "types are not converted: true is not a number"),
    ({"line_start": 9, "line_end": 3}, INVALID, ["line_end"],
     "the last line is before the first"),
    ({"kind": ...}, INVALID, ["kind"], "kind is missing"),
)  # fmt: skip
SEVERAL: Judged = (
    ({"name": None, "kind": None}, INVALID, ["kind", "name"],
     "two fields are wrong, so there are two problems"),
    ({"schemaVersion": ..., "kind": ...}, INVALID, ["schemaVersion", "kind"],
     "schemaVersion is missing, and that problem comes first"),
    ({"sourcePath": ..., "source_path": "a.py"}, INVALID, ["sourcePath", "source_path"],
     "in JSON, the name of the field is sourcePath"),
    ({"content": "a\0b"}, INVALID, ["content"], "PostgreSQL cannot store a NUL character"),
    ({"hashInputs": ["content", "nmae"]}, INVALID, ["hashInputs.1"], "there is no field nmae"),
)  # fmt: skip
VECTOR = {"embedding": [0.1]}
VECTORS: Judged = (
    (VECTOR, REJECTED, ["embedding"], "a record must not have a vector"),
    ({"embedding": None}, REJECTED, ["embedding"],
     "the record has a field `embedding`, and its value does not matter"),
    (VECTOR | {"kind": ...}, REJECTED, ["embedding"],
     "kind is missing, too, but the embedding is reported whatever else is wrong"),
    (VECTOR | {"schemaVersion": ...}, REJECTED, ["embedding"],
     "schemaVersion is missing, too, but the embedding is the only problem that is reported"),
    ({"content": "embedding", "customMeta": {"embedding": "old"}}, "", [],
     "the word is in the content and in customMeta, but the record has no such field"),
)  # fmt: skip
JUDGED = (*ONE_PROBLEM, *SEVERAL, *VECTORS)


@drawn(80)
def any_chunk(random: Draws) -> Call:
    """Draw what differs in the named cases together, and which fields are hashed."""
    change = {key: to for one, *_ in random.choices(HASHED, k=5) for key, to in one.items()}
    names = random.some(["name", "sourcePath", "tenantId", "className", "line_start", "customMeta"])
    if random.chance(0.8):
        change["hashInputs"] = random.sample(["content", *names], len(names) + 1)
    return given(Chunk.model_validate(RECORD | {"className": random.choice((None, "Ä"))} | change))


@exercise("4.2", "records:content_hash", 3, time_limit=2, draws=any_chunk)
def check_content_hash(call: Probe) -> None:
    """Compare with the SHA-256 of bytes written by hand, from one string to nested values."""
    for points, about, changes in (
        (2, "texts, each after its length, in their order", TEXTS),
        (1, "names in JSON, fields that are not set, values that are not texts", VALUES),
    ):
        with call.part(points, about):
            for change, hashed, because in changes:
                case = call(Chunk.model_validate(RECORD | change))
                expected = hashlib.sha256(hashed).hexdigest()
                case.gives(expected, because=f"the bytes are {hashed!r}: {because}")


HELLO = b"4:acme4:docs6:Hello."
Hashed = tuple[tuple[dict[str, Any], bytes, str], ...]
"""What differs from the record, the bytes that are hashed, and why."""

TEXTS: Hashed = (
    ({}, HELLO, "they are tenant, repository and content, each after its length"),
    ({"content": "ü"}, b"4:acme4:docs2:\xc3\xbc", "ü is one character, but two bytes"),
    ({"content": " a  b\n"}, b"4:acme4:docs6: a  b\n", "white space is part of the content"),
    ({"content": "a\r\n"}, b"4:acme4:docs3:a\r\n",
     "line ends are part of the content, and this one has two characters"),
    ({"content": "u\u0308"}, b"4:acme4:docs3:u\xcc\x88",
     "the accent is a separate character here, and remains one"),
    ({"tenantId": "other"}, b"5:other4:docs6:Hello.", "the tenant comes first"),
    ({"repoSlug": "code"}, b"4:acme4:code6:Hello.", "the repository comes second"),
    ({"kind": "class", "line_start": 3}, HELLO, "hashInputs does not name these two fields"),
    ({"hashInputs": ["name", "content"]}, b"4:acme4:docs5:hello6:Hello.",
     "the fields are in the order of hashInputs"),
    ({"hashInputs": ["content", "name"]}, b"4:acme4:docs6:Hello.5:hello",
     "the fields are in the order of hashInputs"),
)  # fmt: skip
VALUES: Hashed = (
    ({"hashInputs": ["content", "sourcePath"]}, HELLO + b"4:a.py",
     "hashInputs has the names in JSON: sourcePath"),
    ({"hashInputs": ["content", "tenantId"]}, HELLO + b"4:acme",
     "hashInputs names the tenant, so it is hashed again"),
    ({"hashInputs": ["content", "className", "name"]}, HELLO + b"0:5:hello",
     "className is not set: an empty text of 0 bytes"),
    ({"hashInputs": ["content", "line_start"], "line_start": 12}, HELLO + b"2:12",
     "12 is not a string: its canonical JSON has 2 bytes"),
    ({"hashInputs": ["content", "customMeta"], "customMeta": {}}, HELLO + b"2:{}",
     "customMeta is set: it is an object without keys"),
    ({"hashInputs": ["content", "customMeta"], "customMeta": {"b": {"d": 1, "c": None}, "a": "ü"}},
     HELLO + b'31:{"a":"\xc3\xbc","b":{"c":null,"d":1}}',
     "canonical JSON has sorted keys (at every level), no blanks and no escapes"),
)  # fmt: skip
HASHED = (*TEXTS, *VALUES)


Files = tuple[tuple[str, str, list[tuple[str, str, tuple[int, int]]], str], ...]
"""A path, the tenant, the file's pieces (name, text, first and last line), and why."""


@exercise("4.3", "parse_proto", 3, time_limit=3)
def check_parse_proto(call: Probe) -> None:
    """Compare whole records: one definition, then two, then the text around them."""
    ask, level = ("Ask", "message Ask {\n}\n", (1, 2)), "enum Level {\n}\n"
    files: Files = (
        ("ask.proto", "acme", [ask],
         "one message is the whole file: its exact text, lines 1 and 2, number 0, and the other "
         "fields as the exercise lists them"),
        ("level.proto", "umbrella", [ask],
         "tenant and repository come from scope, and source_path is file.name"),
        ("ask.proto", "acme", [ask, ("Level", level, (3, 4))],
         "records are numbered from 0, and lines are counted in the whole file"),
        ("api/v1/ask.proto", "acme",
         [("ask.proto", 'syntax = "proto3";\n', (1, 1)), ("Ask", ask[1], (2, 3))],
         "the path is the file's, with its folders; what is before the definitions has the name "
         "of the file, without its folders"),
    )  # fmt: skip
    white_space: Files = (
        ("ask.proto", "acme", [("Ask", ask[1] + "\n\n", (1, 2)), ("Level", level, (5, 6))],
         "blank lines at the end belong to the content, but line_end does not count them"),
        ("ask.proto", "acme", [("ask.proto", "\n\n// Hi.\n\n", (1, 3)), ("Ask", ask[1], (5, 6))],
         "blank lines at the beginning count; only those at the end do not"),
        ("ask.proto", "acme", [("", "\n\n", (0, 0)), ("Level", level, (3, 4))],
         "a piece of white space gives no record and no number: the first record is 0"),
        ("ask.proto", "acme", [("Ask", "message Ask {\n}", (1, 2))],
         "the content is the exact text, which has no line end here"),
        ("ask.proto", "acme", [("Ask", "message Ask {\r\n}\r\n", (1, 2))],
         "the content is the exact text, with its line ends"),
        ("ask.proto", "acme", [], "an empty file has no pieces"),
    )  # fmt: skip
    for points, about, group in (
        (2, "the fields of each record, its number and its lines", files),
        (1, "blank lines, white space, and the exact text", white_space),
    ):
        with call.part(points, about):
            for path, tenant, pieces, because in group:
                _parse(call, path, tenant, pieces, because)


def _judge(
    call: Probe, record: str | dict[str, Any], code: str, fields: Sequence[str], because: str
) -> None:
    """Expect a rejection with this code and these fields, or a chunk if there is no code."""
    if isinstance(record, str):
        text = record
    else:
        values = {key: value for key, value in (RECORD | record).items() if value is not ...}
        text = json.dumps(values)
    case = call(text, "line 7")
    case.label = case.label.replace("[" * 100_000 + "'", "[' * 100_000")
    if not code:
        case.gives(Chunk.model_validate(values), because=because)
        return
    expected = _rejection(code, "line 7", list(fields))
    case.holds(case.error is None, expected, got=case.raised, because=because)
    found = case.value
    got = shown(found)
    if isinstance(found, Rejection):
        got = _rejection(found.code, found.record, [problem.field for problem in found.problems])
        if found.record != "line 7":
            because = "`where` is what the report calls the record"
    if got != expected:
        call.fail(case.label, got=got, expected=expected, because=because)
    if fields == ["record"]:
        _gives_the_reason(case, text)


def _gives_the_reason(case: Case, text: str) -> None:
    """Expect the one problem of a text that is not a record to say what `reason_of` says."""
    try:
        read_object(text)
    except (ValueError, RecursionError) as error:
        message, reason = case.value.problems[0].message, reason_of(error)
        case.holds(
            message == reason,
            f"a problem with the message {shown(reason)}",
            got=f"a problem with the message {shown(message)}",
            because="the reason is what `reason_of` gives, which keeps the text itself out of it",
        )


def _rejection(code: str, record: str, fields: list[str]) -> str:
    return f"a Rejection with the code {code}, of {record!r}, with problems of {shown(fields)}"


def _parse(
    call: Probe, path: str, tenant: str, pieces: Sequence[tuple[str, str, tuple[int, int]]],
    because: str,
) -> None:  # fmt: skip
    """Expect a file made of these pieces (name, text, first and last line) to give their records.

    A piece of white space gives none.
    """
    content = "".join(text for _, text, _ in pieces)
    context = Scope(tenant=tenant, repo=f"{tenant}-api")
    case = call(Document(Path("data") / path, path, content), context)
    case.label = (
        f'parse_proto(Document(Path("data/{path}"), "{path}", {content!r}), '
        f'Scope(tenant="{tenant}", repo="{tenant}-api"))'
    )
    records = [
        Chunk(
            tenant_id=tenant,
            repo_slug=f"{tenant}-api",
            root_kind="external-source",
            source_path=path,
            content=text,
            hash_inputs=HASH_INPUTS,
            parser_id="proto",
            parser_version="1.0.0",
            kind="definition",
            name=name,
            line_start=first,
            line_end=last,
            custom_meta={"chunkIndex": index},
        )  # fmt: skip
        for index, (name, text, (first, last)) in enumerate(
            piece for piece in pieces if piece[1].strip()
        )
    ]
    case.gives(records, because=because)
