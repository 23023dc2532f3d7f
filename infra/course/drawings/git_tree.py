"""Lab 10: what a commit of git points to, before and after one file has changed."""

from __future__ import annotations

from matplotlib.figure import Figure

from course_lib.teaching.lab.figures.base import FAINT, PALETTE
from infra.course.drawings import arrow, canvas, label

NODES = {
    "old commit": (1.3, 3.2, ""),
    "new commit": (5.6, 3.2, "new"),
    "tree /": (1.3, 2.4, ""),
    "tree / ": (5.6, 2.4, "new"),
    "tree docs/": (0.9, 1.5, ""),
    "tree src/": (3.0, 1.5, ""),
    "tree src/ ": (5.9, 1.5, "new"),
    "blob mill.md": (0.9, 0.6, ""),
    "blob sail.py": (2.55, 0.6, ""),
    "blob turn.py": (4.2, 0.6, ""),
    "blob turn.py ": (6.3, 0.6, "new"),
}
LINKS = (
    ("old commit", "tree /"),
    ("new commit", "tree / "),
    ("tree /", "tree docs/"),
    ("tree /", "tree src/"),
    ("tree / ", "tree docs/"),
    ("tree / ", "tree src/ "),
    ("tree docs/", "blob mill.md"),
    ("tree src/", "blob sail.py"),
    ("tree src/", "blob turn.py"),
    ("tree src/ ", "blob sail.py"),
    ("tree src/ ", "blob turn.py "),
)


def draw() -> Figure:
    """Draw two commits that share what has not changed; what is new has another colour."""
    figure, axes = canvas(7.4, 3.7)
    for one, other in LINKS:
        (x1, y1, new), (x2, y2, _) = NODES[one], NODES[other]
        ink = PALETTE[1] if new else FAINT
        arrow(axes, (x1, y1 - 0.18), (x2, y2 + 0.18), color=ink, lw=1.2)
    for name, (x, y, new) in NODES.items():
        box = {
            "boxstyle": "round,pad=0.35",
            "facecolor": "#fbe3d3" if new else "#e5f0f8",
            "edgecolor": PALETTE[1] if new else PALETTE[0],
        }
        label(axes, x, y, name.strip(), ha="center", bbox=box)
    told = "turn.py changed: it has a new blob, and there are new trees above it. "
    axes.text(3.7, 0.08, f"{told}The rest is shared.", ha="center", va="bottom")
    return figure
