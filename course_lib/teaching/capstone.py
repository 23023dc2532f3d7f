"""The capstone's report: whether it runs and is complete. What it is worth, people judge."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from course_lib.errors import InputError
from course_lib.settings import project_root
from course_lib.teaching.copies import MINE

NAME = "capstone"
FEWEST_QUESTIONS = 20
LEFT_TO_WRITE = "TODO"


class Requirement(NamedTuple):
    """One thing that a report needs, and whether it has it."""

    holds: bool
    says: str


def report() -> tuple[Path, bool]:
    """Return the learner's report, and whether it was begun now, as a copy of the template."""
    template = project_root() / "labs" / NAME / "report.ipynb"
    path = project_root() / MINE / NAME / template.name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        return path, False
    shutil.copyfile(template, path)
    return path, True


def examine(path: Path) -> Iterator[Requirement]:
    """Yield what a report needs: questions, two runs of them with an interval, words, no error.

    Parameters
    ----------
    path
        The notebook; the questions and what was found are beside it.
    """
    yield from _examine_data(path.parent)
    yield from _examine_notebook(path)


def _examine_data(folder: Path) -> Iterator[Requirement]:
    from course_lib.evaluation.kept import read_run
    from course_lib.evaluation.questions import read_questions
    from course_lib.evaluation.runs import compare

    try:
        questions = read_questions(folder / "questions.jsonl", kinds=["docs"])
        count = len(questions)
        yield Requirement(
            count >= FEWEST_QUESTIONS,
            f"at least {FEWEST_QUESTIONS} questions in questions.jsonl: there are {count}",
        )
        before, after = (read_run(folder / f"{name}.json") for name in ("before", "after"))
        asked = {one.question.question for one in after.answers}
        yield Requirement(
            asked == {one.question for one in questions},
            "before.json and after.json asked these questions, and no others",
        )
        yield Requirement(True, f"an interval of the difference: {compare(before, after)}")
    except InputError as error:
        yield Requirement(False, f"questions and runs: {error}")


def _examine_notebook(path: Path) -> Iterator[Requirement]:
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    try:
        notebook = nbformat.read(path, as_version=4)
    except (ValueError, nbformat.ValidationError) as error:
        yield Requirement(False, f"{path.name} is a notebook: {error}")
        return
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    left = sum(line.startswith(LEFT_TO_WRITE) for line in prose.splitlines())
    yield Requirement(left == 0, f"nothing is left to write: lines with {LEFT_TO_WRITE}: {left}")
    try:
        NotebookClient(notebook, resources={"metadata": {"path": str(path.parent)}}).execute()
    except CellExecutionError as error:
        yield Requirement(False, f"every cell runs: {error.ename}: {error.evalue}")
    else:
        yield Requirement(True, "every cell runs")
