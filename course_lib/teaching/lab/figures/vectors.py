"""Figures of vectors: which are near which, and a map of them in two dimensions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from course_lib.errors import InputError
from course_lib.teaching.lab.figures.base import MARKERS, Figure, about, chart, colour, picture

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def arrows(
    ends: Mapping[str, tuple[float, float]], title: str = "", *, across: str = "", up: str = ""
) -> Figure:
    """Draw vectors of two numbers as arrows from the origin, each with its name at its tip.

    Parameters
    ----------
    ends
        Name → the vector.
    title
        Above the chart.
    across, up
        What the two numbers are. Both axes have the same scale, so that angles are angles.
    """
    if not ends:
        raise InputError("There are no arrows to draw")
    figure, axes = chart(title, across, up, width=5.0, height=4.0)
    # The longest first, so that a shorter one in the same direction is drawn over it.
    for name, (x, y) in sorted(ends.items(), key=lambda item: -math.hypot(*item[1])):
        ink = colour([*ends].index(name))
        style = {"arrowstyle": "-|>", "color": ink, "linewidth": 2.2, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (x, y), (0, 0), arrowprops=style, annotation_clip=False)
        length = math.hypot(x, y) or 1.0
        beside = 12 * y / length, -12 * x / length  # not on an arrow in the same direction
        axes.annotate(
            name, (x, y), beside, textcoords="offset points", color=ink, fontsize=13,
            weight="bold", ha="center", va="center",
        )  # fmt: skip
    widest, highest = (max(0.0, *(end[axis] for end in ends.values())) for axis in (0, 1))
    axes.set_xlim(0, widest * 1.1)
    axes.set_ylim(0, highest * 1.15)
    axes.set_aspect("equal")
    axes.grid(alpha=0.25)
    told = ", ".join(f"{name} to ({x:g}, {y:g})" for name, (x, y) in ends.items())
    return picture(figure, f"Arrows from the origin{about(title)}: {told}.")


def map_2d(
    vectors: npt.ArrayLike,
    groups: Sequence[str],
    query: npt.ArrayLike,
    title: str = "",
    labels: Sequence[str] = (),
) -> Figure:
    """Draw vectors as points on the plane on which they differ most (principal components).

    Parameters
    ----------
    vectors
        (n, dimension).
    groups
        The group of each point: its colour and its marker.
    query
        One more vector, drawn as a star.
    title
        Above the chart.
    labels
        A name for each point, or "": a point with a name has a circle.
    """
    import numpy as np

    matrix = np.asarray(vectors, dtype=float)
    if matrix.ndim != 2 or len(matrix) < 2:
        raise InputError(f"A map needs at least two vectors, not an array of {matrix.shape}")
    if len(groups) != len(matrix):
        raise InputError(f"There are {len(groups)} groups for {len(matrix)} vectors")
    points, star, share = plane(matrix, np.asarray(query, dtype=float))
    across = f"the two axes show {share:.0%} of the variance"
    figure, axes = chart(title, across, height=4.6)
    names = list(dict.fromkeys(groups))
    for index, name in enumerate(names):
        xs, ys = points[[group == name for group in groups]].T
        marker = MARKERS[index % len(MARKERS)]
        axes.scatter(xs, ys, color=colour(index), marker=marker, s=42, label=name, alpha=0.85)
    named = [(point, label) for point, label in zip(points, labels, strict=False) if label]
    for (x, y), label in named:
        axes.scatter(x, y, s=130, facecolors="none", edgecolors="black", linewidths=1.6)
        beside = axes.annotate(label, (x, y), xytext=(8, -4), textcoords="offset points")
        beside.set(fontsize=12, fontweight="bold")
    x, y = star
    axes.scatter(x, y, color="black", marker="*", s=220, label="the question", zorder=3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    nearest = groups[int(np.argmin(np.linalg.norm(points - star, axis=1)))]
    told = (
        f"Map{about(title)}: {len(matrix)} points in {len(names)} groups ({', '.join(names)}), "
        f"and the question, nearest to {nearest}."
    )
    return picture(figure, f"{told} The two axes show {share:.0%} of the variance.")


def plane(
    matrix: npt.NDArray[np.float64], query: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float]:
    """Project vectors on their first two principal components.

    Returns
    -------
    tuple
        The points (n, 2), the query's point, and the share of the variance they show.
    """
    import numpy as np

    mean = matrix.mean(axis=0)
    _, strengths, directions = np.linalg.svd(matrix - mean, full_matrices=False)
    basis = directions[:2]
    # The sign of a component is arbitrary: fixed, so that the map is the same on every machine.
    largest = np.abs(basis).argmax(axis=1)
    basis = basis * np.where(basis[[0, 1], largest] < 0, -1.0, 1.0)[:, None]
    total = float((strengths**2).sum())
    share = float((strengths[:2] ** 2).sum()) / total if total else 1.0
    return (matrix - mean) @ basis.T, (query - mean) @ basis.T, share
