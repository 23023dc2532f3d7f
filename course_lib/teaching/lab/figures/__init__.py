"""The figures of the labs, as `lab.show.cuts(…)`: each returns a `Figure` that a notebook displays.

Every figure has a description for those who cannot see it, brings its own background, so that it
is readable on light and dark themes, and never tells things apart by colour alone.
"""

from course_lib.teaching.lab.figures.base import Figure
from course_lib.teaching.lab.figures.measured import (
    bars,
    changes,
    intervals,
    pairs,
    stacked,
    waits,
)
from course_lib.teaching.lab.figures.results import passages, plan, ranking
from course_lib.teaching.lab.figures.stages import pipeline
from course_lib.teaching.lab.figures.strips import attempts, timeline, torn
from course_lib.teaching.lab.figures.text import cuts, pieces, spans

__all__ = [
    "Figure",
    "attempts",
    "bars",
    "changes",
    "cuts",
    "intervals",
    "pairs",
    "passages",
    "pieces",
    "pipeline",
    "plan",
    "ranking",
    "spans",
    "stacked",
    "timeline",
    "torn",
    "waits",
]
