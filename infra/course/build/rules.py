"""The rules that need no execution: how a lab is built up, and words that no page has."""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.teaching.notebooks.project import Project
from infra.course.build.anatomy import faults
from infra.course.build.plain_words import hard_phrases


def broken_rules(labs: Sequence[str] | None = None, *, project: Project | None = None) -> list[str]:
    """Return what breaks a rule, a line each, with its file; it takes a second or two.

    Parameters
    ----------
    labs
        Whose anatomy to look at; None for all. Hard phrases are looked for everywhere.
    project
        Whose; the course's by default. Its notebooks are built.
    """
    project = project or Project()
    found = hard_phrases(project.root)
    for source in project.sources(labs):
        found += [f"{project.relative(source.path)}: {one}" for one in faults(source, project)]
    return found
