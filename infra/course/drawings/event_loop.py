"""Lab 09: one event loop with three requests, blocked by one of them and not."""

from __future__ import annotations

from matplotlib.figure import Figure

from course_lib.teaching.lab.figures.base import FAINT, PALETTE
from infra.course.drawings import arrow, box, canvas, label

BLOCKED = ((0, 0.2, 0), (0.2, 2.4, 0), (2.4, 2.6, 1), (2.6, 2.8, 2))
"""When the loop works, for which request: begin, end, request."""

FREE = ((0, 0.2, 0), (0.3, 0.5, 1), (0.6, 0.8, 2), (2.4, 2.6, 0))


def draw() -> Figure:
    """Draw two time lines: encoding on the loop, and encoding in a thread beside it."""
    figure, axes = canvas(7.4, 3.9)

    def line(y: float, name: str) -> None:
        label(axes, 0.2, y + 0.15, name)
        axes.plot([1.5, 7.1], [y, y], color=FAINT, lw=0.8)

    def work(y: float, begin: float, end: float, request: int, name: str = "") -> None:
        x, width = 1.5 + 1.9 * begin, 1.9 * (end - begin)
        box(axes, x, y, width, 0.3, facecolor=PALETTE[request], edgecolor="white")
        label(axes, x + width / 2, y + 0.15, name, ha="center", color="white")

    axes.text(0.2, 3.6, "The encoder runs on the event loop: all others wait", weight="bold")
    line(3.0, "event loop")
    for begin, end, request in BLOCKED:
        work(3.0, begin, end, request, "encode" if end - begin > 1 else "")
    axes.text(0.2, 2.1, "The encoder runs in a thread: the loop serves the others", weight="bold")
    line(1.5, "event loop")
    for begin, end, request in FREE:
        work(1.5, begin, end, request)
    line(0.95, "thread")
    work(0.95, 0.2, 2.4, 0, "encode")
    arrow(axes, (1.5, 0.7), (7.1, 0.7), color=FAINT)
    label(axes, 7.1, 0.5, "time", ha="right", color=FAINT)
    for request in range(3):
        box(axes, 1.5 + 1.5 * request, 0.12, 0.25, 0.25, facecolor=PALETTE[request])
        label(axes, 1.82 + 1.5 * request, 0.24, f"request {request + 1}")
    return figure
