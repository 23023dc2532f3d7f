"""Figures of a pipeline: the graph of its tasks, and a run of it over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from course_lib.errors import InputError
from course_lib.teaching.lab.dag import Dag, Edge, Group, read_dag
from course_lib.teaching.lab.figures.base import FAINT, INK, Figure, chart, picture
from course_lib.teaching.lab.figures.strips import Look, Strip, strips

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from course_lib.pipeline.local import LocalRun

WIDE, HIGH = 1.35, 1.1
"""A task's box; from one to the next it is `ACROSS` to the right or `DOWN` below."""

ACROSS, DOWN = 2.2, 1.75
LINE, BETWEEN = 7, 0.9
"""A graph of more columns than fit in a line has two lines, with this between them."""

GROUP_COLOURS = ("#e69f00", "#56b4e9", "#cc79a7")
LOOKS = {
    "succeeded": Look("#009e73", "", "succeeded"),
    "failed": Look("#d55e00", "////", "failed"),
    "cached": Look("#56b4e9", "....", "from the cache"),
}

Places = Mapping[str, tuple[float, float]]


def dag(spec: Mapping[str, Any]) -> Figure:
    """Draw a compiled pipeline from left to right, with what is handed on along the arrows.

    Parameters
    ----------
    spec
        The first document of what kfp's compiler writes, as a dictionary.
    """
    read = read_dag(spec)
    places = _places(read)
    columns = round(max(x for x, _ in places.values()) / ACROSS) + 1
    ys = [y for _, y in places.values()]
    deep = max([_levels(group, read) for group in read.groups], default=-1) + 1
    longest = max([places[e.consumer][0] - places[e.producer][0] for e in read.edges], default=0)
    below = max(0.6 + 0.3 * deep, 0.15 * longest + 0.2)
    high = max(ys) - min(ys) + below + 0.6 + 0.45 * deep
    wide = min(1.75 * columns + 0.2, 11.5)
    figure, axes = chart(read.name, width=wide, height=high * wide / (ACROSS * columns) + 0.5)
    axes.set_axis_off()
    _draw_groups(axes, read, places)
    told = [_draw_edge(axes, places, *pair) for pair in _joined(read.edges)]
    for name, (x, y) in places.items():
        notes = read.tasks[name].notes
        _box(axes, x, y, WIDE, HIGH, facecolor="#e8f1f8", edgecolor="#0072b2", linewidth=1.4,
             zorder=2)  # fmt: skip
        words = name.replace("-", " ")
        words = words.replace(" ", "\n", 1) if len(words) > 13 else words
        axes.text(x, y + 0.1 * len(notes), words, ha="center", va="center", fontsize=10,
                  color=INK, linespacing=1.0)  # fmt: skip
        axes.text(x, y - HIGH / 2 + 0.08, "\n".join(notes), ha="center", va="bottom", fontsize=9,
                  color=FAINT, linespacing=1.1)  # fmt: skip
        told += [f"{name}: {', '.join(notes)}"] * bool(notes)
    xs = [x for x, _ in places.values()]
    axes.set_xlim(min(xs) - ACROSS / 2, max(xs) + ACROSS / 2)
    axes.set_ylim(min(ys) - below, max(ys) + 0.6 + 0.45 * deep)
    told += [f"{group.label}: {', '.join(group.members)}" for group in read.groups]
    tasks = ", ".join(places)
    return picture(figure, f"Graph of the pipeline {read.name}. Tasks: {tasks}. {'; '.join(told)}.")


def attempts(run: LocalRun, title: str = "") -> Figure:
    """Draw the attempts of a run as bars over time, a line for each task.

    Parameters
    ----------
    run
        What `run_locally` returned.
    title
        Above the chart.
    """
    if not run.attempts:
        raise InputError("Nothing ran, so there is nothing to draw")
    steps = list(dict.fromkeys(one.task.partition("[")[0] for one in run.attempts))
    names = sorted({one.task for one in run.attempts}, key=lambda name: _place(name, steps))
    least = max(run.seconds / 75, 0.001)  # so that a short one can be seen
    pieces = [
        Strip(names.index(one.task), one.at, max(one.seconds, least), LOOKS[one.outcome])
        for one in run.attempts
    ]
    figure, axes = strips(names, pieces, title)
    axes.set_xlim(0, max(run.seconds, least))
    axes.set_xlabel("seconds")
    told = [f"{one.task} {LOOKS[one.outcome].name}" for one in run.attempts]
    return picture(figure, f"Timeline of a run{': ' if title else ''}{title}. {'; '.join(told)}.")


def _place(task: str, steps: list[str]) -> tuple[int, int, str]:
    """Return where the line of a task is: steps as they began, each with its shards in order."""
    step, _, shard = task.partition("[")
    return steps.index(step), len(shard), shard


def _places(read: Dag) -> dict[str, tuple[float, float]]:
    """Return the middle of each task's box: a column for each layer, in line with what it takes.

    A task that takes nothing is just before the first that takes something of it.
    """
    layers = {name: task.layer for name, task in read.tasks.items()}
    for name in layers.keys() - {edge.consumer for edge in read.edges}:
        after = [layers[edge.consumer] for edge in read.edges if edge.producer == name]
        layers[name] = min(after, default=layers[name] + 1) - 1
    columns = max(layers.values()) + 1
    line = columns if columns <= LINE else (columns + 1) // 2
    rows: dict[str, float] = {}
    for name in sorted(layers, key=lambda one: (layers[one], read.tasks[one].layer == 0)):
        before = {edge.producer for edge in read.edges if edge.consumer == name}
        own = [rows[one] for one in before if layers[one] // line == layers[name] // line]
        beside = [row for other, row in rows.items() if layers[other] == layers[name]]
        row = sum(own) / len(own) if own else 0.0
        while any(abs(row - other) < 1 for other in beside):
            row += 1
        rows[name] = row
    first = max(row for name, row in rows.items() if layers[name] < line)
    lower = (first + 1) * DOWN + BETWEEN
    return {
        name: (layers[name] % line * ACROSS, -row * DOWN - layers[name] // line * lower)
        for name, row in rows.items()
    }


def _joined(edges: list[Edge]) -> list[tuple[str, str, list[Edge]]]:
    """Return all that goes from one task to another together."""
    pairs: dict[tuple[str, str], list[Edge]] = defaultdict(list)
    for edge in edges:
        if edge not in pairs[edge.producer, edge.consumer]:
            pairs[edge.producer, edge.consumer].append(edge)
    return [(producer, consumer, list(found)) for (producer, consumer), found in pairs.items()]


def _draw_edge(axes: Axes, places: Places, producer: str, consumer: str, edges: list[Edge]) -> str:
    (x0, y0), (x1, y1) = places[producer], places[consumer]
    is_artifact = any(edge.is_artifact for edge in edges)
    is_long = x1 - x0 > ACROSS + 0.01  # past other tasks: in a bow above or below them
    bend = 0.0 if not is_long else -0.3 if y0 > y1 else 0.3
    begin, end = (x0 + WIDE / 2, y0), (x1 - WIDE / 2, y1)
    if x1 <= x0:  # down to the second line
        begin, end, bend = (x0, y0 - HIGH / 2), (x1, y1 + HIGH / 2), 0.0
    axes.annotate(
        "", xy=end, xytext=begin,
        arrowprops={
            "arrowstyle": "-|>", "color": INK, "linewidth": 1.5 if is_artifact else 1.0,
            "linestyle": "-" if is_artifact else "--", "connectionstyle": f"arc3,rad={bend}",
            "shrinkA": 0, "shrinkB": 0,
        }, zorder=1,
    )  # fmt: skip
    labels = [edge.label for edge in edges if edge.label]
    lift = -bend * (x1 - x0 - WIDE) / 2
    middle = (begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2 + lift + 0.05
    axes.text(*middle, "\n".join(labels), ha="center",
              va="bottom", fontsize=8, color=INK, linespacing=1.0,
              bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5}, zorder=3)  # fmt: skip
    return f"{producer} → {consumer}" + (f" ({', '.join(labels)})" if labels else "")


def _draw_groups(axes: Axes, read: Dag, places: Places) -> None:
    for index, group in enumerate(read.groups):
        inside = [places[name] for name in group.members]
        if not inside:
            continue
        colour = GROUP_COLOURS[index % len(GROUP_COLOURS)]
        room = 0.16 + 0.3 * _levels(group, read)  # for the groups inside, and what they are called
        left, right = min(x for x, _ in inside), max(x for x, _ in inside)
        low, high = min(y for _, y in inside), max(y for _, y in inside)
        across = right - left + WIDE + 0.2 + 0.2 * _levels(group, read)
        _box(axes, (left + right) / 2, (low + high) / 2, across, high - low + HIGH + 2 * room,
             facecolor=f"{colour}18", edgecolor=colour, linestyle="--", linewidth=1.4,
             zorder=0)  # fmt: skip
        axes.text((left + right) / 2, high + HIGH / 2 + room + 0.04, group.label, ha="center",
                  va="bottom", fontsize=9, color=FAINT)  # fmt: skip


def _levels(group: Group, read: Dag) -> int:
    """Return how many groups are within a group, one inside the other."""
    inner = [one for one in read.groups if set(one.members) < set(group.members)]
    return max([_levels(one, read) + 1 for one in inner], default=0)


def _box(axes: Axes, x: float, y: float, width: float, height: float, **style: Any) -> None:
    from matplotlib.patches import FancyBboxPatch

    corner = (x - width / 2 + 0.05, y - height / 2 + 0.05)
    axes.add_patch(
        FancyBboxPatch(corner, width - 0.1, height - 0.1, boxstyle="round,pad=0.05", **style)
    )
