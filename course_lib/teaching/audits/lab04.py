"""Lab 04: records that break the contract in many ways, and chunks whose fields are hashed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, chance, some, text
from course_lib.teaching.checks.lab04 import RECORD

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


def _verdict(function: Callable[..., Any], record: Any, where: str) -> Any:
    """Return a chunk as it is, and of a rejection what the check looks at."""
    found = function(record, where)
    if type(found).__name__ != "Rejection":
        return found
    return [found.code, found.record, [problem.field for problem in found.problems]]


@audit("4.1", count=120, apply=_verdict)
def check_record(random: Draws) -> Call:
    """Draw a record with up to three faults, as text, bytes or values, and what is not a record."""
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


@audit("4.2", count=80)
def content_hash(random: Draws) -> Call:
    """Draw a chunk, which of its fields are hashed, and values that are not strings."""
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
