"""The figures of the labs, as `lab.show.cuts(…)`: each returns a `Figure` that a notebook displays.

Every figure has a description for those who cannot see it, brings its own background, so that it
is readable on light and dark themes, and never tells things apart by colour alone.
"""

from course_lib.teaching.lab.figures.base import Figure
from course_lib.teaching.lab.figures.dags import attempts, dag
from course_lib.teaching.lab.figures.definitions import torn
from course_lib.teaching.lab.figures.manifests import outline, pieces, tree
from course_lib.teaching.lab.figures.measured import gains, pages_and_recall, recall_by_pages
from course_lib.teaching.lab.figures.pipeline import pipeline
from course_lib.teaching.lab.figures.plans import plan
from course_lib.teaching.lab.figures.search import passages, ranking
from course_lib.teaching.lab.figures.serving import timeline
from course_lib.teaching.lab.figures.strips import shares
from course_lib.teaching.lab.figures.text import cuts, spans
from course_lib.teaching.lab.figures.turns import turns
from course_lib.teaching.lab.figures.vectors import arrows, map_2d

__all__ = [
    "Figure",
    "arrows",
    "attempts",
    "cuts",
    "dag",
    "gains",
    "map_2d",
    "outline",
    "pages_and_recall",
    "passages",
    "pieces",
    "pipeline",
    "plan",
    "ranking",
    "recall_by_pages",
    "shares",
    "spans",
    "timeline",
    "torn",
    "tree",
    "turns",
]
