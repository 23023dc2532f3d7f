"""Lab 03, code splitters and the chunk contract: mask, split, judge, hash, and a parser."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from course_lib.records import Chunk, Document, Span, TenantContext
from course_lib.teaching.checks.probe import Probe, exercise
from course_lib.teaching.checks.values import difference, shown

INVALID = "KB_PARSED_CHUNK_INVALID"
REJECTED = "KB_PARSED_CHUNK_EMBEDDING_REJECTED"
HASH_INPUTS = ["content", "name", "sourcePath", "parserId", "parserVersion"]

RECORD: dict[str, Any] = {
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
    call("a `é` c", "go").gives("a xxx c", because="é is one character, and so becomes one x")
    call("a `b` c `d\n` e", "go").gives("a xxx c xxxx e", because="there are two of them")
    call('say("hi") // a `comment`\n', "go").gives(
        'say("hi") // a `comment`\n', because="comments and short strings stay as they are"
    )
    call("`a` // `a`\n", "go").gives(
        "xxx // `a`\n", because="the second `a` is in a comment, which stays as it is"
    )
    call("/* a\n*/ b", "go").gives(
        "xxxxxxx b", because="what is between /* and */ takes part in the group `long`, too"
    )
    call('a = """b\n"""\nd', "python").gives(
        f"a = {'x' * 8}\nd", because="what is between three quotes is text"
    )
    call("a = '''it's \"\"\" here'''\nb", "python").gives(
        f"a = {'x' * 19}\nb", because="what was opened first has to be closed first"
    )
    call('# not """ open\ndef a():\n    """Say."""\n', "python").gives(
        f'# not """ open\ndef a():\n    {"x" * 10}\n',
        because="quotes in a comment open nothing, and the docstring is a literal",
    )
    call('a = """never closed\ndef b():\n', "python").gives(
        'a = """never closed\ndef b():\n', because="what is never closed is no literal"
    )
    call("cat <<END\n\na\nEND\nb\n", "shell").gives(
        f"cat {'x' * 12}\nb\n", because="a heredoc goes from << to its last word"
    )
    call("echo 'a\nb' c\n", "shell").gives(
        "echo xxxxx c\n", because="single quotes hold line ends in a shell: the group is `long`"
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
    """Begin with bare definitions, go on with what belongs to them, end with the offsets."""
    yes, no = ("yes", "def yes():\n    return 1\n"), ("no", "async def no():\n    pass\n")
    head = ("", "import os\n")
    _split(call, "python", [head, yes],
           "a definition begins in line 2; the piece before it, named '', ends there")  # fmt: skip
    _split(call, "python", [yes, no],
           "no text is before the definition: an empty piece is left out")  # fmt: skip
    _split(call, "python", [head], "without a definition it is one piece without a name")
    _split(call, "python", [], "an empty text has no pieces")
    _split(call, "python", [("a", "def a():\n    pass\n\n\n"), yes],
           "a piece ends where the next one begins, after the blank lines")  # fmt: skip
    _split(call, "python", [("a", "def a():\n    pass")],
           "the last piece ends with the text, which has no line end here")  # fmt: skip
    _split(call, "python", [("a", "def a():\n    pass\n"), ("a", "def a():\n    pass\n")],
           "two definitions may have the same name, and the same text")  # fmt: skip
    _split(call, "python", [("A", "class A:\n    def say(self):\n        pass\n")],
           "an indented definition is part of what it stands in")  # fmt: skip
    _split(call, "python", [head, ("yes", "# Says yes.\ndef yes():\n    return 1\n")],
           "a comment directly above belongs to the definition")  # fmt: skip
    _split(call, "python", [head, ("yes", "# Says yes.\n@cached\ndef yes():\n    return 1\n")],
           "so does the line above that, if it begins with one of ABOVE as well")  # fmt: skip
    _split(call, "python", [("", "# About the file.\n\n"), no],
           "a blank line stands between: that comment is not directly above")  # fmt: skip
    _split(call, "python", [("a", "def a():\n    pass\n    # The end of a.\n"), yes],
           "the line above begins with blanks, and so with none of ABOVE")  # fmt: skip
    _split(call, "python", [("", 'PAGE = """\ndef no():\n"""\n'), no],
           "what is in a string is text")  # fmt: skip
    _split(call, "python", [("", 'PAGE = """\n# last"""\n'), no],
           "what looks like a comment above is the end of a string")  # fmt: skip
    method = ("B", "// B does.\nfunc (c *C) B() {\n}\n\n")
    _split(call, "go", [("", "package a\n\n"), method, ("x", "var x = `\nfunc no() {\n`\n")],
           "in Go comments begin with //, and a raw string is text")  # fmt: skip
    _split(call, "go", [("a", "var a = 1\n"), ("", "const (\n\tb = 2\n)\n")],
           "a definition without a name is one, too: its group `name` is ''")  # fmt: skip
    _split(call, "shell", [("", "set -e\n"), ("a", "a() {\ncat <<END\n\nb() {\n}\nEND\n}\n\na\n")],
           "a heredoc is text, and a piece goes on until the next one begins")  # fmt: skip
    _split(call, "proto", [("", 'syntax = "proto3";\n'), ("Ask", "message Ask {\n}\n")],
           "STARTS and TOKENS know proto as well")  # fmt: skip
    _split(call, "python", [("", "x = 'é'\n"), yes], "offsets count characters, and é is one")
    _split(call, "python", [("", "import os\r\n"), ("a", "# Says.\r\ndef a():\r\n    pass\r\n")],
           "the offsets are those of the text, where each line ends in two characters")  # fmt: skip


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
    _judge(call, [{}], [], "it keeps the contract, and becomes a Chunk")
    _judge(call, [{"name": "b"}, {"name": "a"}], [], "both are taken, in their order")
    _judge(call, [{}, {}], [], "two equal records are two records")
    _judge(call, ["oops"], [(1, INVALID, "record")], "it is no JSON")
    _judge(call, ["{", {}], [(1, INVALID, "record")], "one bad line does not cost its siblings")
    _judge(call, [""], [(1, INVALID, "record")], "an empty line is a line, and it is no JSON")
    for line in ("[]", "3", "null", '"an embedding"'):
        _judge(call, [line], [(1, INVALID, "record")], "it is JSON, and no object")
    for change, field, because in (
        ({"name": None}, "name", "name must be a string"),
        ({"line_strat": 3}, "line_strat", "an unknown field is a misspelt one"),
        ({"sourcePath": "../a.py"}, "sourcePath", "a path must not lead upwards"),
        ({"hashInputs": ["name"]}, "hashInputs", "the content has to be part of the hash"),
        (
            {"hashInputs": ["content", ""]},
            "hashInputs",
            "the field is the first element of `loc`; the second says where in it",
        ),
        ({"line_start": "3"}, "line_start", "types are taken as they are: '3' is no number"),
        ({"line_start": True}, "line_start", "types are taken as they are: true is no number"),
        ({"line_start": 9, "line_end": 3}, "record", "`loc` is empty: it is no single field"),
        ({"kind": ...}, "kind", "kind is missing"),
        (
            {"name": None, "kind": None},
            "kind",
            "two fields are wrong, and pydantic complains of kind first",
        ),
        (
            {"sourcePath": ..., "source_path": "a.py"},
            "sourcePath",
            "in JSON the field is called sourcePath",
        ),
    ):
        _judge(call, [change], [(1, INVALID, field)], because)
    vector = {"embedding": [0.1]}
    _judge(call, [vector], [(1, REJECTED, "embedding")], "a record must not bring its own vector")
    _judge(
        call,
        [{"embedding": None}],
        [(1, REJECTED, "embedding")],
        "the record has an `embedding`, whatever its value is",
    )
    _judge(
        call,
        [vector | {"kind": ...}],
        [(1, REJECTED, "embedding")],
        "kind is missing as well, but the code is about the embedding whatever else is wrong",
    )
    _judge(
        call,
        [{"content": "embedding", "customMeta": {"embedding": "old"}}],
        [],
        "the word stands in the content and in customMeta; the record has no field of that name",
    )
    _judge(
        call,
        ["{", vector, {}, "{"],
        [(1, INVALID, "record"), (2, REJECTED, "embedding"), (4, INVALID, "record")],
        "lines are counted from 1, the good ones too, and reports are in the order of the lines",
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
    """Compare with the SHA-256 of bytes written by hand, from one string to nested values."""
    hello = b"4:acme4:docs6:Hello."
    _hash(call, {}, hello, "tenant, repository and content, each after its length")
    _hash(call, {"content": "ü"}, b"4:acme4:docs2:\xc3\xbc", "ü is one character and two bytes")
    for content, because in {
        " a  b\n": "white space is content like any other",
        "a\r\n": "line ends are content, and these are two characters",
        "u\u0308": "the accent is a character of its own here, and stays one",
    }.items():
        raw = content.encode()
        _hash(call, {"content": content}, b"4:acme4:docs%d:%b" % (len(raw), raw), because)
    _hash(call, {"tenantId": "other"}, b"5:other4:docs6:Hello.", "the tenant comes first")
    _hash(call, {"repoSlug": "code"}, b"4:acme4:code6:Hello.", "the repository comes second")
    _hash(call, {"kind": "class", "line_start": 3}, hello, "hashInputs names neither field")
    named = {"hashInputs": ["name", "content"]}
    _hash(call, named, b"4:acme4:docs5:hello6:Hello.", "fields come in the order of hashInputs")
    named = {"hashInputs": ["content", "name"]}
    _hash(call, named, b"4:acme4:docs6:Hello.5:hello", "fields come in the order of hashInputs")
    named = {"hashInputs": ["content", "sourcePath"]}
    _hash(call, named, hello + b"4:a.py", "hashInputs has the names in JSON: sourcePath")
    named = {"hashInputs": ["content", "tenantId"]}
    _hash(call, named, hello + b"4:acme", "hashInputs names the tenant, so it comes once more")
    named = {"hashInputs": ["content", "className", "name"]}
    _hash(call, named, hello + b"0:5:hello", "className is unset: an empty text of 0 bytes")
    line = {"hashInputs": ["content", "line_start"], "line_start": 12}
    _hash(call, line, hello + b"2:12", "12 is no string: its canonical JSON has 2 bytes")
    meta: dict[str, Any] = {"hashInputs": ["content", "customMeta"], "customMeta": {}}
    _hash(call, meta, hello + b"2:{}", "customMeta is set, to an object without keys")
    meta["customMeta"] = {"b": {"d": 1, "c": None}, "a": "ü"}
    _hash(
        call,
        meta,
        hello + b'31:{"a":"\xc3\xbc","b":{"c":null,"d":1}}',
        "canonical JSON has its keys in order (inner ones too), no blanks and no escapes",
    )


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
    """Compare whole records: one definition, then two, then what stands around them."""
    ask, level = "message Ask {\n}\n", "enum Level {\n}\n"
    _parse(
        call,
        [("Ask", ask, (1, 2))],
        "the message is the whole file: lines 1 and 2, with the line end of the second",
    )
    _parse(
        call,
        [("Ask", ask, (1, 2))],
        "tenant and repository are those of tenant_context, the path is the file's name",
        path="level.proto",
        tenant="umbrella",
    )
    _parse(
        call,
        [("Ask", ask, (1, 2)), ("Level", level, (3, 4))],
        "records are numbered from 0, and lines are counted through the whole file",
    )
    _parse(
        call,
        [("ask.proto", 'syntax = "proto3";\n', (1, 1)), ("Ask", ask, (2, 3))],
        "what stands before the definitions has the name of the file, without its folders",
        path="api/v1/ask.proto",
    )
    _parse(
        call,
        [("Ask", ask + "\n\n", (1, 2)), ("Level", level, (5, 6))],
        "blank lines at the end are part of the text, but not of its lines",
    )
    _parse(
        call,
        [("ask.proto", "\n\n// Hi.\n\n", (1, 3)), ("Ask", ask, (5, 6))],
        "a piece begins with its blank lines; only those at its end are left out of the lines",
    )
    _parse(
        call,
        [("ask.proto", "/*\nmessage Old {\n}\n*/\n", (1, 4)), ("Ask", ask, (5, 6))],
        "a message in a comment is none",
    )
    _parse(
        call,
        [("", "\n\n", (0, 0)), ("Level", level, (3, 4))],
        "a piece of white space gives no record, and the numbers begin at 0 all the same",
    )
    _parse(
        call,
        [("Ask", "message Ask {\n}", (1, 2))],
        "the content is the exact text, which has no line end",
    )
    _parse(
        call,
        [("Ask", "message Ask {\r\n}\r\n", (1, 2))],
        "the content is the exact text, with its line ends",
    )
    _parse(call, [], "an empty file has no pieces")


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
    bad = {number for number, _, _ in reports}
    texts, taken = [], []
    for number, line in enumerate(lines, start=1):
        if isinstance(line, str):
            texts.append(line)
            continue
        record = {key: value for key, value in (RECORD | line).items() if value is not ...}
        texts.append(json.dumps(record))
        if number not in bad:
            taken.append(Chunk.model_validate(record))
    case = call(texts)
    if case.error is None:
        chunks, found = case.returns(tuple[list[Any], list[Any]])
        from_zero = [(number - 1, code, field) for number, code, field in reports]
        if found and difference(found, from_zero) is None:
            because = "lines are counted from 1"
        if len(chunks) != len(taken) or difference(found, reports):
            call.fail(
                case.label,
                got=f"{len(chunks)} taken, reports {shown(found)}",
                expected=f"{len(taken)} taken, reports {shown(reports)}",
                because=because,
            )
    case.gives((taken, reports), because=because)


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
    context = TenantContext(tenant=tenant, repo=f"{tenant}-api")
    case = call(Document(Path("data") / path, path, content), context)
    case.label = (
        f'parse_proto(Document(Path("data/{path}"), "{path}", {content!r}), '
        f'TenantContext(tenant="{tenant}", repo="{tenant}-api"))'
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
