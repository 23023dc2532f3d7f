"""PostgreSQL's plans as a small table: what runs, how many rows were expected, how many came."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from course_lib.errors import InputError
from course_lib.teaching.lab.figures.base import Figure, boxed, table

NODE = re.compile(
    r"^(?P<indent>\s*)(?:->\s+)?(?P<name>\S.*?)\s+\(cost=[\d.]+\.\.[\d.]+ rows=(?P<rows>\d+) "
    r"width=\d+\)(?:\s+\((?:actual (?:time=[\d.]+\.\.(?P<time>[\d.]+) )?"
    r"rows=(?P<actual>[\d.]+) loops=(?P<loops>\d+)|(?P<never>never executed))\))?"
)
DETAILS = ("Index Cond", "Recheck Cond", "Filter", "Order By", "Sort Key", "Rows Removed by Filter")
VECTOR = re.compile(r"'\[[^\]']{60,}\]'(?:::vector)?")
BLOCKING = ("Sort", "Aggregate", "HashAggregate", "WindowAgg")
"""Nodes that read all rows below them before they give their first."""

OFF = 10
"""An estimate that is wrong by this factor or more is marked."""


@dataclass
class Node:
    """One line of a plan; None where EXPLAIN ran without ANALYZE."""

    depth: int
    name: str
    estimated: int
    actual: float | None = None
    milliseconds: float | None = None
    details: list[str] = field(default_factory=list)


def plan(explained: Sequence[tuple[Any, ...]], of: str = "") -> Figure:
    """Show a plan as a table, one node a row.

    Parameters
    ----------
    explained
        The rows of a cursor after EXPLAIN. What the table says of rows and times is for all loops
        together.
    of
        What the plan is of, where there are several: it is said above the table.
    """
    nodes = read_plan(explained)
    rows = []
    for node, cut_short in zip(nodes, _cut_short(nodes), strict=True):
        wrong = _is_off(node, cut_short)
        actual = "–" if node.actual is None else f"{node.actual:,.0f}"
        time = "–" if node.milliseconds is None else f"{node.milliseconds:,.2f} ms"
        indent = "&nbsp;" * 4 * node.depth
        details = "".join(
            f"<br>{indent}&nbsp;&nbsp;<small>{escape(VECTOR.sub('[…]', detail))}</small>"
            for detail in node.details
        )
        arrow = "└ " if node.depth else ""
        rows.append(
            (
                f"{indent}{arrow}<b>{escape(node.name)}</b>{details}",
                f"{node.estimated:,}",
                f"<b>⚠ {actual}</b>" if wrong else actual,
                time,
            )
        )
    heads = ("node", "rows expected", "rows found", "time until its last row")
    shown = table(heads, rows, title=of)
    caption = f"⚠ the estimate is off by a factor of {OFF} or more" if "⚠" in shown else ""
    told = "; ".join(_told(node) for node in nodes)
    return boxed(
        shown,
        f"Query plan ({of}): {told}." if of else f"Query plan: {told}.",
        caption=caption,
    )


def _told(node: Node) -> str:
    found = "" if node.actual is None else f" and {node.actual:.0f} found"
    return f"{node.name}, {node.estimated} rows expected{found}"


def read_plan(explained: Sequence[tuple[Any, ...]]) -> list[Node]:
    """Return the nodes of a plan, from the top; see `plan`.

    Examples
    --------
    >>> read_plan([("Seq Scan on chunks  (cost=0.00..9.50 rows=50 width=36)",)])[0].name
    'Seq Scan on chunks'
    """
    nodes: list[Node] = []
    indents: list[int] = []
    for (line,) in explained:
        found = NODE.match(str(line))
        if found is None:
            detail = str(line).strip()
            if nodes and detail.startswith(DETAILS):
                nodes[-1].details.append(detail)
            continue
        indent = len(found["indent"])
        indents = [*(i for i in indents if i < indent), indent]
        loops = int(found["loops"] or 1)
        actual = 0.0 if found["never"] else _times(found["actual"], loops)
        time = _times(found["time"], loops)
        nodes.append(Node(len(indents) - 1, found["name"], int(found["rows"]), actual, time))
    if not nodes:
        raise InputError(
            "This is not a plan that can be read",
            hint="Pass what EXPLAIN returned, without FORMAT: cursor.fetchall().",
        )
    return nodes


def _times(value: str | None, loops: int) -> float | None:
    return None if value is None else float(value) * loops


def _cut_short(nodes: Sequence[Node]) -> list[bool]:
    """Tell of each node whether a Limit above it may have stopped it before its last row."""
    found: list[bool] = []
    above: list[bool] = []  # by depth: whether what is below it may be stopped
    for node in nodes:
        stopped = node.depth > 0 and above[node.depth - 1]
        found.append(stopped)
        runs_to_its_end = node.name.startswith(BLOCKING)
        passes_on = node.name.startswith("Limit") or (stopped and not runs_to_its_end)
        above = [*above[: node.depth], passes_on]
    return found


def _is_off(node: Node, cut_short: bool) -> bool:
    if node.actual is None or (cut_short and node.actual < node.estimated):
        return False
    low, high = sorted((max(node.estimated, 1), max(node.actual, 1)))
    return high / low >= OFF
