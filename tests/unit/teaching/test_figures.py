import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from course_lib.errors import InputError
from course_lib.loader.recursive import split_text
from course_lib.loader.resource_chunks import chunk_resources
from course_lib.loader.yaml_lines import lines_of
from course_lib.records import Span
from course_lib.teaching.lab import figures
from course_lib.teaching.lab.figures.vectors import plane
from course_lib.teaching.lab.serving import Seen

EVIL = "<script>alert('x')</script> & \"quotes\" "
VECTORS = np.random.default_rng(7).normal(size=(6, 12)).astype(np.float32)
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

GAINS = pd.DataFrame({"gain": [0.0, 0.1], "low": [-0.1, 0.0], "high": [0.1, 0.2]}, index=[0.0, 1.0])
WAYS = pd.DataFrame({"pages": [22.0, 900.0], "recall": [1.0, 0.8]}, [("<f>", "on"), ("<f>", "off")])
BUILT = pd.DataFrame(
    [("HNSW", when, "hnsw.ef_search = 40", 0.8, 300) for when in ("before", "after")],
    columns=["index", "built", "setting", "recall", "pages"],
)


def rows_of(explained: str) -> list[tuple[str]]:
    """Return what a cursor gives after EXPLAIN."""
    return [(line,) for line in explained.splitlines()]


EXPLAINED = rows_of("""Limit  (cost=1.10..2.20 rows=5 width=44) (actual time=0.2..1.50 rows=5 loops=1)
  ->  Nested Loop  (cost=1.10..9.50 rows=50 width=44) (actual time=0.2..1.40 rows=5 loops=1)
        ->  Index Scan using by_vector on chunks  (cost=0.50..9.50 rows=50 width=36) (actual time=0.1..0.70 rows=600 loops=2)
              Order By: (embedding <=> '[1,2]'::vector)
        ->  Seq Scan on documents  (cost=0.00..1.00 rows=1 width=8) (never executed)
              Filter: (name = 'x'::text)
Planning Time: 0.1 ms""")  # noqa: E501

ALL = {
    "cuts of strings": lambda: figures.cuts(EVIL, [EVIL[:5], EVIL[5:]]),
    "cuts of spans": lambda: figures.cuts(EVIL, split_text(EVIL, 20, 0)),
    "spans": lambda: figures.spans(EVIL, split_text(EVIL, 20, 5)),
    "pipeline": lambda: figures.pipeline(here="chunks"),
    "map": lambda: figures.map_2d(
        VECTORS, ["x", "<f>"] * 3, VECTORS[0], "Documents", ["", "1"] * 3
    ),
    "plan": lambda: figures.plan(EXPLAINED),
    "pieces": lambda: figures.pieces(EVIL, split_text(EVIL, 20, 0), ["<a>"] * 2, mark="quotes"),
    "tree": lambda: figures.tree("<f>", chunk_resources(f"kind: {EVIL}")),
    "outline": lambda: figures.outline(f"a: {EVIL}\n", lines_of(f"a: {EVIL}\n", 0, 5), [2]),
    "timeline": lambda: figures.timeline([Seen(0.0, 0.1, EVIL, 200)], [(0.1, EVIL)], EVIL),
    "turns": lambda: figures.turns({EVIL: [("<a>", EVIL), ("b", "commits $1$")]}),
    "ranking": lambda: figures.ranking([RESULT], "What <is> it?", mark="quotes"),
    "shares": lambda: figures.shares(pd.DataFrame({"<a>": {"<f>": 8.0}}), "pieces, %", "Costs"),
    "passages": lambda: figures.passages(FOUND, "What <is> it?"),
    "gains": lambda: figures.gains({"<f>": GAINS, "b": GAINS}, "weight", "gain"),
    "pages and recall": lambda: figures.pages_and_recall(WAYS, "Few rows"),
    "recall by pages": lambda: figures.recall_by_pages(BUILT, 900, "HNSW"),
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


def test_chunks_that_are_not_in_the_text_are_refused():
    with pytest.raises(InputError, match="is not in the text"):
        figures.cuts("one two", ["one", "too"])


def test_what_lies_in_two_chunks_or_in_none_is_marked():
    text = "abcdefghij"
    shared = figures.spans(text, [Span(0, 6, text[:6]), Span(4, 10, text[4:])])
    assert 'border-bottom: 2px dotted #3b1d57">ef</span>' in shared.html
    assert "neighbours share 2 characters" in shared.alt
    lost = figures.spans(text, [Span(0, 4, text[:4]), Span(6, 10, text[6:])])
    assert "<s>ef</s>" in lost.html


def test_a_long_text_is_shortened_and_counted_whole():
    text = "word " * 2_000
    figure = figures.cuts(text, split_text(text, 100, 0))
    assert "7,000 characters more" in figure.html
    assert "99 cuts" in figure.alt
    middle = figures.cuts(text, split_text(text, 100, 0), first=5_000, most=1_000)
    assert "5,000 characters before" in middle.html and "4,000 characters more" in middle.html
    assert middle.html.count("┃</span>") == 9 + 1 and middle.alt == figure.alt


def test_the_map_keeps_distances_of_what_lies_in_a_plane():
    flat = np.zeros((5, 9))
    flat[:, 2:4] = [[0, 0], [3, 0], [0, 4], [3, 4], [1, 1]]
    points, star, share = plane(flat, flat[1])
    assert share == pytest.approx(1)
    assert np.linalg.norm(points[1] - points[2]) == pytest.approx(5)
    assert star == pytest.approx(points[1])


def test_an_estimate_that_is_far_off_is_marked():
    assert "⚠ 1,200" in figures.plan(EXPLAINED).html
    assert "⚠" not in figures.plan(EXPLAINED[:2]).html


def test_what_a_limit_stopped_early_is_no_wrong_estimate():
    def node(depth: int, name: str, expected: int, found: int) -> tuple[str]:
        arrow = "->  " if depth else ""
        costs = f"(cost=0.00..9.50 rows={expected} width=4) (actual rows={found}.00 loops=1)"
        return (f"{'  ' * depth}{arrow}{name}  {costs}",)

    below_a_sort = [
        node(0, "Limit", 5, 5),
        node(1, "Sort", 5000, 5),
        node(2, "Seq Scan on chunks", 5000, 7),
    ]
    html = figures.plan(below_a_sort).html
    assert "⚠ 7" in html and "⚠ 5" not in html
    assert "⚠" not in figures.plan([below_a_sort[0], node(1, "Index Scan", 50, 5)]).html
    assert "⚠ 5" in figures.plan([node(0, "Index Scan", 50, 5)]).html


def test_what_is_no_plan_is_refused():
    for rows in ([("hello",)], [([{"Plan": {}}],)]):
        with pytest.raises(InputError, match="not a plan"):
            figures.plan(rows)
