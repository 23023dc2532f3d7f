"""The slides that are made of a solution."""

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_lib.settings import project_root
from course_lib.teaching.slides import MOST, deck

SOLUTIONS = sorted((project_root() / "solutions").glob("*.ipynb"))
ABOUT = {"lab": "01", "title": "Cuts", "promise": "You cut.", "needs": "nothing", "minutes": 9}
FIGURE = new_output("display_data", {"text/html": "<figure>a bar</figure>"})
HINT = new_output("display_data", {"text/html": "<details>a hint</details>"})
PREDICT = "> **Predict.** How many"


def slides(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the text of each slide, a figure as ``[figure]``, without notes."""
    found: list[str] = []
    for cell in deck(notebook).cells:
        kind = cell.metadata["slideshow"]["slide_type"]
        text = "[figure]" if cell.cell_type == "code" else cell.source
        if kind == "slide":
            found.append(text)
        elif kind == "-":
            found[-1] += f"\n\n{text}"
    return found


def solution(*cells: Any) -> nbformat.NotebookNode:
    head = new_markdown_cell("# 01 · Cuts\n\nYou cut.")
    made = [
        new_markdown_cell(cell) if isinstance(cell, str) else new_code_cell("show()", outputs=cell)
        for cell in cells
    ]
    about = ABOUT | {"objectives": ["cut", "join"]}
    return new_notebook(cells=[head, *made], metadata={"course": about})


def test_a_deck_has_title_goals_predictions_figures_key_points_and_questions() -> None:
    made = solution(
        [FIGURE],  # the strip of the pipeline
        f"## First\n\nWords about a [cut](../labs/GLOSSARY.md#cut).\n\n{PREDICT}\n> [cuts](x.md)?",
        [HINT, FIGURE],
        "It shows this.",
        "## Recap\n\n- Cut well.\n- What passed is part of your own system now: `f`.",
        "## Three questions\n\n1. Why?\n\n<details>\n\n1. So.\n\n</details>\n\n## Next",
    )
    assert slides(made) == [
        "# 01 · Cuts\n\nYou cut.\n\n[figure]",
        "## You will be able to\n\n- cut\n- join\n\nAbout 9 minutes. Needs: nothing.",
        f"## First\n\nWords about a cut.\n\n{PREDICT}\n> cuts?\n\n````\nshow()\n````",
        "## First\n\n[figure]",
        "## Recap\n\n- Cut well.",
        "## Three questions\n\n1. Why?",
    ]
    notes = [
        cell.source
        for cell in deck(made).cells
        if cell.metadata["slideshow"]["slide_type"] == "notes"
    ]
    assert notes == ["Words about a cut.", "It shows this."]


def test_predictions_are_left_out_first_those_that_no_figure_answers() -> None:
    opened = [f"## Text {number}\n\n{PREDICT} {number}?" for number in range(12)]
    drawn = [
        part
        for number in range(5)
        for part in (f"## Figure {number}\n\n{PREDICT} in {number}?", [FIGURE])
    ]
    made = slides(solution(*opened, *drawn))
    assert len(made) == MOST == 20
    assert [text for text in made if "[figure]" in text or "in 4" in text][-2:] == [
        f"## Figure 4\n\n{PREDICT} in 4?\n\n````\nshow()\n````",
        "## Figure 4\n\n[figure]",
    ]
    assert sum(text.startswith("## Text") for text in made) == MOST - 2 - 10


def test_a_prediction_is_shown_with_what_it_is_about() -> None:
    printed = [new_output("stream", text="2\n")]
    made = solution("## Text\n\nFar.", printed, f"Near.\n\n{PREDICT}?", [], "After.")
    code = "````\nshow()\n````"
    whole = f"## Text\n\nFar.\n\n{code}\n\n````\n2\n````\n\nNear.\n\n{PREDICT}?\n\n{code}"
    assert slides(made)[2:] == [whole]
    long = "\n".join("word" for _ in range(30))
    made = solution(f"## Text\n\n{long}\n\nNear.\n\n{PREDICT}?", [])
    assert slides(made)[2:] == [f"## Text\n\nNear.\n\n{PREDICT}?\n\n{code}"]


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_each_lab_has_8_to_20_slides_that_end_with_recap_and_questions(path: Path) -> None:
    made = slides(nbformat.read(path, as_version=4))
    assert 8 <= len(made) <= MOST
    assert made[-2].startswith("## Recap\n\n") and made[-1].startswith("## Three questions")
    assert any("[figure]" in text or "![" in text for text in made[2:])
