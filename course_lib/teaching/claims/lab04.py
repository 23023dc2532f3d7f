"""What lab 04 says about its outputs."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claims, lists, numbers


def _hashes(shown: str) -> list[str]:
    return [line.split()[-1] for line in shown.splitlines() if line.startswith("acme")]


def _one_holds_two(raw: str, ours: str) -> bool:
    """Tell whether one piece of raw text begins within a definition and holds two others."""
    found = [(int(a), int(b)) for a, b in re.findall(r"\w+, lines (\d+)-(\d+)", ours)]
    pieces = [
        numbers(line)[:2] for line in raw.splitlines() if line.startswith("raw-text forecast")
    ]
    return 1 == sum(
        any(begin < first <= end for begin, end in found)
        and sum(first <= begin and end <= last for begin, end in found) == 2
        for first, last in pieces
    )


def _refused_with_its_own_code(parsed: str, judged: str) -> bool:
    (code,) = re.findall(r"^(KB_\w+) · the parser 'proto' is not registered$", parsed, re.M)
    return "KB_" in judged and code not in judged


def _costs_its_own_file(shown: str) -> bool:
    refused = re.findall(r"^([\w.]+) KB_", shown, re.MULTILINE)
    return refused == ["a.misplaced", "b.crashing"] and numbers(shown, after="c.proto") > [0]


CLAIMS: Claims = {
    "accepted = []": {
        "The sixth record is correct, but it is lost because the third one is wrong": (
            lambda shown: "stopped: ('line_strat',)" in shown and "2 accepted" in shown
        ),
        "by default, pydantic converts": lambda shown: lists(shown)[-1] == [52, 52],
    },
    'check_record = lab.use("check_record")': {
        "Every error becomes a return value": "2 accepted, 4 rejected",
    },
    "def in_a_new_process": {
        "Python starts every process with another random seed for hash, so the numbers differ": (
            "is the same: False"
        ),
        "different records can have the same SHA-256": lambda shown: (
            len({*shown.split("two tenants: ")[1].split()}) == 1
        ),
    },
    'content_hash = lab.use("content_hash")': {
        "The two tenants have different hashes now": lambda shown: (
            _hashes(shown)[0] != _hashes(shown)[2]
        ),
        "A record that moved to another line keeps its hash": lambda shown: (
            _hashes(shown)[0] == _hashes(shown)[1]
        ),
    },
    'deep = check_record("[" * 100_000': {
        "The line is rejected like any other wrong record": "KB_PARSED_CHUNK_INVALID ['record']",
    },
    "backwards = json.dumps": {
        "It cannot say that one number must not be less than another": lambda shown: (
            "record 7: accepted by the schema, rejected by check_record" in shown
            and len(re.findall(r": (accepted|rejected) by the schema, \1 by", shown)) == 6
        ),
    },
    "def changed(split)": {
        "The new line at the top moves all fixed cuts, so every piece changes": lambda shown: (
            numbers(shown, after="cuts every 512 characters")[0] == 100
        ),
        "With definitions, only the edited pieces get a new hash": lambda shown: (
            numbers(shown, after="definitions, without customMeta")[0] < 25
        ),
        "so a piece that only moved gets a new hash, too": lambda shown: (
            numbers(shown, after="definitions, with customMeta")[0] == 100
        ),
    },
    ("registry, heron = Registry()", "labels = [f"): {
        "one of them begins inside a definition and holds two others": _one_holds_two,
    },
    "labels = [f": {
        "message Window is in a comment, so it is not a definition": (
            "'message Window' is in Window, lines 9-14"
        ),
    },
    ("registry, heron = Registry()", 'check_record = lab.use("check_record")'): {
        "the file is rejected with its own code": _refused_with_its_own_code,
    },
    "from course_lib.loader.registry import stamp": {
        "The server replaces the tenant of each record": "wrong-tenant became acme",
        "Everything else is the same": "the same both ways: True []",
    },
    "misplaced = ProtoParser()": {
        "A wrong parser affects only its own files, never the others": _costs_its_own_file,
    },
}
