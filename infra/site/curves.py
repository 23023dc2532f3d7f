"""The bench's figures as curves, drawn when the site is built: what a search costs as rows grow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt  # noqa: E402

WAYS = {"dense": "o-C0", "hybrid": "s-C1", "dense, filter 1 %": "^-C2"}
"""The searches that are drawn, and matplotlib's format of each."""

SECTION = """

## Curves

![Recall@10 falls slowly with the rows, while the median time of dense, filtered and hybrid searches
grows; the figures are those of the tables above.]({picture})

The searches of the tables above by the rows of the index, on {hardware}.
"""


def curves_section(results: Path, picture: Path, page: Path) -> str:
    """Draw the curves and return the section that shows them; empty where nothing was measured.

    Parameters
    ----------
    results
        The folder with the bench's figures, `scale-*.json`.
    picture
        Where the picture is written.
    page
        The folder of the page that shows it.
    """
    found = [json.loads(path.read_text(encoding="utf-8")) for path in results.glob("scale-*.json")]
    measured = max(found, key=lambda one: len(one.get("sizes", {})), default={})
    if not measured.get("sizes"):
        return ""
    sizes = sorted(measured["sizes"].values(), key=lambda one: one["rows"])
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for way, style in WAYS.items():
        _draw(left, sizes, way, "recall", style)
        _draw(right, sizes, way, "p50_ms", style)
    left.set(xscale="log", xlabel="rows", ylabel="recall@10", ylim=(0, 1.02))
    right.set(xscale="log", yscale="log", xlabel="rows", ylabel="median time, ms")
    right.legend()
    for axes in (left, right):
        axes.grid(alpha=0.3)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, metadata={"Date": None})
    plt.close(figure)
    climb = "../" * len(page.parts)
    return SECTION.format(picture=climb + picture.as_posix(), hardware=measured["hardware"])


def _draw(axes: Any, sizes: list[dict[str, Any]], way: str, figure: str, style: str) -> None:
    points = [
        (size["rows"], size["search"][way][figure])
        for size in sizes
        if size["search"].get(way, {}).get(figure) is not None
    ]
    if points:
        axes.plot(*zip(*points, strict=True), style, label=way)
