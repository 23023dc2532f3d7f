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
    return refused == ["a.thief", "b.careless"] and numbers(shown, after="c.proto") > [0]


CLAIMS = (
    Claim(
        "The flawless sixth record is lost because a stranger's third one is broken",
        "taken = []",
        holds=lambda shown: "stopped: ('line_strat',)" in shown and "2 taken" in shown,
    ),
    Claim(
        "pydantic makes a number of",
        "taken = []",
        holds=lambda shown: _lists(shown)[-1] == [52, 52],
    ),
    Claim(
        "Whatever goes wrong comes back as a value",
        'check_record = lab.use("check_record")',
        holds=lambda shown: "2 taken, and 4 refused" in shown,
    ),
    Claim(
        "is salted anew in every process",
        "def in_a_new_process",
        holds=lambda shown: "is the same: False" in shown,
    ),
    Claim(
        "different records can share a SHA-256",
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
        "are a broken record like any other",
        'deep = check_record("[" * 100_000',
        holds=lambda shown: "KB_PARSED_CHUNK_INVALID ['record']" in shown,
    ),
    Claim(
        "That one number must not be less than another is beyond it",
        "backwards = json.dumps",
        holds=lambda shown: (
            "record 7: the schema says taken, check_record says refused" in shown
            and len(re.findall("says (taken|refused), check_record says \\1", shown)) == 6
        ),
    ),
    Claim(
        "Fixed cuts all move with the first new line",
        "def changed(split)",
        holds=lambda shown: numbers(shown, after="cuts every 512 characters")[0] == 100,
    ),
    Claim(
        "Definitions stay what they are, if the hash says so",
        "def changed(split)",
        holds=lambda shown: numbers(shown, after="definitions, lean")[0] < 25,
    ),
    Claim(
        "what merely moved gets a new hash as well",
        "def changed(split)",
        holds=lambda shown: numbers(shown, after="definitions, customMeta")[0] == 100,
    ),
    Claim(
        "of which one begins within a definition and holds two others",
        "registry, heron = Registry()",
        "labels = [f",
        holds=_one_holds_two,
    ),
    Claim(
        "the file is refused with a code of its own",
        "registry, heron = Registry()",
        'check_record = lab.use("check_record")',
        holds=_refused_with_its_own_code,
    ),
    Claim(
        "The server overwrites the claim",
        "from course_lib.loader.registry import stamp",
        holds=lambda shown: "somebody-else became acme" in shown,
    ),
    Claim(
        "Everything else is the same",
        "from course_lib.loader.registry import stamp",
        holds=lambda shown: "the same either way: True []" in shown,
    ),
    Claim(
        "A broken parser costs its own file, never the others",
        "thief = ProtoParser()",
        holds=_costs_its_own_file,
    ),
)
