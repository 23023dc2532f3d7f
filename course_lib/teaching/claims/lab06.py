"""What lab 06 says about its outputs: doubles, orders, recall, rows written, plans, pages."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claims, numbers, plans

STALE = "# the third night"
HALF = "second[len(second) // 2]"
REPLACED = 'print("repair:'


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


CLAIMS: Claims = {
    "# the second night": {
        "so each night adds all chunks again": lambda shown: (
            numbers(shown.splitlines()[-1]) == [242] and len(set(shown.splitlines()[:5])) < 4
        ),
    },
    STALE: {
        "The page no longer says this, but the search still finds it": lambda shown: (
            shown.splitlines()[-1] == "is it in the page? False"
        ),
    },
    'for operator in ("<->"': {
        "the difference is (−2, −4, 0), so <-> is √20": lambda shown: (
            numbers(shown, "slant")[0] == round(20**0.5, 2)
        ),
        "The inner product is 3, so <#> is −3": lambda shown: (
            numbers(shown.splitlines()[1], "slant")[0] == -3
        ),
        "so <=> is 1 − 0.6": lambda shown: numbers(shown.splitlines()[2], "slant")[0] == 0.4,
        "Three operators give three orders": lambda shown: (
            len({tuple(order) for order in _orders(shown)}) == 3
        ),
        "The inner product puts the longest vector first": lambda shown: (
            _orders(shown)[1][0].strip() == "slant"
        ),
    },
    "with notices_shown(conn)": {
        "The notice above said so": lambda shown: (
            shown.count("NOTICE") == 1 and "low recall" in shown
        ),
    },
    "Recall of IVFFlat": {
        "Without rows, pgvector chooses the centres at random": lambda shown: (
            _gap(shown, 1) < 0.95 and _gap(shown, 2) < 0.95
        ),
        "with it both tables find less": lambda shown: all(
            _recall(shown, table, 1) < _recall(shown, table, 2) for table in ("early", "late")
        ),
    },
    "ON CONFLICT DO NOTHING": {
        "With the text in the key, the edited chunk counts as another chunk": lambda shown: (
            re.findall(r"\[(\d), (\d), (\d)\]", shown)
            == [("1", "0", "0"), ("1", "1", "1"), ("1", "1", "0")]
        ),
    },
    "rows written": {
        "Now a second run gives the same result as one run": lambda shown: (
            numbers(shown, "night 1")[0] == numbers(shown, "night 1")[1] > 0
            and numbers(shown, "night 2") == [0, numbers(shown, "night 1")[1]]
        ),
    },
    HALF: {
        "A page that is half old and half new": lambda shown: (
            0 < numbers(shown.splitlines()[-1])[1] < numbers(shown.splitlines()[-1])[0]
        ),
    },
    (REPLACED, HALF): {
        "The repair restored what the failed loop had overwritten": lambda shown, half: (
            numbers(shown, "repair:") == [numbers(half.splitlines()[-1])[1], 0]
        ),
        "The broken edition changed nothing": lambda shown, half: (
            numbers(shown, "the table:")[:2] == [numbers(half.splitlines()[-1])[0], 0]
        ),
    },
    (REPLACED, STALE): {
        "the shorter page lost its last rows": lambda shown, stale: (
            numbers(shown, "shorter page:")[1] > 0
            and shown.splitlines()[-1] != stale.splitlines()[0]
        ),
        "One row was written": lambda shown, stale: numbers(shown, "shorter page:")[0] == 1,
    },
    "INSERT INTO pieces": {
        "left out all partitions but one before it read a row": lambda shown: (
            [plan.count(" on pieces_") for plan in plans(shown)] == [3, 1]
            and "on pieces_documentation" in plans(shown)[1]
        ),
    },
    "CREATE TABLE kinds": {
        "PostgreSQL keeps statistics about columns": lambda shown: all(
            expected == found for expected, found in _estimates(shown, "kind =")
        ),
        "it assumes a fixed share of the rows for every value": lambda shown: (
            len({expected for expected, _ in _estimates(shown, "metadata")}) == 1
            and len({found for _, found in _estimates(shown, "metadata")}) == 3
        ),
    },
    "CREATE INDEX kinds_hnsw": {
        "With the right estimate, PostgreSQL uses the index": lambda shown: (
            "Index Scan using kinds_hnsw" in plans(shown)[0]
        ),
        "it expects that few rows will be left, reads the whole table and sorts": lambda shown: (
            "Seq Scan on kinds" in plans(shown)[1]
            and "Sort" in plans(shown)[1]
            and numbers(plans(shown)[1], "Seq Scan on kinds,")[0] * 50
            < numbers(plans(shown)[1], "Seq Scan on kinds,")[1]
        ),
    },
    "STORAGE {storage}": {
        "It reads several times as many": lambda shown: (
            numbers(shown, "external")[0] > 2 * numbers(shown, "plain")[0]
        ),
    },
    "[1,nan,2]": {
        "pgvector rejects NaN, as you saw. It accepts zeros": lambda shown: (
            "NaN not allowed" in shown and "[0,0,0]    is taken" in shown
        ),
        "It is even the first": lambda shown: shown.splitlines()[-1].startswith("[('blank', nan)"),
    },
    "print(CreateTable(table)": {
        "Two parts are missing": lambda shown: "WHERE" not in shown and "updated_at" not in shown,
    },
    "# two nights": {
        "calls replace_document for one document after the other": lambda shown: (
            [numbers(line) for line in shown.splitlines()] == [[121, 0, 0, 0], [0, 0, 121, 0]]
        ),
    },
    "def search_in_memory": {
        "has to find what comparing in memory found": lambda shown: (
            numbers(shown, "order:")[0] >= numbers(shown, "order:")[1] - 1
        ),
    },
}
