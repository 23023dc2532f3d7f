"""Lab 06: the cells of an IVF index, and which of them a query looks into."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from course_lib.teaching.lab.figures.base import FAINT, MARKERS, PALETTE
from infra.course.drawings import canvas

CENTRES = np.array([(0.9, 0.9), (1.1, 2.6), (2.5, 1.8), (3.9, 0.8), (3.7, 2.7)])
QUERY = np.array((3.02, 2.32))
PROBES = 2


def draw() -> Figure:
    """Draw rows as points, the borders between cells, and the cells that are searched."""
    figure, axes = canvas(7.4, 3.6)
    random = np.random.default_rng(4)
    rows = np.concatenate([centre + random.normal(0, 0.36, (14, 2)) for centre in CENTRES])
    rows = np.clip(rows, (0.15, 0.15), (4.65, 3.4))
    cell = _nearest(rows)
    order = np.argsort(np.linalg.norm(CENTRES - QUERY, axis=1))
    searched = np.isin(cell, order[:PROBES])
    xs, ys = np.meshgrid(np.linspace(0.05, 4.75, 300), np.linspace(0.05, 3.5, 220))
    cells = _nearest(np.column_stack([xs.ravel(), ys.ravel()])).reshape(xs.shape)
    axes.contourf(xs, ys, np.isin(cells, order[:PROBES]), levels=[0.5, 1.5], colors=["#fdebd3"])
    for index in range(len(CENTRES)):
        axes.contour(xs, ys, cells == index, levels=[0.5], colors=FAINT, linewidths=0.8)

    def dots(points: np.ndarray, **look: Any) -> None:
        axes.scatter(points[:, 0], points[:, 1], **look)

    dots(rows[~searched], s=14, color=FAINT, label="row, not compared")
    dots(rows[searched], s=18, color=PALETTE[0], label="row, compared")
    dots(CENTRES, s=60, marker=MARKERS[6], color="black", label="centre of a cell")
    axes.scatter(QUERY[0], QUERY[1], s=130, marker="*", color=PALETTE[1], label="query", zorder=3)
    nearest = rows[np.argmin(np.linalg.norm(rows - QUERY, axis=1))]
    axes.plot(*zip(QUERY, nearest, strict=True), color=PALETTE[1], lw=1.5)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.655, 0.95), fontsize=10)
    axes.text(
        4.95, 0.45, f"probes = {PROBES}: the cells of the\n{PROBES} nearest centres are searched.\n"
        "What is in another cell\ncannot be found.",
    )  # fmt: skip
    return figure


def _nearest(points: np.ndarray) -> np.ndarray:
    nearest: np.ndarray = np.linalg.norm(points[:, None] - CENTRES, axis=2).argmin(axis=1)
    return nearest
