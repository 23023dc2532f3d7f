"""What people and programs send by mistake or on purpose: texts, bytes, JSON values and records.

Each function takes a random generator and gives one input, so that a seed gives the same again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from random import Random
from typing import Any

from course_lib.settings import project_root

Text = Callable[[Random], str]

SAMPLES = (
    "documents/feature-stores.md",
    "documents/what-is-mlops.md",
    "manifests/training-runs.yaml",
    "manifests/model-registry.yaml",
    "parsers/toml_sections.py",
    "lockfiles/descriptions.jsonl",
)
SIGNS = ("\0\x01\x1b\x7f\x85\xa0\xad\u200b\u200d\u2028\u2029\u202e\ufeff\ufffd\ufffe"
         "\t\v\f\r\n \"'`#-_*|>:;,.&%@!?{}[]()<>\\/$~^=+"
         "aAéßЖ中日本ﷺ🙂\U0010ffff")  # fmt: skip


def random_text(rng: Random) -> str:
    """Any characters in any order."""
    return "".join(rng.choices(SIGNS, k=rng.randint(0, 400)))


def half_surrogates(rng: Random) -> str:
    """Text with halves of surrogate pairs, as JSON's escapes and file names can bring."""
    parts = [chr(rng.randint(0xD800, 0xDFFF)), "word ", "\n\n", "# Title\n"]
    return "".join(rng.choices(parts, k=rng.randint(1, 40)))


def nul_bytes(rng: Random) -> str:
    """Text with NUL characters."""
    return _inserted(rng, sample(rng)[:2000], "\0")


def byte_order_marks(rng: Random) -> str:
    """A byte order mark at the front, and more where they do not belong."""
    return "\ufeff" + _inserted(rng, sample(rng)[:2000], "\ufeff")


def huge_line(rng: Random) -> str:
    """One line without an end: without blanks, with them, of one sign, or of Base64."""
    unit = rng.choice(["a", "ab ", "é", "x=1;", "- ", "[", "#", '"', "data: ", "&a ", "🙂"])
    return unit * rng.randint(1_000, 15_000)


def deep_yaml(rng: Random) -> str:
    """Blocks in blocks, or flow in flow."""
    depth = rng.randint(50, 1_500)
    way = rng.randrange(4)
    if way == 0:
        return "".join(f"{' ' * level}k:\n" for level in range(min(depth, 1_500)))
    opened = ["[", "{a: ", "- "][way - 1]
    return "kind: A\ndata: " * (way < 3) + opened * depth + rng.choice(["", "]" * depth, "}"])


def anchor_bomb(rng: Random) -> str:
    """A billion laughs: each line refers to the one before, many times."""
    width, levels = rng.randint(5, 12), rng.randint(6, 30)
    lines = ["kind: ConfigMap", "a0: &a0 [lol, lol]"]
    for level in range(1, levels):
        lines.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * width)}]")
    if rng.random() < 0.3:
        lines.append("metadata: &m {name: *m, <<: *m}")
    return "\n".join(lines)


def unclosed(rng: Random) -> str:
    """What is opened and never closed, in some language."""
    opened = [
        "```", '"""', "'''", "<<EOF", "<<'EOF'", "((", "{", "/*", "`", "$(", "<!--", "case x in",
        "if true; then", "def f(", "func f() {", "|", ">", "{{", "%{", "[[", '"', "'", "~~~",
    ]  # fmt: skip
    parts = rng.choices([*opened, "\n", "\n\n", "word", "    ", "# x\n", "---\n", "\t"], k=60)
    return "".join(parts)


def many_signs(rng: Random) -> str:
    """The same structure thousands of times."""
    units = [
        "---\n", "# a\n", "#" * 7 + "\n", "- ", "> ", "| a ", "\n", "...\n", "\r", "  \n",
        "def f(): pass\n", "class A:\n", "{}\n", "a: b\n", "func f() {}\n", "f() { :; }\n",
        "<<A\n", "@x\n", "if x:\n",
    ]  # fmt: skip
    unit = rng.choice(units)
    return unit * rng.randint(300, 2_000)


def deep_code(rng: Random) -> str:
    """Definitions in definitions, brackets in brackets."""
    depth = rng.randint(20, 200)
    way = rng.randrange(4)
    if way == 0:
        return "".join(f"{'  ' * level}def f{level}():\n" for level in range(depth))
    if way == 1:
        return "x = " + "(" * depth + "1" + ")" * rng.randint(0, depth)
    if way == 2:
        return "package a\n" + "func f() { if x { " * depth
    return "f() {\n" * depth + "}\n" * rng.randint(0, depth)


def long_names(rng: Random) -> str:
    """A resource whose name, kind or version is longer than any piece, in each of its pieces."""
    name = rng.choice(["n", "w ", "\\", "é", "- "]) * rng.randint(20_000, 200_000)
    lines = ["apiVersion: v1", "kind: Pod", "metadata:", "  name: web"]
    at = rng.randrange(len(lines))
    lines[at] = lines[at].split(":")[0] + rng.choice([": ", ': "', ": '"]) + name
    return "\n".join(lines)


def escaped_notebook(rng: Random) -> str:
    """A notebook whose lines JSON has written otherwise than Jupyter does."""
    lines = [f"{rng.choice('éжx')}{number}\n" for number in range(rng.randint(1_000, 9_000))]
    cells = [{"cell_type": rng.choice(["code", "markdown"]), "source": lines}]
    return json.dumps({"nbformat": 4, "cells": cells}).replace("x", rng.choice(["x", "\\u0078"]))


def damaged(rng: Random) -> str:
    """A real file, cut, doubled, shuffled or with foreign signs."""
    text = sample(rng)
    for _ in range(rng.randint(1, 6)):
        at, to = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        end = rng.choice(["\r\n", "\r", "\n\t", "\u2028"])
        ways = [
            text[:at] + text[to:],
            text[:to],
            text[:at] + text[at:to] * 2 + text[to:],
            text[:at] + rng.choice(SIGNS) * rng.randint(1, 9) + text[at:],
            text.replace("\n", end, rng.randint(1, 99)),
        ]
        text = rng.choice(ways)[:12_000] or "x"
    return text


TEXTS: dict[str, Text] = {
    "random characters": random_text,
    "half surrogates": half_surrogates,
    "NUL characters": nul_bytes,
    "byte order marks": byte_order_marks,
    "a huge line": huge_line,
    "deep YAML": deep_yaml,
    "anchor bombs": anchor_bomb,
    "unclosed": unclosed,
    "thousands of one thing": many_signs,
    "deep code": deep_code,
    "long names": long_names,
    "escaped notebooks": escaped_notebook,
    "damaged files": damaged,
}


@lru_cache
def _samples() -> tuple[str, ...]:
    data = project_root() / "data"
    return tuple((data / name).read_text(encoding="utf-8") for name in SAMPLES)


def sample(rng: Random) -> str:
    """Return a part of a real file."""
    text = rng.choice(_samples())
    at = rng.randrange(len(text))
    return text[at : at + rng.randint(200, 6_000)]


def some_text(rng: Random) -> tuple[str, str]:
    """Return a kind of bad text, and one."""
    kind = rng.choice(list(TEXTS))
    return kind, TEXTS[kind](rng)


def some_bytes(rng: Random) -> tuple[str, bytes]:
    """Return a kind of bad bytes, and some: broken UTF-8, other encodings, no text at all."""
    way = rng.randrange(5)
    if way == 0:
        return "random bytes", rng.randbytes(rng.randint(0, 3_000))
    if way == 1:
        raw = bytearray(sample(rng).encode())
        for _ in range(rng.randint(1, 5)):
            raw[rng.randrange(len(raw))] = rng.randrange(128, 256)
        return "broken UTF-8", bytes(raw)
    if way == 2:
        encoding = rng.choice(["utf-16", "utf-32", "latin-1", "utf-7", "cp500"])
        return "another encoding", f"Äpfel {sample(rng)}".encode(encoding, "replace")
    kind, text = some_text(rng)
    return kind, text.encode("utf-8", "surrogatepass")


def _inserted(rng: Random, text: str, sign: str) -> str:
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        text = text[:at] + sign + text[at:]
    return text


def some_value(rng: Random, depth: int = 0) -> Any:
    """Return a JSON value of any type, often one that nobody expects."""
    simple: list[Any] = [
        None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 10**400, 1.5, -0.0, 1e308, "", " ",
        "x", "null", "../../etc/passwd", "/etc/passwd", "C:\\x", "a\0b", "\ud800", "é" * 1200,
        "x" * 5_000, "1.0.0", "2026-99-99", "'; DROP TABLE documents; --", "${jndi:x}", "%s%n",
        [], {}, [None], {"": 0}, "http://", "javascript:alert(1)", "\u202e", "true", "2026-01-01",
    ]  # fmt: skip
    draw = rng.random()
    if depth > 3 or draw < 0.7:
        return rng.choice(simple)
    if draw < 0.8:
        return [some_value(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    if draw < 0.9:
        return {str(rng.choice(simple)): some_value(rng, depth + 1) for _ in range(3)}
    return some_text(rng)[1]


def good_record(rng: Random) -> dict[str, Any]:
    """Return a record that keeps to the contract."""
    return {
        "schemaVersion": "1.0.0",
        "tenantId": "local",
        "repoSlug": "mill",
        "rootKind": "external-source",
        "sourcePath": f"wings/{rng.randrange(10**9)}.md",
        "content": "The mill turns its wings into the wind.",
        "hashInputs": ["content"],
        "parserId": "markdown",
        "parserVersion": "1.0.0",
        "kind": "doc-section",
        "name": "Wings",
        "line_start": 1,
        "line_end": 2,
        "customMeta": {"chunkIndex": 0, "header": "# Mill"},
    }


META = ("chunkIndex", "branch", "namespace", "commitSha", "citationUrl", "header", "x")


def bad_record(rng: Random) -> tuple[str, dict[str, Any]]:
    """Return how a record breaks the contract (or only strains it), and that record."""
    record = good_record(rng)
    field = rng.choice([*record, "className", "extends"])
    ways: dict[str, Callable[[], Any]] = {
        "a field is missing": lambda: record.pop(field, None),
        "a field of another type or value": lambda: record.update({field: some_value(rng)}),
        "an unknown field": lambda: record.update({some_text(rng)[1][:50]: some_value(rng)}),
        "lines that cannot be": lambda: record.update(
            line_start=rng.choice([0, -3, 2**70, "1", True, 1.0, 9]),
            line_end=rng.choice([1, -1, None]),
        ),
        "an unknown enumeration value": lambda: record.update(
            {rng.choice(["rootKind", "schemaVersion"]): rng.choice(["", "2.0.0", "bare repo", 1])}
        ),
        "a path that leads out": lambda: record.update(
            sourcePath=rng.choice(["../a", "/a", "a/../../b", "a\\b", "", ".", "a/..", "é" * 900])
        ),
        "metadata of any kind": lambda: record.update(
            customMeta={rng.choice(META): some_value(rng)}
        ),
        "a vector of its own": lambda: record.update(embedding=[0.1] * rng.randint(0, 5)),
        "a bad text": lambda: record.update(
            {rng.choice(["content", "name", "kind"]): some_text(rng)[1]}
        ),
    }
    way = rng.choice(list(ways))
    ways[way]()
    return way, record


def bad_json(rng: Random, value: Any) -> tuple[str, bytes]:
    """Return a kind of bad JSON, and a value written so."""
    text = json.dumps(value)
    cut = rng.randint(0, len(text))
    ways: dict[str, Callable[[], str | bytes]] = {
        "cut off": lambda: text[:cut],
        "a sign too many": lambda: text[:cut] + rng.choice('{}[]",:\\\0\x01é') + text[cut:],
        "deep": lambda: rng.choice(["[", '{"a":', '[{"a":']) * rng.choice([50, 2_000, 100_000]),
        "numbers that are none": lambda: text.replace(
            "1", rng.choice(["NaN", "-Infinity", "1e999", "01"])
        ),
        "a huge number": lambda: text.replace("1", "9" * rng.choice([400, 5_000, 20_000]), 1),
        "keys twice": lambda: "{" + text[1:-1] + "," + text[1:-1] + "}",
        "no object": lambda: rng.choice(["null", "[]", '"x"', "7", "", " ", "true", "{}", "[[]]"]),
        "not UTF-8": lambda: text.encode()[:cut] + rng.choice([b"\xff", b"\xc3(", b"\xed\xa0\x80"]),
        "another encoding": lambda: text.encode("utf-16"),
        "a byte order mark": lambda: "\ufeff" + text,
    }
    way = rng.choice(list(ways))
    made = ways[way]()
    return way, made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")
