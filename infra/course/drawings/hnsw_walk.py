"""Lab 07: a walk through the layers of an HNSW graph, from far away to near."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from course_lib.teaching.lab.figures.base import FAINT, PALETTE
from infra.course.drawings import canvas, label

CANDIDATES = 6
"""The length of the list of candidates: `ef_search`."""

NAMES = ("layer 2: few rows, long links", "layer 1", "layer 0: all rows, short links")
HEIGHTS = (2.95, 1.75, 0.45)


def draw() -> Figure:
    """Draw three layers of the same points, links to neighbours, and a greedy walk down."""
    figure, axes = canvas(7.4, 4.2)
    random = np.random.default_rng(11)
    points = random.uniform((0.3, 0.0), (4.3, 1.0), (26, 2))
    query = np.array((3.75, 0.35))
    layers = [np.arange(4), np.arange(10), np.arange(26)]
    at = int(np.argmax(np.linalg.norm(points[layers[0]] - query, axis=1)))
    before = None
    for name, height, members in zip(NAMES, HEIGHTS, layers, strict=True):

        def place(point: np.ndarray, height: float = height) -> tuple[float, float]:
            return 0.1 + point[0] + 0.55 * point[1], height + 0.8 * point[1]

        corners = np.array(((0.1, -0.12), (4.5, -0.12), (4.5, 1.1), (0.1, 1.1)))
        layer = [place(corner) for corner in corners]
        axes.add_patch(Polygon(layer, facecolor="#f4f4f4", edgecolor=FAINT, lw=0.8))
        label(axes, 5.35, height + (0.95 if height == HEIGHTS[-1] else 0.6), name)
        links = _links(points, members)
        for link in links:
            ends = (place(points[one]) for one in link)
            axes.plot(*zip(*ends, strict=True), color="#b9b9b9", lw=0.8)
        xs, ys = zip(*map(place, points[members]), strict=True)
        axes.scatter(xs, ys, s=16, color=FAINT, zorder=2)
        path = _walk(points, links, query, at)
        steps = [place(points[one]) for one in path]
        if before:
            axes.plot(*zip(before, steps[0], strict=True), color=PALETTE[1], lw=1.5, ls=":")
        axes.plot(*zip(*steps, strict=True), color=PALETTE[1], lw=2.2, zorder=3)
        xs, ys = zip(*steps, strict=True)
        axes.scatter(xs, ys, s=26, color=PALETTE[1], zorder=4)
        x, y = place(query)
        axes.scatter(x, y, s=120, marker="*", color=PALETTE[0], zorder=5)
        at, before = path[-1], steps[-1]
    nearest = np.argsort(np.linalg.norm(points - query, axis=1))[:CANDIDATES]
    xs, ys = zip(*map(place, points[nearest]), strict=True)
    for x, y in [*zip(xs, ys, strict=True), (5.45, 1.0)]:
        axes.scatter(x, y, s=110, facecolors="none", edgecolors=PALETTE[2], linewidths=1.8)
    label(axes, 5.65, 1.0, "candidates: the nearest")
    label(axes, 5.65, 0.76, "rows seen (ef_search)")
    axes.scatter(5.45, 3.35, s=120, marker="*", color=PALETTE[0])
    label(axes, 5.65, 3.35, "query")
    axes.plot([5.35, 5.55], [3.05, 3.05], color=PALETTE[1], lw=2.2)
    told = "to the neighbour that\nis nearest to the query,\nuntil none is nearer"
    axes.text(5.65, 3.12, told, va="top")
    return figure


def _links(points: np.ndarray, members: np.ndarray, count: int = 4) -> set[tuple[int, int]]:
    links = set()
    for one in members:
        distances = np.linalg.norm(points[members] - points[one], axis=1)
        for other in members[np.argsort(distances)[1 : count + 1]]:
            links |= {(int(one), int(other)), (int(other), int(one))}
    return links


def _walk(
    points: np.ndarray, links: set[tuple[int, int]], query: np.ndarray, start: int
) -> list[int]:
    path = [start]
    while True:
        near = [path[-1], *(other for one, other in sorted(links) if one == path[-1])]
        best = min(near, key=lambda one: float(np.linalg.norm(points[one] - query)))
        if best == path[-1]:
            return path
        path.append(best)
