"""What lab 06 says about its outputs: doubles, orders, recall, rows written, plans, pages."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claim, numbers

SECOND_NIGHT = "# the second night"
STALE = "# the third night"
OPERATORS = 'for operator in ("<->"'
NOTICE = "with notices_shown(conn)"
EARLY = "Recall of IVFFlat"
TAKEN = "ON CONFLICT DO NOTHING"
NIGHTS = "rows written"
HALF = "second[len(second) // 2]"
REPLACED = 'print("repair:'
PRUNED = "INSERT INTO pieces"
KINDS = "CREATE TABLE kinds"
WALKED = "CREATE INDEX kinds_hnsw"
STORED = "STORAGE {storage}"
ZERO = "[1,nan,2]"
FIELD = "print(CreateTable(table)"
WRITTEN = "# two nights"
SAME = "def search_in_memory"


def _orders(shown: str) -> list[list[str]]:
    """Return the names in the order of each operator."""
    return [re.findall(r"([a-z ]+) -?\d", line.partition(" ")[2]) for line in shown.splitlines()]


def _recall(shown: str, table: str, probes: int) -> float:
    return numbers(shown, after=f"probes = {probes}, {table}")[0]


def _gap(shown: str, probes: int) -> float:
    return _recall(shown, "early", probes) / _recall(shown, "late", probes)


def _estimates(shown: str, of: str) -> list[tuple[float, float]]:
    """Return expected and found rows of the filters on a column, or on a field."""
    lines = [line for line in shown.splitlines() if line.startswith(of)]
    found = [re.findall(r"(\d+) (?:expected|found)", line) for line in lines]
    return [(float(expected), float(rows)) for expected, rows in found]


def _plans(shown: str) -> list[str]:
    return [line for line in shown.splitlines() if "Query plan" in line]


CLAIMS = (
    Claim(
        "so each night adds all chunks again",
        SECOND_NIGHT,
        holds=lambda shown: (
            numbers(shown.splitlines()[-1]) == [242] and len(set(shown.splitlines()[:5])) < 4
        ),
    ),
    Claim(
        "The page no longer says this, but the search still finds it",
        STALE,
        holds=lambda shown: shown.splitlines()[-1] == "is it in the page? False",
    ),
    Claim(
        "the difference is (−2, −4, 0), so <-> is √20",
        OPERATORS,
        holds=lambda shown: numbers(shown, "slant")[0] == round(20**0.5, 2),
    ),
    Claim(
        "The inner product is 3, so <#> is −3",
        OPERATORS,
        holds=lambda shown: numbers(shown.splitlines()[1], "slant")[0] == -3,
    ),
    Claim(
        "so <=> is 1 − 0.6",
        OPERATORS,
        holds=lambda shown: numbers(shown.splitlines()[2], "slant")[0] == 0.4,
    ),
    Claim(
        "Three operators give three orders",
        OPERATORS,
        holds=lambda shown: len({tuple(order) for order in _orders(shown)}) == 3,
    ),
    Claim(
        "The inner product puts the longest vector first",
        OPERATORS,
        holds=lambda shown: _orders(shown)[1][0].strip() == "slant",
    ),
    Claim(
        "The notice above said so",
        NOTICE,
        holds=lambda shown: shown.count("NOTICE") == 1 and "low recall" in shown,
    ),
    Claim(
        "Without rows, pgvector chooses the centres at random",
        EARLY,
        holds=lambda shown: _gap(shown, 1) < 0.95 and _gap(shown, 2) < 0.95,
    ),
    Claim(
        "with it both tables find less",
        EARLY,
        holds=lambda shown: all(
            _recall(shown, table, 1) < _recall(shown, table, 2) for table in ("early", "late")
        ),
    ),
    Claim(
        "With the text in the key, the edited chunk counts as another chunk",
        TAKEN,
        holds=lambda shown: (
            re.findall(r"\[(\d), (\d), (\d)\]", shown)
            == [("1", "0", "0"), ("1", "1", "1"), ("1", "1", "0")]
        ),
    ),
    Claim(
        "Now a second run gives the same result as one run",
        NIGHTS,
        holds=lambda shown: (
            numbers(shown, "night 1")[0] == numbers(shown, "night 1")[1] > 0
            and numbers(shown, "night 2") == [0, numbers(shown, "night 1")[1]]
        ),
    ),
    Claim(
        "A page that is half old and half new",
        HALF,
        holds=lambda shown: (
            0 < numbers(shown.splitlines()[-1])[1] < numbers(shown.splitlines()[-1])[0]
        ),
    ),
    Claim(
        "The repair restored what the failed loop had overwritten",
        REPLACED,
        HALF,
        holds=lambda shown, half: (
            numbers(shown, "repair:") == [numbers(half.splitlines()[-1])[1], 0]
        ),
    ),
    Claim(
        "The broken edition changed nothing",
        REPLACED,
        HALF,
        holds=lambda shown, half: (
            numbers(shown, "the table:")[:2] == [numbers(half.splitlines()[-1])[0], 0]
        ),
    ),
    Claim(
        "the shorter page lost its last rows",
        REPLACED,
        STALE,
        holds=lambda shown, stale: (
            numbers(shown, "shorter page:")[1] > 0
            and shown.splitlines()[-1] != stale.splitlines()[0]
        ),
    ),
    Claim(
        "left out all partitions but one before it read a row",
        PRUNED,
        holds=lambda shown: (
            [plan.count(" on pieces_") for plan in _plans(shown)] == [3, 1]
            and "on pieces_documentation" in _plans(shown)[1]
        ),
    ),
    Claim(
        "PostgreSQL keeps statistics about columns",
        KINDS,
        holds=lambda shown: all(
            expected == found for expected, found in _estimates(shown, "kind =")
        ),
    ),
    Claim(
        "it assumes a fixed share of the rows for every value",
        KINDS,
        holds=lambda shown: (
            len({expected for expected, _ in _estimates(shown, "metadata")}) == 1
            and len({found for _, found in _estimates(shown, "metadata")}) == 3
        ),
    ),
    Claim(
        "With the right estimate, PostgreSQL uses the index",
        WALKED,
        holds=lambda shown: "Index Scan using kinds_hnsw" in _plans(shown)[0],
    ),
    Claim(
        "it expects that few rows will be left, reads the whole table and sorts",
        WALKED,
        holds=lambda shown: (
            "Seq Scan on kinds" in _plans(shown)[1]
            and "Sort" in _plans(shown)[1]
            and numbers(_plans(shown)[1], "Seq Scan on kinds,")[0] * 50
            < numbers(_plans(shown)[1], "Seq Scan on kinds,")[1]
        ),
    ),
    Claim(
        "It reads several times as many",
        STORED,
        holds=lambda shown: numbers(shown, "external")[0] > 2 * numbers(shown, "plain")[0],
    ),
    Claim(
        "pgvector rejects NaN, as you saw. It accepts zeros",
        ZERO,
        holds=lambda shown: "NaN not allowed" in shown and "[0,0,0]    is taken" in shown,
    ),
    Claim(
        "It is even the first",
        ZERO,
        holds=lambda shown: shown.splitlines()[-1].startswith("[('blank', nan)"),
    ),
    Claim(
        "Two parts are missing",
        FIELD,
        holds=lambda shown: "WHERE" not in shown and "updated_at" not in shown,
    ),
    Claim(
        "calls your replace_document for one document after the other",
        WRITTEN,
        holds=lambda shown: (
            [numbers(line) for line in shown.splitlines()] == [[121, 0, 0, 0], [0, 0, 121, 0]]
        ),
    ),
    Claim(
        "has to find what comparing in memory found",
        SAME,
        holds=lambda shown: numbers(shown, "order:")[0] >= numbers(shown, "order:")[1] - 1,
    ),
)
