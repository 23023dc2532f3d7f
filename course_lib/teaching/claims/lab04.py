"""What lab 04 says about its outputs."""

from __future__ import annotations

import ast
import re

from course_lib.teaching.claims import Claim, numbers


def _lists(shown: str) -> list[list[object]]:
    """Return the lists that a cell has printed, each in a line of its own."""
    return [ast.literal_eval(found) for found in re.findall(r"\[.*\]", shown)]


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


CLAIMS = (
    Claim(
        "The sixth record is correct, but it is lost because the third one is wrong",
        "accepted = []",
        holds=lambda shown: "stopped: ('line_strat',)" in shown and "2 accepted" in shown,
    ),
    Claim(
        "by default, pydantic converts",
        "accepted = []",
        holds=lambda shown: _lists(shown)[-1] == [52, 52],
    ),
    Claim(
        "Every error becomes a return value",
        'check_record = lab.use("check_record")',
        holds=lambda shown: "2 accepted, 4 rejected" in shown,
    ),
    Claim(
        "Python starts every process with another random seed for hash, so the numbers differ",
        "def in_a_new_process",
        holds=lambda shown: "is the same: False" in shown,
    ),
    Claim(
        "different records can have the same SHA-256",
        "def in_a_new_process",
        holds=lambda shown: len({*shown.split("two tenants: ")[1].split()}) == 1,
    ),
    Claim(
        "The two tenants have different hashes now",
        'content_hash = lab.use("content_hash")',
        holds=lambda shown: _hashes(shown)[0] != _hashes(shown)[2],
    ),
    Claim(
        "A record that moved to another line keeps its hash",
        'content_hash = lab.use("content_hash")',
        holds=lambda shown: _hashes(shown)[0] == _hashes(shown)[1],
    ),
    Claim(
        "The line is rejected like any other wrong record",
        'deep = check_record("[" * 100_000',
        holds=lambda shown: "KB_PARSED_CHUNK_INVALID ['record']" in shown,
    ),
    Claim(
        "It cannot say that one number must not be less than another",
        "backwards = json.dumps",
        holds=lambda shown: (
            "record 7: accepted by the schema, rejected by check_record" in shown
            and len(re.findall(r": (accepted|rejected) by the schema, \1 by", shown)) == 6
        ),
    ),
    Claim(
        "The new line at the top moves all fixed cuts, so every piece changes",
        "def changed(split)",
        holds=lambda shown: numbers(shown, after="cuts every 512 characters")[0] == 100,
    ),
    Claim(
        "With definitions, only the edited pieces get a new hash",
        "def changed(split)",
        holds=lambda shown: numbers(shown, after="definitions, without customMeta")[0] < 25,
    ),
    Claim(
        "so a piece that only moved gets a new hash, too",
        "def changed(split)",
        holds=lambda shown: numbers(shown, after="definitions, with customMeta")[0] == 100,
    ),
    Claim(
        "one of them begins inside a definition and holds two others",
        "registry, heron = Registry()",
        "labels = [f",
        holds=_one_holds_two,
    ),
    Claim(
        "message Window is in a comment, so it is not a definition",
        "labels = [f",
        holds=lambda shown: "'message Window' is in Window, lines 9-14" in shown,
    ),
    Claim(
        "the file is rejected with its own code",
        "registry, heron = Registry()",
        'check_record = lab.use("check_record")',
        holds=_refused_with_its_own_code,
    ),
    Claim(
        "The server replaces the tenant of each record",
        "from course_lib.loader.registry import stamp",
        holds=lambda shown: "wrong-tenant became acme" in shown,
    ),
    Claim(
        "Everything else is the same",
        "from course_lib.loader.registry import stamp",
        holds=lambda shown: "the same both ways: True []" in shown,
    ),
    Claim(
        "A wrong parser affects only its own files, never the others",
        "misplaced = ProtoParser()",
        holds=_costs_its_own_file,
    ),
)
