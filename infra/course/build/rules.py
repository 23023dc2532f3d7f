"""What is looked up without execution: faults of labs, and advice on their size and words."""

from __future__ import annotations

from collections.abc import Sequence

from course_lib.teaching.notebooks.project import Project
from infra.course.build.anatomy import faults
from infra.course.build.plain_words import hard_phrases
from infra.course.build.source import code_lines
from infra.course.build.times import docstrings, written

BUDGETS = {
    "exercises": 4,
    "lines that a learner writes": 25,
    "lines of given code": 100,
    "cells with output": 18,
    "words with docstrings": 2_000,
}
"""What our own labs should have at most, so that one fits into an evening."""


def broken_rules(labs: Sequence[str] | None = None, *, project: Project | None = None) -> list[str]:
    """Return what is wrong with labs, a line each, with the file; `make test` fails for it.

    Parameters
    ----------
    labs
        Numbers or names; None for all.
    project
        Whose; the course's by default. Its notebooks are built.
    """
    project = project or Project()
    return [
        f"{project.relative(source.path)}: {one}"
        for source in project.sources(labs)
        for one in faults(source, project)
    ]


def advice(labs: Sequence[str] | None = None, *, project: Project | None = None) -> list[str]:
    """Return what is over a budget in labs, and each hard phrase of the course, a line each.

    Nothing is refused for it. The parameters are those of `broken_rules`.
    """
    import nbformat

    project = project or Project()
    found = []
    for source in project.sources(labs):
        lab, solution = (
            nbformat.read(path, as_version=4).cells
            for path in (project.lab_notebook(source), project.solution_notebook(source))
        )
        code = [cell for cell in lab if cell.cell_type == "code"]
        answers = [answer for cell in solution if (answer := written(cell.source))]
        texts = [cell.source for cell in lab if cell.cell_type == "markdown"]
        texts += [docstrings(cell.source) for cell in code]
        counts = (
            len(answers),
            sum(map(code_lines, answers)),
            sum(code_lines(cell.source) for cell in code if "nbgrader" not in cell.metadata),
            sum(bool(cell.get("outputs")) for cell in solution),
            sum(len(text.split()) for text in texts),
        )
        for (what, most), count in zip(BUDGETS.items(), counts, strict=True):
            if count > most:
                told = f"it has {count:,} {what}; the budget of our labs is {most:,}"
                found.append(f"{project.relative(source.path)}: {told}")
    return found + hard_phrases(project.root)
