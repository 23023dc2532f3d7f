"""Lab 03: source files of three languages, and records that break the contract in many ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, chance, some, text
from course_lib.teaching.checks.lab03 import RECORD

LINES = {
    "python": (
        ("import os", "", "# Says.", "@cached", "def {}():", "async def {}():", "class {}:")
        + ("    pass", "    def {}(self):", "    # The end.", "x = 'é'", "if x:", "def {}(): pass")
    ),
    "go": (
        ("package a", "", "// Says.", "func {}() {{", "func (c *C) {}() {{", "type {} struct {{")
        + ("}}", "const (", "\tb = 2", ")", "var {} = 1", "\t// The end.", "x.func()")
    ),
    "shell": ("set -e", "", "# Says.", "{}() {{", "function {} {{", "  b", "}}", "{} x", "# {{"),
}
PYTHON = (
    "import os",
    "x = 1",
    "def {}(): pass",
    "class {}:\n    def b(self): pass",
    "def {}():\n    def b(): pass\n    return b",
    "if x:\n    def {}(): pass\nelse:\n    class C: pass",
    "@cached\ndef {}(): pass",
    'x = """\ndef {}(): pass\n"""',
    "try:\n    with x:\n        @cached\n        class {}: pass\nfinally:\n    def z(): pass",
)
GO = ("var {} = 1", "type {} struct{{}}", "func (t T) {}() {{}}", "func {}() {{ type B int }}")
FAULTS = (
    {"name": None},
    {"kind": ...},
    {"schemaVersion": ...},
    {"schemaVersion": "2.0.0"},
    {"line_strat": 3},
    {"sourcePath": "../a.py"},
    {"sourcePath": ..., "source_path": "a.py"},
    {"hashInputs": ["name"]},
    {"hashInputs": ["content", "nmae"]},
    {"line_start": "3"},
    {"line_start": True},
    {"line_start": 9, "line_end": 3},
    {"content": "a\0b"},
    {"content": ""},
    {"tenantId": "Acme"},
    {"embedding": [0.1]},
    {"embedding": None},
)
GOOD = ({"line_start": 3, "line_end": 3}, {"customMeta": {"embedding": "old"}}, {"className": "A"})


@audit("3.1", count=150)
def split_definitions(random: Draws) -> Call:
    """Draw the lines of a file in any order, and what begins a definition in its language."""
    from course_lib.loader.languages import LANGUAGES

    language = random.choice(sorted(LINES))
    lines = [_named(random, line) for line in random.choices(LINES[language], k=12)]
    end = random.choice(("\n", "\n", "\r\n"))
    source = end.join(lines[: random.randrange(13)]) + random.choice(("", end))
    return call(source, LANGUAGES[language].starts)


def _named(random: Draws, line: str) -> str:
    return line.format(random.choice(("yes", "no", "a", "B")))


def _definitions(
    function: Callable[..., Any], source: str, language: str, types: Any, is_last: bool
) -> list[Any]:
    """Return type and place of the nodes found in a source, or in the last of its outermost."""
    from course_lib.loader.languages import parse_source

    root = parse_source(source, language)
    assert root is not None
    found = function(root.named_children[-1] if is_last else root, types)
    return [[node.type, node.start_byte, node.end_byte] for node in found]


PASTE = """root = parse_source({0}, {1})
find_definitions(root.named_children[-1] if {3} else root, {2})"""


@audit("3.2", count=60, apply=_definitions, paste=PASTE)
def find_definitions(random: Draws) -> Call:
    """Draw definitions within others and within none, and at times very many brackets."""
    from course_lib.loader.languages import LANGUAGES

    language = random.choice(("python", "python", "go"))
    parts = random.choices(PYTHON if language == "python" else GO, k=random.randrange(6))
    if language == "python" and chance(random, 0.1):
        parts.insert(0, f"x = {'(' * 1500}1{')' * 1500}")
    types = dict(LANGUAGES[language].definitions)
    kept = some(random, sorted(types)) if chance(random, 0.3) else types
    source = "\n".join(_named(random, part) for part in parts)
    head = "package a\n" if language == "go" else "import os\n"
    is_last = chance(random, 0.2)
    return call(f"{head}{source}\n", language, {name: types[name] for name in kept}, is_last)


def _verdict(function: Callable[..., Any], record: Any, where: str) -> Any:
    """Return a chunk as it is, and of a rejection what the check looks at."""
    found = function(record, where)
    if type(found).__name__ != "Rejection":
        return found
    return [found.code, found.record, [problem.field for problem in found.problems]]


@audit("3.3", count=120, apply=_verdict)
def check_record(random: Draws) -> Call:
    """Draw a record with up to three faults, as text, bytes or values, and what is no record."""
    where = f"line {random.randrange(99)}"
    if chance(random, 0.15):
        odd = ("oops", "", "[]", "3", "null", '"an embedding"', '{"name": ', "[" * 5000)
        return call(random.choice(odd), where)
    values: dict[str, Any] = {**RECORD, "content": text(random, 3), "name": text(random, 1)}
    for _ in range(random.choice((0, 1, 1, 2, 3))):
        values.update(random.choice((FAULTS[random.turn(len(FAULTS))], random.choice(GOOD))))
    record = {key: value for key, value in values.items() if value is not ...}
    written = json.dumps(record)
    return call(random.choice((written, written.encode(), record)), where)


@audit("3.4", count=80)
def content_hash(random: Draws) -> Call:
    """Draw a chunk, which of its fields are hashed, and values that are no strings."""
    from course_lib.records import Chunk

    names = ["content", "name", "sourcePath", "tenantId", "className", "line_start", "customMeta"]
    inputs = ["content"] if chance(random, 0.2) else some(random, names)
    leaves = ("ü", 1, None, True, [2, "x"], {"z": 1, "b": {}})
    change: dict[str, Any] = {
        "tenantId": random.choice(("acme", "other")),
        "repoSlug": random.choice(("docs", "code")),
        "content": random.choice((text(random), " a  b\n", "a\r\n", "u\u0308")),
        "hashInputs": inputs if "content" in inputs else [*inputs, "content"],
    }
    if chance(random, 0.5):
        change |= {"line_start": random.randint(1, 200), "className": "Ä"}
    if chance(random, 0.7):
        change["customMeta"] = {name: random.choice(leaves) for name in some(random, "dbca")}
    return call(Chunk.model_validate(RECORD | change))
