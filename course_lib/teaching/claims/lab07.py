"""What lab 07 says about its outputs: short lists, plans, pages read, recall."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claims, numbers, plans

COUNTED = "old_kept = count"
KNOBS = "The ten nearest of 12,000"
FAILURE = "archived = sections.replace"
PLANS = "sections_only"
THRESHOLD = "inside = "
GRAPH = "Index Scan using chunks_hnsw"


def _knob(shown: str, name: str) -> list[tuple[float, float]]:
    """Return recall and pages of each setting of an index, in the order of its knob."""
    lines = [line for line in shown.splitlines() if line.startswith(name)]
    return [(numbers(line, "recall")[0], numbers(line, "recall")[1]) for line in lines]


def _one(shown: str, setting: str) -> tuple[float, float]:
    recall, pages = numbers(shown, after=f"{setting:22} recall")
    return recall, pages


def _rises(shown: str, name: str) -> bool:
    found = _knob(shown, name)
    return len(found) == 5 and found == sorted(found)


def _flattens(shown: str, name: str) -> bool:
    first, second, *_, last_but_one, last = _knob(shown, name)
    early = (second[0] - first[0]) / (second[1] - first[1])
    return early > 2 * (last[0] - last_but_one[0]) / (last[1] - last_but_one[1])


def _finds_more_in_as_many_pages(shown: str) -> bool:
    graph, cells = _one(shown, "hnsw.ef_search = 40"), _one(shown, "ivfflat.probes = 3")
    return graph[0] > cells[0] + 0.02 and graph[1] < 1.2 * cells[1]


def _walk(shown: str, name: str, mode: str) -> tuple[float, float]:
    rows, _, pages = numbers(shown, after=f"{name:18} {mode:13}")
    return rows, pages


def _curve(shown: str, name: str) -> tuple[float, float]:
    first, last = re.findall(rf"{name} from (\S+) at \S+ to (\S+) at", shown)[0]
    return float(first), float(last)


CLAIMS: Claims = {
    "CREATE INDEX chunks_hnsw": {
        "there are nine comments": lambda shown: (
            9 * sum(numbers(shown, f"{repo} doc-section")[0] for repo in ("handbook", "forum"))
            == sum(numbers(shown, f"{repo} comment")[0] for repo in ("handbook", "forum"))
        ),
        "More than a thousand rows pass this filter": lambda shown: (
            sum(int(n) for n in re.findall(r"doc-section (\d+)", shown)) > 1000
        ),
    },
    "counts = rows_found(sections)": {
        "some lists are just shorter": lambda shown: 5 < numbers(shown)[0] < numbers(shown)[1] / 2,
    },
    "INSERT INTO tiny": {
        "the distance of c is 1 − 14 / (3 · 5)": lambda shown: (
            numbers(shown, "c  distance")[0] == round(1 - 14 / 15, 3)
        ),
        "a points in the same direction as the query": lambda shown: (
            numbers(shown, "a  distance") == [0, 1]
        ),
        "d is perpendicular": lambda shown: numbers(shown, "d  distance") == [1, 0],
    },
    'EXPLAIN (ANALYZE, BUFFERS) ") + nearest_sql()': {
        "an incremental sort": lambda shown: "Incremental Sort" in shown and GRAPH in shown,
        "Only few rows leave it, because LIMIT stops it early": lambda shown: (
            numbers(shown, f"{GRAPH} on document_chunks_documentation")[1] < 20
        ),
    },
    "unrelated = [": {
        "One word in common is enough": lambda shown: (
            len(shown.splitlines()) == 4
            and ["train" in line for line in shown.splitlines()] == [True, True, False, False]
        ),
    },
    "What a threshold does": {
        "Here this threshold removes nearly every answer": lambda shown: (
            _curve(shown, "answer kept")[1] < 0.05
        ),
        "Even at the best threshold, some of our own questions lose their answer": lambda shown: (
            numbers(shown, "\nat ")[1] < numbers(shown, "without a threshold,")[0]
            and numbers(shown, "\nat ")[2] < 100
        ),
        "The curve of our own questions does not start at 1": lambda shown: (
            _curve(shown, "answer kept")[0] < 0.9
        ),
    },
    "secret = ": {
        "the rest of it was read as SQL": lambda shown: (
            [("tulip" in line) for line in shown.splitlines()] == [False, True]
        ),
    },
    COUNTED: {
        "a value is never read as SQL": lambda shown: (
            shown.splitlines()[-1] == "0 leaked; 0 in no partition"
        ),
        "1,321 sections, and 12 archived ones": lambda shown: numbers(shown, "rows,") == [1321, 12],
    },
    KNOBS: {
        "a search finds more and reads more": lambda shown: (
            _rises(shown, "HNSW") and _rises(shown, "IVFFlat")
        ),
        "HNSW finds more than IVFFlat with 3 probes, and reads about as many pages": (
            _finds_more_in_as_many_pages
        ),
        "the first steps cost little, and the last per cent costs a lot": lambda shown: (
            _flattens(shown, "HNSW") and _flattens(shown, "IVFFlat")
        ),
    },
    FAILURE: {
        "Only then was the filter applied": lambda shown: (
            _walk(shown, "sections", "off")[0] < 4.9
            and _walk(shown, "archived sections", "off")[0] < 1
        ),
        "Both get all five rows": lambda shown: all(
            _walk(shown, name, "strict_order")[0] == 5 for name in ("sections", "archived sections")
        ),
        "For the sections the walk reads about 30 % more pages": lambda shown: (
            1.2
            < _walk(shown, "sections", "strict_order")[1] / _walk(shown, "sections", "off")[1]
            < 1.4
        ),
    },
    (FAILURE, KNOBS): {
        "For the archived ones it reads more pages than an exact scan": lambda shown, knobs: (
            _walk(shown, "archived sections", "strict_order")[1]
            > 2 * _one(knobs, "enable_indexscan = off")[1]
        ),
    },
    PLANS: {
        "without a filter, for sections, for archived sections": lambda shown: (
            [GRAPH in plan for plan in plans(shown)] == [True] * 3 + [False]
        ),
    },
    (PLANS, COUNTED): {
        "expects hundreds of rows. It cannot know that there are 12": lambda shown, counted: (
            100 < numbers(plans(shown)[2], "document_chunks,")[0] < 1000
            and numbers(counted, "sections,")[0] == 12
        ),
        "For a single column the estimate is right": lambda shown, counted: (
            numbers(plans(shown)[1], "document_chunks,")[0] == numbers(counted, "rows,")[0]
            and "121 rows expected and 121 found" in plans(shown)[3]
        ),
    },
    "exactly = archived.replace": {
        "When the limit ends the walk, rows are missing again": lambda shown: (
            _curve(shown, "iterative scan")[0] < 0.3
        ),
        "finds what the exact search finds, or nearly all of it": lambda shown: (
            _curve(shown, "iterative scan")[1] > 0.8 and _curve(shown, "exact search") == (1, 1)
        ),
        "reads hundreds of times as many pages": lambda shown: (
            numbers(shown, "to the end:")[0] > 200 * numbers(shown, "exact search:")[0]
        ),
    },
    THRESHOLD: {
        "No row has a similarity of 0.8": lambda shown: (
            numbers(shown, "inside")[0] == numbers(shown, "outside")[0] == 0
        ),
    },
    (THRESHOLD, KNOBS): {
        "walks on, over more pages than an exact scan would read": lambda shown, knobs: (
            numbers(shown, "inside")[1] > 2 * _one(knobs, "enable_indexscan = off")[1]
            and numbers(shown, "inside")[1] > 10 * numbers(shown, "outside")[1]
        ),
    },
    "prepared = ": {
        "the last search does not get its five": lambda shown: (
            numbers(shown, "rows:")[:-1] == [5] * 11 and numbers(shown, "rows:")[-1] < 5
        ),
        "as soon as it looks cheaper than the plans before it on average: here one run later": (
            lambda shown: (
                numbers(shown, "its values:")[0] == 6 and numbers(shown, "any value:")[0] >= 1
            )
        ),
    },
    "np.zeros(vectors.shape[1])": {
        "All four: the similarity is NaN": lambda shown: shown.splitlines()[0] == "4",
    },
    "ask_mine": {
        "the same recall as over our documents alone": lambda shown: (
            numbers(shown, "library's")[0] == numbers(shown, "memory")[0]
        ),
        "Both searches find the right rows among 12,000 others": lambda shown: (
            abs(numbers(shown, "yours")[0] - numbers(shown, "library's")[0]) < 0.05
        ),
    },
}
