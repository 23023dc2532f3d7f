"""A map of vectors in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from course_lib.teaching.lab.figures.base import MARKERS, Figure, chart, colour, picture

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


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

    points, star, share = plane(np.asarray(vectors, float), np.asarray(query, float))
    across = f"the two axes show {share:.0%} of the variance"
    figure, axes = chart(title, across, height=4.6)
    names = list(dict.fromkeys(groups))
    for index, name in enumerate(names):
        xs, ys = points[[group == name for group in groups]].T
        marker = MARKERS[index % len(MARKERS)]
        axes.scatter(xs, ys, color=colour(index), marker=marker, s=42, label=name, alpha=0.85)
    for (x, y), label in zip(points, labels, strict=False):
        if label:
            axes.scatter(x, y, s=130, facecolors="none", edgecolors="black", linewidths=1.6)
            beside = axes.annotate(label, (x, y), (8, -4), textcoords="offset points")
            beside.set(fontsize=12, fontweight="bold")
    axes.scatter(star[0], star[1], color="black", marker="*", s=220, label="the question", zorder=3)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9)
    axes.set(aspect="equal", xticks=[], yticks=[])
    nearest = groups[int(np.argmin(np.linalg.norm(points - star, axis=1)))]
    told = (
        f"Map, {title}: {len(points)} points in {len(names)} groups ({', '.join(names)}), "
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
