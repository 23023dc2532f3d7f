"""What a search found, and the plan that it ran by, as tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from course_lib.answers.excerpts import excerpt
from course_lib.teaching.lab.figures.base import INK, Figure, boxed, table

if TYPE_CHECKING:
    import pandas as pd

    from course_lib.records import SearchResult

DETAILS = ("Index Cond", "Recheck Cond", "Filter", "Order By", "Sort Key")
VECTOR = re.compile(r"'\[[^\]']{60,}\]'(?:::vector)?")
ResultRow = tuple[float, str, str, str, str]
"""Similarity, document, heading, lines, and the text in HTML."""


def ranking(
    results: Sequence[SearchResult], question: str = "", *, most: int = 160, mark: str = ""
) -> Figure:
    """Show search results as a table: rank, score as a bar, source with lines, and an excerpt.

    Parameters
    ----------
    results
        Best first.
    question
        What was asked, above the table.
    most
        Characters shown of each text.
    mark
        A phrase to mark where it occurs.
    """
    found: list[ResultRow] = []
    for one in results:
        lines = "{}–{}".format(*(one.metadata.get(name, "") for name in ("lineStart", "lineEnd")))
        text = escape(excerpt(one, mark or question, most))
        if mark:
            text = re.sub(f"({re.escape(escape(mark))})", r"<mark>\1</mark>", text, flags=re.I)
        found.append((one.similarity_score, one.document_name, one.name, lines, text))
    return _results(found, question)


def passages(found: pd.DataFrame, question: str = "") -> Figure:
    """Show what a search of a folder found in the same way, with the whole texts.

    Parameters
    ----------
    found
        What the function that `search_folder` returns gave.
    question
        What was asked, above the table.
    """
    names = ["similarity", "document", "heading", "lines"]
    texts = found["text"].map(escape)
    return _results(list(zip(*(found[one] for one in names), texts, strict=True)), question)


def _results(found: Sequence[ResultRow], question: str) -> Figure:
    rows = []
    for rank, (similarity, document, heading, lines, text) in enumerate(found, start=1):
        wide = round(90 * max(0.0, min(1.0, similarity)))
        bar = (
            '<div style="background-color: #dddddd; width: 90px; height: 8px">'
            f'<div style="background-color: #0072b2; width: {wide}px; height: 8px"></div></div>'
        )
        place = f"<b>{escape(document)}</b><br>{escape(heading)}<br>lines {escape(lines)}"
        source = f'<div style="min-width: 150px">{place}</div>'
        rows.append((str(rank), f"{bar}{similarity:.2f}", source, text))
    asked = f'<p style="color: {INK}"><b>{escape(question)}</b></p>' if question else ""
    first = f"; the first is {found[0][1]}" if found else ""
    told = f"{len(rows)} results for {question!r}{first}."
    return boxed(asked + table(("#", "similarity", "source", "text"), rows), told)


def plan(explained: Mapping[str, Any]) -> Figure:
    """Show a plan as a table, one node a row: the rows that PostgreSQL expected, and those found.

    Parameters
    ----------
    explained
        The value of "Plan" in what EXPLAIN (ANALYZE, FORMAT JSON) returns. What the table says of
        rows and times is for all loops together.
    """
    rows, told = [], []
    for depth, node in _nodes(explained):
        indent = "&nbsp;" * 4 * depth
        used = f" using {node['Index Name']}" if "Index Name" in node else ""
        name = f"{node['Node Type']}{used}"
        details = [f"{key}: {_shown(node[key])}" for key in DETAILS if key in node]
        below = "".join(f"<br>{indent}&nbsp; <small>{escape(one)}</small>" for one in details)
        expected, loops = node["Plan Rows"], node["Actual Loops"]
        found, time = node["Actual Rows"] * loops, node["Actual Total Time"] * loops
        label = f"{indent}{'└ ' if depth else ''}<b>{escape(name)}</b>{below}"
        rows.append((label, f"{expected:,}", f"{found:,.0f}", f"{time:,.2f} ms"))
        told.append(f"{name}, {expected} rows expected and {found:.0f} found")
    heads = ("node", "rows expected", "rows found", "time until its last row")
    return boxed(table(heads, rows), f"Query plan: {'; '.join(told)}.")


def _shown(detail: str | list[str]) -> str:
    return VECTOR.sub("[…]", detail if isinstance(detail, str) else ", ".join(detail))


def _nodes(node: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[int, Mapping[str, Any]]]:
    yield depth, node
    for below in node.get("Plans", ()):
        yield from _nodes(below, depth + 1)
