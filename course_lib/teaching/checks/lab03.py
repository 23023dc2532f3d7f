"""Lab 03, code splitters and the chunk contract: mask, split, judge, hash, and a parser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from course_lib.records import Chunk, Document, Span, TenantContext, content_hash
from course_lib.teaching.checks.probe import Probe, exercise
from course_lib.teaching.checks.values import difference, shown

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
    "customMeta": {},
}
"""A record that keeps the contract; the cases change one field of it."""

SYNTAX = 'syntax = "proto3";\n\n/* Gone:\nmessage Old {\n}\n*/\n\n'
ASK = "// A question.\nmessage Ask {\n  int32 id = 1;\n}\n\n"
ANSWERS = "service Answers {\n  rpc Find(Ask) returns (Ask);\n}\n"


@exercise(
    "3.1",
    function="mask",
    points=2,
    time_limit=2,
    hints=(
        "`re.sub(pattern, replacement, text, flags=re.DOTALL)` takes a function as its "
        "replacement: it is called with each match and returns what comes in its place.",
        "Whatever matches is one token. `token[0]` is its text, and `token['long']` is None where "
        "it is a comment or a short string. Those go back as they are.",
        'For a long literal return as many "x" as it has characters: `"x" * len(token[0])`.',
    ),
)
def check_mask(call: Probe) -> None:
    """Hide long literals, whatever is in them, and nothing else."""
    call("a `b` c", "go").gives("a xxx c", because="a raw string is a long literal")
    call("a `b\nc\n` d\n", "go").gives(
        "a xxxxxx d\n", because="its line ends are hidden too; the length stays"
    )
    call("a `b` c `d\n` e", "go").gives("a xxx c xxxx e", because="there are two of them")
    call('say("hi") // a `comment`\n', "go").gives(
        'say("hi") // a `comment`\n', because="comments and short strings stay as they are"
    )
    page, quoted, said = '"""b\ndef c():\n"""', "'''it's \"\"\" here'''", '"""Say."""'
    call(f"a = {page}\nd", "python").gives(
        f"a = {'x' * len(page)}\nd", because="what is between three quotes is text"
    )
    call(f"a = {quoted}\nb", "python").gives(
        f"a = {'x' * len(quoted)}\nb", because="what was opened first has to be closed first"
    )
    call(f'# not """ open\ndef a():\n    {said}\n', "python").gives(
        f'# not """ open\ndef a():\n    {"x" * len(said)}\n',
        because="quotes in a comment open nothing, and the docstring is a literal",
    )
    call('a = """never closed\ndef b():\n', "python").gives(
        'a = """never closed\ndef b():\n', because="what is never closed is no literal"
    )
    heredoc = "<<END\n\na\nEND"
    call(f"cat {heredoc}\nb\n", "shell").gives(
        f"cat {'x' * len(heredoc)}\nb\n", because="a heredoc goes from << to its last word"
    )
    call("", "go").gives("", because="there is nothing to hide")


@exercise(
    "3.2",
    function="split_definitions",
    points=3,
    waits_for=("3.1",),
    time_limit=3,
    hints=(
        "Mask first. `re.finditer(STARTS[language], masked, re.MULTILINE)` gives the definitions: "
        '`match.start()` is where the line begins, `match["name"]` what is defined.',
        "Moving up: the line above the one at `start` begins at "
        '`masked.rfind("\\n", 0, start - 1) + 1`. Go on while `start > 0` and '
        "`masked.startswith(ABOVE, above)`, with `start = above`.",
        'Collect start → name in a dict that begins as `{0: ""}`; a definition that starts at 0 '
        "then takes the place of the empty name.",
        "Each piece ends where the next one starts, and the last at `len(text)`. Cut the texts out "
        "of `text`, not out of `masked`, and leave out a piece whose start is its end.",
    ),
)
def check_split_definitions(call: Probe) -> None:
    """Begin with the example, go on with what climbs and what does not, end with the laws."""
    yes = ("yes", "# Says yes.\n@cached\ndef yes():\n    return 1\n\n")
    no = ("no", "async def no():\n    pass\n")
    _split(call, "python", [("", "import os\n\n"), yes, no],
           "comments and decorators directly above belong to the definition")  # fmt: skip
    _split(call, "python", [yes, no], "nothing stands before the definition: no empty piece")
    _split(call, "python", [("", "import os\nprint(os.sep)\n")],
           "without a definition it is one piece without a name")  # fmt: skip
    _split(call, "python", [], "an empty text has no pieces")
    _split(call, "python", [("", "# About the file.\n\n"), no],
           "a blank line stands between: that comment is not directly above")  # fmt: skip
    _split(call, "python", [("A", "class A:\n    # Says.\n    def say(self):\n        pass\n")],
           "an indented definition is part of what it stands in")  # fmt: skip
    _split(call, "python", [("", 'PAGE = """\ndef no():\n# last"""\n'), no],
           "what is in a string is text, also what looks like a comment above")  # fmt: skip
    method = ("B", "// B does.\nfunc (c *C) B() {\n}\n\n")
    _split(call, "go", [("", "package a\n\n"), method, ("x", "var x = `\nfunc no() {\n`\n")],
           "in Go a raw string is text")  # fmt: skip
    helper = (
        "help",
        "# Prints help.\nhelp() {\n    cat <<END\none\n\nfake() {\n}\nEND\n}\n\nhelp\n",
    )
    _split(call, "shell", [("", "set -e\n\n"), helper],
           "a heredoc is text, and a piece goes on until the next one begins")  # fmt: skip


@exercise(
    "3.3",
    function="judge",
    points=2,
    time_limit=2,
    hints=(
        "One `try` for each line, inside the loop: what goes wrong with a line must not end it.",
        "`json.loads(line)` may give something that is no dict, and `in` works on a string too: "
        'ask `isinstance(record, dict) and "embedding" in record`.',
        "pydantic raises `ValidationError`. The first problem is `error.errors()[0]`, and its "
        "`['loc']` is a tuple whose first element is the field; it is empty where the record as a "
        "whole is wrong.",
        "What is no JSON raises `json.JSONDecodeError`. That and `ValidationError` are both a "
        "`ValueError`, so catch `ValidationError` first.",
    ),
)
def check_judge(call: Probe) -> None:
    """Break a record in each way, and look at what becomes of its siblings."""
    _judge(call, [], [], "there are no lines")
    _judge(call, [{}, {}], [], "both keep the contract")
    _judge(call, [{}, "oops", {}], [(2, INVALID, "record")], "its siblings go through")
    for change, field, because in (
        ({"name": None}, "name", "name must be a string"),
        ({"line_strat": 3}, "line_strat", "an unknown field is a misspelt one"),
        ({"sourcePath": "../a.py"}, "sourcePath", "a path must not lead upwards"),
        ({"hashInputs": ["name"]}, "hashInputs", "the content has to be part of the hash"),
        ({"hashInputs": ["content", ""]}, "hashInputs", "the field is the first of `loc`"),
        ({"line_start": "3"}, "line_start", "types are taken as they are"),
        ({"line_start": True}, "line_start", "true is no line number"),
        ({"line_start": 9, "line_end": 3}, "record", "`loc` is empty: it is no single field"),
        ({"kind": ...}, "kind", "kind is missing"),
        (
            {"sourcePath": ..., "source_path": "a.py"},
            "sourcePath",
            "in JSON the field is called sourcePath",
        ),
    ):
        _judge(call, [change, {}], [(1, INVALID, field)], because)
    for line in ("[]", "3", "null", '"an embedding"'):
        _judge(call, [line, {}], [(1, INVALID, "record")], "it is JSON, and no object")
    vector = {"embedding": [0.1, 0.2]}
    _judge(call, [vector, {}], [(1, REJECTED, "embedding")], "vectors are made on this side")
    _judge(
        call,
        [{"embedding": None, "kind": ...}],
        [(1, REJECTED, "embedding")],
        "the code says what to mend first, whatever else is wrong",
    )
    _judge(
        call,
        ["{", vector, {}, "{"],
        [(1, INVALID, "record"), (2, REJECTED, "embedding"), (4, INVALID, "record")],
        "lines are counted from 1, the good ones too",
    )


@exercise(
    "3.4",
    function="content_hash",
    points=1,
    time_limit=2,
    hints=(
        "`record = json.loads(chunk.to_json())` has the fields by their names in JSON. The names "
        'to go through are `["tenantId", "repoSlug", *chunk.hash_inputs]`, in this order.',
        '`record.get(name, "")` gives nothing for a field that is unset. What is no string goes '
        "through `canonical`.",
        "Encode the value before you measure it: `raw = value.encode()`, then "
        '`digest.update(f"{len(raw)}:".encode() + raw)`, on a `digest = hashlib.sha256()`.',
    ),
)
def check_content_hash(call: Probe) -> None:
    """Compare with the library's digests, from one string to nested values."""
    _hash(call, {}, "the bytes are 4:acme4:docs6:Hello.")
    _hash(call, {"content": "Grüße."}, "ü and ß are two bytes each: the length is 8")
    _hash(call, {"tenantId": "umbrella"}, "the tenant comes first")
    _hash(call, {"repoSlug": "code"}, "then comes the repository")
    _hash(call, {"hashInputs": ["name", "content"]}, "then the fields in the order of hashInputs")
    _hash(call, {"hashInputs": ["content", "name"]}, "then the fields in the order of hashInputs")
    _hash(
        call,
        {"hashInputs": ["content", "className", "name"]},
        "className is unset: nothing, which is 0 bytes long",
    )
    _hash(call, {"hashInputs": ["content", "line_start"], "line_start": 12}, "12 is canonical JSON")
    _hash(
        call,
        {"hashInputs": ["content", "customMeta"], "customMeta": {"b": [1, None], "a": "ü"}},
        "canonical JSON has its keys in order and no blanks",
    )
    _hash(call, {"kind": "class", "line_start": 3}, "what hashInputs does not name does not count")


@exercise(
    "3.5",
    function="parse_proto",
    points=2,
    waits_for=("3.2",),
    time_limit=3,
    hints=(
        '`split_definitions(file.content, "proto")` gives name and span of each piece. Skip those '
        "without a letter (`not span.text.strip()`), and number the rest by `len(chunks)`.",
        "The line on which an offset lies is the number of line ends before it, plus 1: "
        '`file.content.count("\\n", 0, span.start) + 1`.',
        "A piece ends with its last line that is not blank: `line_start` plus the number of line "
        "ends in `span.text.rstrip()`.",
        '`name or file.name.rsplit("/", 1)[-1]` names the piece that has no name of its own.',
    ),
)
def check_parse_proto(call: Probe) -> None:
    """Compare whole records, for two files and two tenants."""
    acme = TenantContext(tenant="acme", repo="heron")
    call(_file("api/ask.proto", SYNTAX + ASK + ANSWERS), acme).gives(
        [
            _record(acme, "api/ask.proto", 0, "ask.proto", SYNTAX, (1, 6)),
            _record(acme, "api/ask.proto", 1, "Ask", ASK, (8, 11)),
            _record(acme, "api/ask.proto", 2, "Answers", ANSWERS, (13, 15)),
        ],
        because="a message in a comment is none, and every record says whose and where it is",
    )
    other, level = TenantContext(tenant="umbrella", repo="api"), "enum Level {\n}\n"
    call(_file("level.proto", "\n\n" + level), other).gives(
        [_record(other, "level.proto", 0, "Level", level, (3, 4))],
        because="a piece of white space is none, and the numbers begin at 0 all the same",
    )
    call(_file("empty.proto", ""), acme).gives([], because="an empty file has no pieces")


def _split(call: Probe, language: str, parts: list[tuple[str, str]], because: str) -> None:
    """Expect a text made of these parts, each with its name, to be cut into them again."""
    spans, at = [], 0
    for name, text in parts:
        spans.append((name, Span(at, at + len(text), text)))
        at += len(text)
    call("".join(text for _, text in parts), language).gives(spans, because=because)


def _judge(
    call: Probe,
    lines: list[str | dict[str, Any]],
    reports: list[tuple[int, str, str]],
    because: str,
) -> None:
    """Expect these reports on these lines, and everything else to be taken.

    A line is a text, or says what differs from a good record (`...`: the field is not there).
    """
    texts, labels = [], []
    for line in lines:
        if isinstance(line, str):
            texts.append(line)
            labels.append(repr(line))
            continue
        record = {key: value for key, value in (RECORD | line).items() if value is not ...}
        texts.append(json.dumps(record))
        changes = [f"no {key}" if line[key] is ... else f"{key}: {line[key]!r}" for key in line]
        labels.append(f"<a record, {', '.join(changes)}>" if line else "good")
    case = call(texts)
    case.label = f"judge([{', '.join(labels)}])"
    taken = [Chunk.model_validate(RECORD)] * (len(lines) - len(reports))
    if case.error is None:
        chunks, found = case.returns(tuple[list[Any], list[Any]])
        if len(chunks) != len(taken) or difference(found, reports):
            call.fail(
                case.label,
                got=f"{len(chunks)} taken, reports {shown(found)}",
                expected=f"{len(taken)} taken, reports {shown(reports)}",
                because=because,
            )
    case.gives((taken, reports), because=because)


def _hash(call: Probe, change: dict[str, Any], because: str) -> None:
    chunk = Chunk.model_validate(RECORD | change)
    case = call(chunk)
    case.label = f"content_hash(<a chunk with {change or RECORD['content']!r}>)"
    case.gives(content_hash(chunk), because=because)


def _file(name: str, content: str) -> Document:
    return Document(Path(name), name, content)


def _record(
    tenant: TenantContext, path: str, index: int, name: str, content: str, lines: tuple[int, int]
) -> Chunk:
    return Chunk(
        tenant_id=tenant.tenant,
        repo_slug=tenant.repo,
        root_kind="external-source",
        source_path=path,
        content=content,
        hash_inputs=HASH_INPUTS,
        parser_id="proto",
        parser_version="1.0.0",
        kind="definition",
        name=name,
        line_start=lines[0],
        line_end=lines[1],
        custom_meta={"chunkIndex": index},
    )
