"""Lab 04, the chunk contract: judge a record, hash it, and a parser of the learner's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course_lib.loader.contract import Rejection, read_object, reason_of
from course_lib.records import Chunk, Document, Scope
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.values import shown

INVALID = "KB_PARSED_CHUNK_INVALID"
REJECTED = "KB_PARSED_CHUNK_EMBEDDING_REJECTED"
HASH_INPUTS = ["content", "name", "sourcePath", "parserId", "parserVersion"]

RECORD: dict[str, Any] = {
    "schemaVersion": "1.0.0",
    "tenantId": "acme",
    "repoSlug": "docs",
    "rootKind": "external-source",
    "sourcePath": "a.py",
    "content": "Hello.",
    "hashInputs": ["content"],
    "parserId": "mine",
    "parserVersion": "1.0.0",
    "kind": "function",
    "name": "hello",
}
"""A record that keeps the contract; the cases change one field of it."""


@exercise(
    "4.1",
    function="check_record",
    library="course_lib.loader.contract:check_record",
    points=4,
    time_limit=2,
    hints=(
        "Put one `try` around everything: every error becomes a `Rejection`, and no error is "
        "raised. Collect the problems in a list.",
        "Begin with `values = read_object(record)`. Then test for a vector, before all other "
        'problems: `if "embedding" in values: return Rejection(EMBEDDING_REJECTED, where, '
        "(NO_VECTORS,))`.",
        "Next comes `missing_version(values)`, then `chunk = Chunk.model_validate(values, "
        "strict=True, by_alias=True, by_name=False)`, and then `unstorable(chunk)`.",
        "`ValidationError` is a subclass of `ValueError`, so catch it first, with "
        "`problems_of(error)`. For `(ValueError, RecursionError)` the problem is "
        '`Problem("record", reason_of(error))`.',
    ),
)
def check_check_record(call: Probe) -> None:
    """Break a record in each way."""
    _judge(call, {}, "it keeps the contract, and becomes a Chunk")
    _judge(call, {"name": "b"}, "it keeps the contract, and becomes a Chunk")
    _judge(call, "oops", "it is not JSON", INVALID, ["record"])
    _judge(call, "", "an empty line is a line, and it is not JSON", INVALID, ["record"])
    shown = "check_record('[' * 100_000, 'line 7')"
    _judge(call, "[" * 100_000, "it is nested too deep to be read", INVALID, ["record"], shown)
    for line in ("[]", "3", "null", '"an embedding"'):
        _judge(call, line, "it is JSON, but not an object", INVALID, ["record"])
    for change, fields, because in (
        ({"name": None}, ["name"], "name must be a string"),
        ({"line_strat": 3}, ["line_strat"], "there is no field with this name"),
        ({"sourcePath": "../a.py"}, ["sourcePath"], "a path must not go up to parent folders"),
        ({"hashInputs": ["name"]}, ["hashInputs"], "hashInputs must name the content"),
        ({"line_start": "3"}, ["line_start"], "types are not converted: '3' is not a number"),
        ({"line_start": True}, ["line_start"], "types are not converted: true is not a number"),
        ({"line_start": 9, "line_end": 3}, ["line_end"], "the last line is before the first"),
        ({"kind": ...}, ["kind"], "kind is missing"),
        (
            {"name": None, "kind": None},
            ["kind", "name"],
            "two fields are wrong, so there are two problems",
        ),
        (
            {"schemaVersion": ..., "kind": ...},
            ["schemaVersion", "kind"],
            "schemaVersion is missing, and that problem comes first",
        ),
        (
            {"sourcePath": ..., "source_path": "a.py"},
            ["sourcePath", "source_path"],
            "in JSON, the name of the field is sourcePath",
        ),
        ({"content": "a\0b"}, ["content"], "PostgreSQL cannot store a NUL character"),
        ({"hashInputs": ["content", "nmae"]}, ["hashInputs.1"], "there is no field nmae"),
    ):
        _judge(call, change, because, INVALID, fields)
    vector = {"embedding": [0.1]}
    _judge(call, vector, "a record must not have a vector", REJECTED, ["embedding"])
    _judge(
        call,
        {"embedding": None},
        "the record has a field `embedding`, and its value does not matter",
        REJECTED,
        ["embedding"],
    )
    _judge(
        call,
        vector | {"kind": ...},
        "kind is missing, too, but the embedding is reported whatever else is wrong",
        REJECTED,
        ["embedding"],
    )
    _judge(
        call,
        vector | {"schemaVersion": ...},
        "schemaVersion is missing, too, but the embedding is the only problem that is reported",
        REJECTED,
        ["embedding"],
    )
    _judge(
        call,
        {"content": "embedding", "customMeta": {"embedding": "old"}},
        "the word is in the content and in customMeta, but the record has no such field",
    )


@exercise(
    "4.2",
    function="content_hash",
    library="course_lib.records:content_hash",
    points=3,
    time_limit=2,
    hints=(
        "`record = json.loads(chunk.to_json())` has the fields by their names in JSON. The names "
        'to hash are `["tenantId", "repoSlug", *chunk.hash_inputs]`, in this order.',
        '`record.get(name, "")` gives an empty text for a field that is not set. Call `canonical` '
        "for a value that is not a string.",
        "Begin with `digest = hashlib.sha256()`; then for each name "
        "`digest.update(length_prefixed(value if isinstance(value, str) else canonical(value)))`.",
    ),
)
def check_content_hash(call: Probe) -> None:
    """Compare with the SHA-256 of bytes written by hand, from one string to nested values."""
    hello = b"4:acme4:docs6:Hello."
    _hash(call, {}, hello, "they are tenant, repository and content, each after its length")
    _hash(call, {"content": "ü"}, b"4:acme4:docs2:\xc3\xbc", "ü is one character, but two bytes")
    for content, because in {
        " a  b\n": "white space is part of the content",
        "a\r\n": "line ends are part of the content, and this one has two characters",
        "u\u0308": "the accent is a separate character here, and remains one",
    }.items():
        raw = content.encode()
        _hash(call, {"content": content}, b"4:acme4:docs%d:%b" % (len(raw), raw), because)
    _hash(call, {"tenantId": "other"}, b"5:other4:docs6:Hello.", "the tenant comes first")
    _hash(call, {"repoSlug": "code"}, b"4:acme4:code6:Hello.", "the repository comes second")
    _hash(
        call, {"kind": "class", "line_start": 3}, hello, "hashInputs does not name these two fields"
    )
    named = {"hashInputs": ["name", "content"]}
    _hash(call, named, b"4:acme4:docs5:hello6:Hello.", "the fields are in the order of hashInputs")
    named = {"hashInputs": ["content", "name"]}
    _hash(call, named, b"4:acme4:docs6:Hello.5:hello", "the fields are in the order of hashInputs")
    named = {"hashInputs": ["content", "sourcePath"]}
    _hash(call, named, hello + b"4:a.py", "hashInputs has the names in JSON: sourcePath")
    named = {"hashInputs": ["content", "tenantId"]}
    _hash(call, named, hello + b"4:acme", "hashInputs names the tenant, so it is hashed again")
    named = {"hashInputs": ["content", "className", "name"]}
    _hash(call, named, hello + b"0:5:hello", "className is not set: an empty text of 0 bytes")
    line = {"hashInputs": ["content", "line_start"], "line_start": 12}
    _hash(call, line, hello + b"2:12", "12 is not a string: its canonical JSON has 2 bytes")
    meta: dict[str, Any] = {"hashInputs": ["content", "customMeta"], "customMeta": {}}
    _hash(call, meta, hello + b"2:{}", "customMeta is set: it is an object without keys")
    meta["customMeta"] = {"b": {"d": 1, "c": None}, "a": "ü"}
    _hash(
        call,
        meta,
        hello + b'31:{"a":"\xc3\xbc","b":{"c":null,"d":1}}',
        "canonical JSON has sorted keys (at every level), no blanks and no escapes",
    )


@exercise(
    "4.3",
    function="parse_proto",
    points=3,
    time_limit=3,
    hints=(
        "`split_definitions(file.content, PROTO)` gives name and span of each piece. Skip the "
        "pieces that are only white space (`not span.text.strip()`), and number the others by "
        "`len(chunks)`.",
        "The line of an offset is the number of line ends before it, plus 1: "
        '`file.content.count("\\n", 0, span.start) + 1`.',
        "`line_end` is the last line that is not blank: `line_start` plus the number of line ends "
        "in `span.text.rstrip()`.",
        '`name or file.name.rsplit("/", 1)[-1]` is the name, also for the piece without a name.',
    ),
)
def check_parse_proto(call: Probe) -> None:
    """Compare whole records: one definition, then two, then the text around them."""
    ask, level = "message Ask {\n}\n", "enum Level {\n}\n"
    _parse(
        call,
        [("Ask", ask, (1, 2))],
        "one message is the whole file: its exact text, lines 1 and 2, number 0, and the other "
        "fields as the exercise lists them",
    )
    _parse(
        call,
        [("Ask", ask, (1, 2))],
        "tenant and repository come from scope, and source_path is file.name",
        path="level.proto",
        tenant="umbrella",
    )
    _parse(
        call,
        [("Ask", ask, (1, 2)), ("Level", level, (3, 4))],
        "records are numbered from 0, and lines are counted in the whole file",
    )
    _parse(
        call,
        [("ask.proto", 'syntax = "proto3";\n', (1, 1)), ("Ask", ask, (2, 3))],
        "the path is the file's, with its folders; what is before the definitions has the name "
        "of the file, without its folders",
        path="api/v1/ask.proto",
    )
    _parse(
        call,
        [("Ask", ask + "\n\n", (1, 2)), ("Level", level, (5, 6))],
        "blank lines at the end belong to the content, but line_end does not count them",
    )
    _parse(
        call,
        [("ask.proto", "\n\n// Hi.\n\n", (1, 3)), ("Ask", ask, (5, 6))],
        "blank lines at the beginning count; only those at the end do not",
    )
    _parse(
        call,
        [("", "\n\n", (0, 0)), ("Level", level, (3, 4))],
        "a piece of white space gives no record and no number: the first record is 0",
    )
    _parse(
        call,
        [("Ask", "message Ask {\n}", (1, 2))],
        "the content is the exact text, which has no line end here",
    )
    _parse(
        call,
        [("Ask", "message Ask {\r\n}\r\n", (1, 2))],
        "the content is the exact text, with its line ends",
    )
    _parse(call, [], "an empty file has no pieces")


def _judge(
    call: Probe,
    record: str | dict[str, Any],
    because: str,
    code: str = "",
    fields: Sequence[str] = (),
    label: str = "",
) -> None:
    """Expect a chunk, or a rejection with this code and these fields.

    The record is a text, or says what differs from a good one (`...`: the field is not there). The
    label is the call as it is shown, where the record is too long.
    """
    text = record if isinstance(record, str) else ""
    if not isinstance(record, str):
        values = {key: value for key, value in (RECORD | record).items() if value is not ...}
        text = json.dumps(values)
    case = call(text, "line 7")
    if label:
        case.label = label
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


def _hash(call: Probe, change: dict[str, Any], hashed: bytes, because: str) -> None:
    """Expect the SHA-256 of these bytes."""
    chunk = Chunk.model_validate(RECORD | change)
    case = call(chunk)
    case.gives(hashlib.sha256(hashed).hexdigest(), because=f"the bytes are {hashed!r}: {because}")


def _parse(
    call: Probe,
    pieces: list[tuple[str, str, tuple[int, int]]],
    because: str,
    path: str = "ask.proto",
    tenant: str = "acme",
) -> None:
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
        )
        for index, (name, text, (first, last)) in enumerate(
            piece for piece in pieces if piece[1].strip()
        )
    ]
    case.gives(records, because=because)
