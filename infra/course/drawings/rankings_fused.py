"""Lab 08: two rankings become one by reciprocal rank fusion."""

from __future__ import annotations

from matplotlib.figure import Figure

from course_lib.teaching.lab.figures.base import FAINT, PALETTE
from infra.course.drawings import canvas, label

K = 60
BY_MEANING = ("a", "b", "c", "d")
BY_WORDS = ("c", "e", "a", "f")


def draw() -> Figure:
    """Draw both rankings, lines from each document to its place in the fused one, and its score."""
    figure, axes = canvas(7.4, 3.6)
    scores: dict[str, float] = {}
    for ranking in (BY_MEANING, BY_WORDS):
        for place, name in enumerate(ranking, start=1):
            scores[name] = scores.get(name, 0) + 1 / (K + place)
    fused = sorted(scores, key=lambda name: -scores[name])

    def y(place: int) -> float:
        return 2.75 - 0.45 * place

    def box(x: float, place: int, name: str, parts: str = "") -> None:
        in_both = name in BY_MEANING and name in BY_WORDS
        face = "#fdebd3" if in_both else "#f2f2f2"
        shape = {"boxstyle": "round,pad=0.3", "facecolor": face, "edgecolor": FAINT}
        label(axes, x, y(place), name + parts, ha="center", bbox=shape, family="monospace")

    for x, title, ranking, colour in (
        (0.9, "by meaning", BY_MEANING, PALETTE[0]),
        (6.5, "by words", BY_WORDS, PALETTE[2]),
    ):
        axes.text(x, 3.25, title, ha="center", weight="bold", color=colour)
        for place, one in enumerate(ranking):
            middle = 3.23 if x < 3 else 4.57
            axes.plot([x, middle], [y(place), y(fused.index(one))], color=colour, lw=1.5, alpha=0.7)
            box(x, place, one)
    axes.text(3.9, 3.25, "fused", ha="center", weight="bold")
    for place, one in enumerate(fused):
        parts = [f"1/{K + r.index(one) + 1}" for r in (BY_MEANING, BY_WORDS) if one in r]
        box(3.9, place, one, f"  {' + '.join(parts):11}")
    return figure
