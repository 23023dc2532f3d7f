"""Lab 04, the chunk contract: judge a record, hash it, and a parser of the learner's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from course_lib.loader.contract import Problem, Rejection, check_record
from course_lib.records import Chunk, Document, Scope, content_hash
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.values import shown

INVALID = "KB_PARSED_CHUNK_INVALID"
REJECTED = "KB_PARSED_CHUNK_EMBEDDING_REJECTED"

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
    return [found.code, found.record, [[one.field, one.message] for one in found.problems]]


@drawn(120, apply=_verdict)
def any_record(random: Draws) -> Call:
    """Draw a record with up to three changes, as text, bytes or values, or what is not a record."""
    where = f"line {random.randrange(99)}"
    first, *others = JUDGED[random.turn(len(JUDGED))], *random.choices(JUDGED, k=2)
    if isinstance(first[0], (str, bytes)):
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
        (1, "several problems in order, names of fields, bytes and values", SEVERAL),
        (1, "records with a vector", VECTORS),
    ):
        with call.part(points, about):
            for record, code, fields, because in judged:
                _judge(call, record, code, fields, because)
            if judged is SEVERAL:
                wrong = RECORD | {"name": b"hello"}
                _judge(call, wrong, INVALID, ["name"],
                       "these are the values of a record: no JSON, and this name is not a string",
                       as_values=True)  # fmt: skip


Judged = tuple[tuple[str | bytes | dict[str, Any], str, list[str], str], ...]
"""A text, bytes, or what differs from a good record (`...`: the field is not there); the code of
the rejection, empty for none; the fields with problems, and why.
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
    ({"content": "a\0b", "name": "\0"}, INVALID, ["content", "name"],
     "two fields hold a NUL character, so there are two problems"),
    ({"schemaVersion": ..., "content": "a\0b"}, INVALID, ["schemaVersion", "content"],
     "schemaVersion is missing, and what cannot be stored is reported, too"),
    ({"hashInputs": ["content", "nmae"]}, INVALID, ["hashInputs.1"], "there is no field nmae"),
    ('{"kind": "a", "kind": "b"}', INVALID, ["record"], "it has the same key twice"),
    ("{}".encode("utf-16"), INVALID, ["record"],
     "`read_object` reads bytes as UTF-8, and these are UTF-16"),
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
    ({"hashInputs": ["content", "repoSlug", "tenantId"]}, HELLO + b"4:docs4:acme",
     "hashInputs names the repository and the tenant, so each is hashed again"),
    ({"hashInputs": ["content", "className", "name"]}, HELLO + b"0:5:hello",
     "className is not set: an empty text of 0 bytes"),
    ({"hashInputs": ["content", "line_start"], "line_start": 12}, HELLO + b"2:12",
     "12 is not a string: its canonical JSON has 2 bytes"),
    ({"hashInputs": ["content", "customMeta"]}, HELLO + b"2:{}",
     "customMeta is an object without keys, and it is in the JSON although nobody set it"),
    ({"hashInputs": ["content", "customMeta"], "customMeta": {"b": {"d": 1, "c": None}, "a": "ü"}},
     HELLO + b'31:{"a":"\xc3\xbc","b":{"c":null,"d":1}}',
     "canonical JSON has sorted keys (at every level), no blanks and no escapes"),
    ({"hashInputs": ["content", "hashInputs"]}, HELLO + b'24:["content","hashInputs"]',
     "a list is not a string: its canonical JSON has no blanks"),
)  # fmt: skip
HASHED = (*TEXTS, *VALUES)


Files = tuple[tuple[str, str, list[tuple[str, str]], str], ...]
"""A path, the tenant, the file's pieces (name and text), and why."""

ASK, LEVEL = ("Ask", "message Ask {\n}\n"), ("Level", "enum Level {\n}\n")
FIELDS: Files = (
    ("ask.proto", "acme", [ASK],
     "one message is the whole file: one record, with the number 0, and what `make_record` fills"),
    ("level.proto", "umbrella", [ASK], "path, tenant and repository are those of the call"),
    ("ask.proto", "acme", [ASK, LEVEL],
     "records are in the order of the file, and numbered from 0"),
    ("api/v1/ask.proto", "acme", [("ask.proto", 'syntax = "proto3";\n'), ASK],
     "the text before the definitions has the name of the file, without its folders"),
)  # fmt: skip
WHITE_SPACE: Files = (
    ("ask.proto", "acme", [("", "\n\n"), LEVEL],
     "a piece of white space gives no record and no number: the first record is 0"),
    ("ask.proto", "acme", [("", " \t\r\n"), ASK, LEVEL],
     "a piece of white space gives no record and no number: the first record is 0"),
    ("ask.proto", "acme", [("ask.proto", "\n\n// Hi.\n\n"), ASK],
     "a comment is not white space, so it is a record"),
    ("ask.proto", "acme", [("Ask", "message Ask {\n}\n\n\n"), LEVEL],
     "the content is the exact text, with its blank lines"),
    ("ask.proto", "acme", [("Ask", "message Ask {\r\n}")], "the content is the exact text"),
    ("ask.proto", "acme", [ASK, ("Level", "// Asks.\nenum Level {\n}\n")],
     "the comment above a definition is in its piece, and is not its name"),
    ("ask.proto", "acme", [ASK, ASK], "two definitions may have the same text"),
    ("ask.proto", "acme", [], "an empty file has no pieces, and no records"),
)  # fmt: skip


@exercise("4.3", "parse_proto", 3, time_limit=3)
def check_parse_proto(call: Probe) -> None:
    """Compare whole records but for `hash_inputs`, and hashes of records that have changed."""
    for points, about, group in (
        (1, "the records, their names and numbers", FIELDS),
        (1, "white space, and the exact text", WHITE_SPACE),
    ):
        with call.part(points, about):
            for path, tenant, pieces, because in group:
                _parse(call, path, tenant, pieces, because)
    with call.part(1, "what the hash covers, and what not"):
        top, imports = ("ask.proto", 'syntax = "proto3";\n'), ("ask.proto", 'import "a.proto";\n')
        _, first = _parse(call, "ask.proto", "acme", [top, ASK], "a file before it changes")
        for what, path, pieces, because in (
            ("its file is renamed", "old/asking.proto", [("asking.proto", top[1]), ASK],
             "its content and parser are the same, so its vector can stay"),
            ("there is more text above it", "ask.proto", [imports, LEVEL, ASK],
             "its lines and its number are others, but its vector can stay"),
        ):  # fmt: skip
            case, moved = _parse(call, path, "acme", pieces, "the records of the changed file")
            for old in first if len(moved) == len(first) else first[-1:]:
                case.holds(
                    content_hash(old) in map(content_hash, moved),
                    f"the piece {old.content!r} keeps its hash if {what}",
                    got=f"hash_inputs={old.hash_inputs!r}",
                    because=because,
                )
        newer = first[-1].model_copy(update={"parser_version": "1.1.0"})
        case.holds(
            content_hash(newer) != content_hash(first[-1]),
            "a new hash if the version of the parser changes",
            got=f"hash_inputs={newer.hash_inputs!r}",
            because="the names in hash_inputs are those in JSON, and the version is one of them",
        )


def _judge(
    call: Probe, record: str | bytes | dict[str, Any], code: str, fields: Sequence[str],
    because: str, *, as_values: bool = False,
) -> None:  # fmt: skip
    """Expect a rejection with this code and these fields, or a chunk if there is no code."""
    values: dict[str, Any] = {}
    text: Any = record
    if isinstance(record, dict) and not as_values:
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
        those: Any = found.problems
        case.holds(
            isinstance(those, tuple | list) and all(isinstance(one, Problem) for one in those),
            "problems that are a tuple of Problem",
            got=f"problems that are {shown(those)} ({type(those).__name__})",
            because="a tuple of one problem has a comma, as in (NO_VECTORS,)",
        )
        got = _rejection(found.code, found.record, [problem.field for problem in found.problems])
        if found.record != "line 7":
            because = "`where` is what the report calls the record"
    if got != expected:
        call.fail(case.label, got=got, expected=expected, because=because)
    known = check_record(text, "line 7")
    assert isinstance(known, Rejection)
    for own, wanted in zip(found.problems, known.problems, strict=True):
        case.holds(
            own.message == wanted.message,
            f"a problem with the message {shown(wanted.message)}",
            got=f"a problem with the message {shown(own.message)}",
            because=SAID_BY.get(wanted.field, "it is what the functions of rule 4 give"),
        )


SAID_BY = {
    "record": "the reason is what `reason_of` gives, which keeps the text itself out of it",
    "embedding": "the problem is `NO_VECTORS`",
    "schemaVersion": "the problem is what `missing_version` gives",
}
"""Of a field: where the message of its problem is from."""


def _rejection(code: str, record: str, fields: list[str]) -> str:
    return f"a Rejection with the code {code}, of {record!r}, with problems of {shown(fields)}"


def _parse(
    call: Probe, path: str, tenant: str, pieces: Sequence[tuple[str, str]], because: str
) -> tuple[Case, list[Chunk]]:
    """Expect a file made of these pieces (name and text) to give their records; return them.

    A piece of white space gives none. Which fields are hashed is not looked at here.
    """
    content = "".join(text for _, text in pieces)
    repo = f"{tenant}-api"
    case = call(Document(Path("data") / path, path, content), Scope(tenant=tenant, repo=repo))
    case.label = (
        f'parse_proto(Document(Path("data/{path}"), "{path}", {content!r}), '
        f'Scope(tenant="{tenant}", repo="{repo}"))'
    )
    records: list[Chunk] = []
    offset = 0
    for name, text in pieces:
        first = content.count("\n", 0, offset) + 1
        offset += len(text)
        if text.strip():
            records.append(
                Chunk(
                    tenant_id=tenant, repo_slug=repo, root_kind="external-source",
                    source_path=path, content=text, hash_inputs=["content"], parser_id="proto",
                    parser_version="1.0.0", kind="definition", name=name, line_start=first,
                    line_end=first + text.rstrip().count("\n"),
                    custom_meta={"chunkIndex": len(records)},
                )
            )  # fmt: skip
    found = case.value
    chosen: list[Any] = []
    if isinstance(found, list):
        chosen = [getattr(one, "hash_inputs", ["content"]) for one in found]
    for record, hashed in zip(records, chosen, strict=False):
        record.hash_inputs[:] = hashed
    case.gives(records, because=because)
    return case, records
