"""What a learner reads when a check has passed: the prose tagged `solution` after each exercise.

It is written where the exercise is, in the lab's source. The built file beside the checks is what a
notebook shows, because learners may have no `solutions/`.
"""

from __future__ import annotations

import json
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.teaching.notebooks.project import Project
from infra.course.build.source import read_cells


def explanations(project: Project) -> dict[str, str]:
    """Return the explanation of each exercise that has one, by the exercise's id."""
    found: dict[str, str] = {}
    for source in project.sources():
        exercise = ""
        for cell in read_cells(source):
            exercise = cell.exercise or exercise
            if cell.role == "prose" and exercise and "solution" in cell.tags:
                before = found.get(exercise, "")
                found[exercise] = f"{before}\n\n{cell.source}".strip()
    return found


def explanations_file(project: Project) -> Path:
    """Return where the built file is."""
    return (project.root / project.checks_file).with_name("explanations.json")


def write_explanations(project: Project) -> bool:
    """Write the file and return whether it changed."""
    text = json.dumps(explanations(project), ensure_ascii=False, indent=1)
    return write_atomically(explanations_file(project), text + "\n")


def explanations_are_current(project: Project) -> bool:
    """Tell whether the file holds what the sources say."""
    file = explanations_file(project)
    return file.is_file() and json.loads(file.read_bytes()) == explanations(project)
