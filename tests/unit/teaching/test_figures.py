import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from course_lib.loader.recursive import split_text
from course_lib.records import Span
from course_lib.teaching.lab import figures
from course_lib.teaching.lab.meeting import Run, over_time
from course_lib.teaching.lab.serving import Seen

EVIL = "<script>alert('x')</script> & \"quotes\" "
RESULT = SimpleNamespace(
    document_name="<a>.md",
    name=EVIL,
    metadata={"lineStart": 3, "lineEnd": 4},
    content=EVIL * 20,
    similarity_score=0.61,
)

FOUND = pd.DataFrame(
    [(0.61, "<a>.md", EVIL, "3–4", EVIL)],
    columns=["similarity", "document", "heading", "lines", "text"],
)

GAINS = pd.DataFrame({"mean": [0.0, 0.1], "low": [-0.1, 0.0], "high": [0.1, 0.2]}, index=[0.0, 1.0])
COUNTS = pd.DataFrame({"new": [1, 99], "gone": [0, 1], "same": [90, 0]}, index=["first", "second"])
MET = Run(
    [("app", "commits"), ("jobs", "deletes shared"), ("app", "commits")],
    ["used by app", "an orphan", "an orphan", "deleted"],
    together=True,
)
WAITED = pd.DataFrame({"begin": [0.0, 0.2], "end": [0.2, 0.4]})
RANKS = np.array([[1, 0.5, 0, 1], [1, 1, 0.5, 0]])
SCAN = {
    "Node Type": "Index Scan",
    "Index Name": "by_vector",
    "Order By": f"(embedding <=> '{list(range(40))}'::vector)",
    "Plan Rows": 12_121,
    "Actual Rows": 3.0,
    "Actual Total Time": 0.5,
    "Actual Loops": 2,
}
PLAN = {**SCAN, "Node Type": "Limit <f>", "Actual Loops": 1, "Plans": [SCAN]}

ALL = {
    "cuts": lambda: figures.cuts(EVIL, [EVIL[:5], EVIL[5:]]),
    "spans": lambda: figures.spans(EVIL, split_text(EVIL, 20, 5)),
    "pipeline": lambda: figures.pipeline(here="chunks"),
    "plan": lambda: figures.plan(PLAN),
    "pieces": lambda: figures.pieces([("<a>", EVIL), ("<f>", "two")], mark="quotes"),
    "timeline": lambda: figures.timeline([Seen(0.0, 0.1, EVIL, 200)], [(0.1, EVIL)], EVIL),
    "ranking": lambda: figures.ranking([RESULT], "What <is> it?", mark="quotes"),
    "passages": lambda: figures.passages(FOUND, "What <is> it?"),
    "intervals": lambda: figures.intervals(GAINS.rename(index=str), "MRR of <f>"),
    "changes": lambda: figures.changes(
        {"<f>": (RANKS[0] > 0.4, RANKS[1] > 0.4), "means": RANKS[:2]}, "share of <f>"
    ),
    "bars": lambda: figures.bars(FOUND[["similarity"]], "share of <f>", labels=["one"]),
    "pairs": lambda: figures.pairs(RANKS[0], RANKS[1], ("<f>", "b"), "rank"),
    "waits": lambda: figures.waits({"<f>": WAITED, "/b": WAITED}),
    "stacked": lambda: figures.stacked({"<f>": COUNTS[["new"]], "<a>": COUNTS}, "chunks"),
    "over time": lambda: over_time({"<f>": MET, "<a>": MET}),
}


@pytest.mark.parametrize("make", ALL.values(), ids=ALL)
def test_a_figure_describes_itself_escapes_what_it_shows_and_is_the_same_each_time(make: Any):
    figure = make()
    assert make().html == figure.html
    assert len(figure.alt) > 20 and figure.alt.endswith(".")
    assert "<script" not in figure.html and "<f>" not in figure.html and "<a>" not in figure.html
    assert figure._repr_mimebundle_() == {
        "text/html": figure.html,
        "text/plain": f"Figure: {figure.alt}",
    }
    if "<img" in figure.html:
        assert re.search(r'<img [^>]*alt="[^"]{20,}"', figure.html)
    else:
        assert 'aria-label="' in figure.html
    # JupyterLab takes these away from a notebook that it does not trust.
    assert not re.search(r"<style|<svg|var\(--| on\w+=", figure.html)


def test_cuts_are_told_apart_by_sign_and_counted():
    text = "one two three"
    html = figures.cuts(text, ["one tw", "o ", "three"])
    assert html.html.count("✂</span>") == 1 + 1  # one cut and the legend
    assert html.html.count("┃</span>") == 1 + 1
    assert "1 of 2 cuts go through a word" in html.alt


def test_what_lies_in_two_chunks_or_in_none_is_marked():
    text = "abcdefghij"
    shared = figures.spans(text, [Span(0, 6, text[:6]), Span(4, 10, text[4:])])
    assert 'border-bottom: 2px dotted #3b1d57">ef</span>' in shared.html
    assert "neighbours share 2 characters" in shared.alt
    lost = figures.spans(text, [Span(0, 4, text[:4]), Span(6, 10, text[6:])])
    assert "<s>ef</s>" in lost.html


def test_a_long_text_is_shortened_and_counted_whole():
    text = "word " * 2_000
    chunks = [span.text for span in split_text(text, 100, 0)]
    figure = figures.cuts(text, chunks)
    assert "7,000 characters more" in figure.html
    assert "99 cuts" in figure.alt
    middle = figures.cuts(text, chunks, first=5_000, most=1_000)
    assert "5,000 characters before" in middle.html and "4,000 characters more" in middle.html
    assert middle.html.count("┃</span>") == 9 + 1 and middle.alt == figure.alt


def test_a_plan_has_its_innermost_node_last_with_what_all_loops_found():
    figure = figures.plan(PLAN)
    assert figure.alt.endswith("Index Scan using by_vector, 12121 rows expected and 6 found.")
    assert "Order By: (embedding &lt;=&gt; […])" in figure.html
    assert figure.html.index("Limit") < figure.html.index("Index Scan")
    assert "1.00 ms" in figure.html


def test_intervals_and_pairs_say_their_numbers():
    measured = pd.DataFrame({"mean": [0.5], "low": [0.4], "high": [0.61]}, index=["dense"])
    assert "dense: 0.50 [0.40, 0.61]" in figures.intervals(measured, "MRR").alt
    pairs = pd.MultiIndex.from_product([["words", "both"], ["code", "docs"]])
    each = pd.DataFrame({"mean": [0.1] * 4, "low": [-0.1] * 4, "high": [0.2] * 4}, index=pairs)
    assert "docs, both: 0.10 [-0.10, 0.20]" in figures.intervals(each, "gain").alt
    shown = figures.pairs(*RANKS, names=("dense", "hybrid"), across="rank")
    assert shown.alt == "Of 4 questions, by rank: 2 hybrid better, 1 equal, 1 dense better."


def test_waiting_requests_say_when_each_begins():
    assert figures.waits({"/a": WAITED}).alt.endswith("so many seconds: {'/a': [0.0, 0.2]}.")


def test_stacked_bars_say_their_numbers():
    told = figures.stacked({"nights": COUNTS}, "chunks").alt
    assert told.startswith("Bars of chunks. nights: {'first': {'new': 1, 'gone': 0, 'same': 90}")


def test_two_syncs_over_time_say_what_each_did_and_what_was_committed():
    told = over_time({"one: all is well": MET}).alt
    assert "app commits, jobs deletes shared, app commits" in told
    assert told.endswith("used by app, an orphan, an orphan, deleted.")


def test_the_pieces_that_hold_the_phrase_are_open_and_named():
    figure = figures.pieces([("A", "one"), ("B", "two"), ("A", "three")], mark="two")
    assert figure.html.count("<details open") == 1
    assert figure.alt == "3 pieces: A, B, A. 'two' is in B."
    assert "is in none of them" in figures.pieces([("A", "one")], mark="four").alt
    x, y, z = re.findall(r"border-left: 5px solid (#\w+)", figure.html)
    assert x == z != y
