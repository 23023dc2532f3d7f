"""A figure of a token budget: what fills a model's window, piece by piece, and why it is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.teaching.lab.figures.base import FAINT, INK, Figure, chart, picture

if TYPE_CHECKING:
    from course_lib.answers.budget import Fitted

LOOKS = {
    "hint": ("#0072b2", "//", "its file was named"),
    "structure": ("#009e73", "..", "STRUCTURE.md"),
    "search": ("#e69f00", "", "the search found it"),
}
"""Origin of a passage → colour, hatching, and why it is there."""

OTHERS = {
    "fixed": ("#444444", "", "instructions and question"),
    "output": ("#cc79a7", "xx", "room for the answer"),
    "margin": ("#c8c8c8", "\\\\", "safety margin"),
}


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
    if len(plan.passages) != len(fitted.passages):
        raise InputError("The budget counts other passages than there are")
    rows: list[tuple[str, int, str]] = [("instructions, question", plan.fixed, "fixed")]
    for one, tokens in zip(fitted.passages, plan.passages, strict=True):
        rows.append((f"[{one.index}] {_short(one.place)}", tokens, one.origin))
    rows += [("the answer", plan.output, "output"), ("margin", plan.margin, "margin")]
    looks = LOOKS | OTHERS
    figure, axes = chart(7.6, 1.6 + 0.3 * (len(rows) + len(fitted.dropped)))
    start = 0
    for row, (_, tokens, kind) in enumerate(rows):
        colour, hatch, _ = looks[kind]
        axes.barh(row, tokens, left=start, height=0.7, color=colour, hatch=hatch, edgecolor="white")
        axes.text(start + tokens, row, f" {tokens:,}", va="center", fontsize=8, color=INK)
        start += tokens
    left_out = [f"[{one.index}] {_short(one.place)}" for one in fitted.dropped]
    for row in range(len(rows), len(rows) + len(left_out)):
        axes.text(0, row, " did not fit", va="center", fontsize=8, color=FAINT)
    for kind in dict.fromkeys(kind for _, _, kind in rows):
        colour, hatch, name = looks[kind]
        axes.barh(0, 0, color=colour, hatch=hatch, edgecolor="white", label=name)
    axes.axvline(plan.window, color=INK, linestyle="--", linewidth=1.2)
    axes.set_yticks(range(len(rows) + len(left_out)), [*(name for name, _, _ in rows), *left_out])
    axes.tick_params(axis="y", labelsize=8)
    axes.set_ylim(len(rows) + len(left_out) - 0.4, -0.6)
    axes.set_xlim(0, plan.window * 1.08)
    axes.set_xlabel(f"tokens; the window ends at {plan.window:,}")
    axes.legend(ncols=3, frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.4, -0.22))
    axes.set_title(title, loc="left")
    return picture(figure, _told(rows, left_out, plan.window, title))


def _told(
    rows: Sequence[tuple[str, int, str]], left_out: Sequence[str], window: int, title: str
) -> str:
    about = f" of {title}" if title else ""
    parts = ", ".join(f"{name} {tokens} tokens ({kind})" for name, tokens, kind in rows)
    gone = f" Left out: {', '.join(left_out)}." if left_out else ""
    return f"Token budget{about}, a window of {window}: {parts}.{gone}"


def _short(place: str, most: int = 38) -> str:
    return place if len(place) <= most else f"…{place[1 - most :]}"
