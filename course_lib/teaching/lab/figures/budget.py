"""A figure of a token budget: what fills a model's window, piece by piece, and why it is there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from course_lib.teaching.lab.figures.base import FAINT, INK, Figure, about, picture
from course_lib.teaching.lab.figures.strips import Look, Strip, strips

if TYPE_CHECKING:
    from course_lib.answers.budget import Fitted

LOOKS = {
    "hint": Look("#0072b2", "//", "its file was named"),
    "structure": Look("#009e73", "..", "STRUCTURE.md"),
    "search": Look("#e69f00", "", "the search found it"),
    "fixed": Look("#444444", "", "instructions and question"),
    "output": Look("#cc79a7", "xx", "room for the answer"),
    "margin": Look("#c8c8c8", "\\\\", "safety margin"),
}
"""Origin of a passage, or what else takes room → how its bar looks."""


def budget(fitted: Fitted, title: str = "") -> Figure:
    """Draw how a window fills: instructions, passage by passage, then room for the answer.

    Parameters
    ----------
    fitted
        What `ensure_prompt_fits` returned.
    title
        Above the chart.
    """
    plan = fitted.budget
    rows: list[tuple[str, int, str]] = [("instructions, question", plan.fixed, "fixed")]
    for one, tokens in zip(fitted.passages, plan.passages, strict=True):
        rows.append((f"[{one.index}] {_short(one.place)}", tokens, one.origin))
    rows += [("the answer", plan.output, "output"), ("margin", plan.margin, "margin")]
    left_out = [f"[{one.index}] {_short(one.place)}" for one in fitted.dropped]
    ends = list(accumulate(tokens for _, tokens, _ in rows))
    figure, axes = strips(
        [*(name for name, _, _ in rows), *left_out],
        [
            Strip(row, end - tokens, tokens, LOOKS[kind])
            for row, (end, (_, tokens, kind)) in enumerate(zip(ends, rows, strict=True))
        ],
        title,
    )
    over_the_line = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    for row, (end, (_, tokens, _)) in enumerate(zip(ends, rows, strict=True)):
        axes.annotate(
            f"{tokens:,}", (end, row), xytext=(4, 0), textcoords="offset points", va="center",
            fontsize=8, color=INK, bbox=over_the_line,
        )  # fmt: skip
    for row in range(len(rows), len(rows) + len(left_out)):
        axes.text(0, row, " did not fit", va="center", fontsize=8, color=FAINT)
    axes.axvline(plan.window, color=INK, linestyle="--", linewidth=1.2)
    axes.tick_params(axis="y", labelsize=8)
    axes.set_xlim(0, plan.window * 1.08)
    axes.set_xlabel(f"tokens; the window ends at {plan.window:,}")
    return picture(figure, _told(rows, left_out, plan.window, title))


def _told(
    rows: Sequence[tuple[str, int, str]], left_out: Sequence[str], window: int, title: str
) -> str:
    parts = ", ".join(f"{name} {tokens} tokens ({kind})" for name, tokens, kind in rows)
    gone = f" Left out: {', '.join(left_out)}." if left_out else ""
    return f"Token budget{about(title)}, a window of {window}: {parts}.{gone}"


def _short(place: str, most: int = 38) -> str:
    return place if len(place) <= most else f"…{place[1 - most :]}"
