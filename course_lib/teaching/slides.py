"""The slides of a lab: its goals, predictions, figures and key points, out of the solution.

`deck` makes a notebook of slides of an executed solution. It sets the tags of the cells by a rule,
so that authors set none. nbconvert makes the page, as `jupyter nbconvert --to slides` does.

A prediction's slide holds what it is about: what the lab says or shows directly before it, and the
code that runs after it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from nbformat import NotebookNode

MOST = 20
"""Slides of a deck."""

PREDICT = "> **Predict"
"""How a prediction begins."""

ANSWERED, OPEN = 1, 2
"""The rank of a prediction that a figure answers, and of another; all else has 0."""

LINES, WIDTH = 22, 100
"""What is on a slide beside a prediction: lines at most, and characters of a line."""

MARKS = r" +# (fmt: skip|noqa: \w+|type: ignore\S*)"
"""Comments for tools, which neither slides nor the site's pages show."""

IMPORTS = rf"^ *(from \S+ )?import (\([^)]*\)|.*)\n|^\n|{MARKS}"
"""What slides leave out of code: imports, empty lines, and marks for tools."""

REVEAL = "LICENSE", "dist/reveal.js", "dist/reveal.css", "plugin/notes/notes.js"
"""What a deck needs of reveal.js, which the wheel of `sphinx-revealjs` carries."""


@dataclass
class Block:
    """A paragraph of the prose, or a code cell, or what one of them prints or draws.

    An exercise ends what belongs to the next prediction, and is on no slide.
    """

    kind: Literal["text", "code", "output", "figure", "exercise"]
    text: str = ""
    output: NotebookNode | None = None

    @property
    def lines(self) -> int:
        """How many lines it takes on a slide, with the space above it."""
        return 1 + sum(1 + max(len(line) - 1, 0) // WIDTH for line in self.text.splitlines())


class Slide(list["NotebookNode"]):
    """The cells of a slide; those with the highest `rank` are left out first."""

    rank = 0


def write_decks(solutions: Path, site: Path, template: Path) -> None:
    """Write the slides of each lab into the folder `slides` of the site.

    Parameters
    ----------
    solutions
        The folder of the executed solutions.
    site
        The built site; reveal.js is copied into its `_static`.
    template
        The folder of nbconvert's template and the slides' style sheet.
    """
    import nbformat
    from nbconvert import SlidesExporter

    reveal = site / "_static" / "reveal"
    for name in REVEAL:
        (reveal / name).parent.mkdir(parents=True, exist_ok=True)
        carried = files("sphinx_revealjs") / "_static" / "revealjs" / name
        (reveal / name).write_bytes(carried.read_bytes())
    (reveal / "dist" / "theme").mkdir(exist_ok=True)
    shutil.copyfile(template / "course.css", reveal / "dist" / "theme" / "course.css")
    exporter = SlidesExporter(
        template_name=template.name,
        extra_template_basedirs=[str(template.parent)],
        reveal_url_prefix="../_static/reveal",
        reveal_theme="course",
        exclude_input=True,
        exclude_anchor_links=True,
        embed_images=True,
    )
    (site / "slides").mkdir(exist_ok=True)
    for path in sorted(solutions.glob("*.ipynb")):
        slides = deck(nbformat.read(path, as_version=4))
        where = {"metadata": {"name": path.stem, "path": str(solutions.parent)}}
        page, _ = exporter.from_notebook_node(slides, where)
        (site / "slides" / f"{path.stem}.html").write_text(page, encoding="utf-8")


def deck(solution: NotebookNode) -> NotebookNode:
    """Return the slides of a lab as a notebook whose cells bear the tags of a slide show.

    The slides are the title, the goals, the predictions and figures in the lab's order, the key
    points and the questions. If there are more than `MOST`, predictions are left out: the last
    ones first, and those that a figure answers at the very end. The lab's prose between two slides
    is in the notes of the first.

    Parameters
    ----------
    solution
        The executed solution.
    """
    from nbformat.v4 import new_notebook

    about = solution.metadata["course"]
    slides = _slides(solution)
    kept = sorted(range(len(slides)), key=lambda place: (slides[place].rank, place))[:MOST]
    cells = [cell for place in sorted(kept) for cell in slides[place]]
    return new_notebook(cells=cells, metadata={"title": f"{about['lab']} · {about['title']}"})


def _slides(solution: NotebookNode) -> list[Slide]:
    about = solution.metadata["course"]
    goals = "\n".join(f"- {goal}" for goal in about["objectives"])
    goals += f"\n\nAbout {about['minutes']} minutes. Needs: {about['needs']}."
    slides = [
        Slide([_text("slide", f"# {about['lab']} · {about['title']}\n\n{about['promise']}")]),
        Slide([_text("slide", f"## You will be able to\n\n{goals}")]),
    ]
    section = ""
    predicted: Slide | None = None
    blocks = list(_blocks(solution.cells[1:]))
    for place, block in enumerate(blocks):
        text = block.text
        if block.kind == "figure":
            if predicted:
                predicted.rank, predicted = ANSWERED, None
            if section:
                slides.append(Slide([_text("slide", section)]))
            drawn = _figure(block.output) if block.output else _text("-", text)
            slides[-1 if section else 0].append(drawn)
        elif block.kind != "text":
            continue
        elif text.startswith("## "):
            section, predicted = text, None
        elif text.startswith(PREDICT):
            slides.append(predicted := Slide([_text("slide", section)]))
            predicted.extend(_prediction(blocks, place))
            predicted.rank = OPEN
        elif section.startswith(("## Recap", "## Three questions")):
            listed = re.sub(r"\n- What passed is part.*", "", text)
            slides.append(Slide([_text("slide", f"{section}\n\n{listed}")]))
        else:
            slides[-1].append(_text("notes", text))
    return slides


def _prediction(blocks: list[Block], place: int) -> Iterator[NotebookNode]:
    """Give a prediction between what it is about: what comes directly before, and the code after.

    If there is room, what comes before that is there, too, back to the last slide.
    """
    before = []
    for block in reversed(blocks[:place]):
        if block.kind in ("figure", "exercise") or block.text.startswith(("## ", PREDICT)):
            break
        before.append(block)
    room = LINES - (before[0].lines if before else 0)
    after = [block for block in blocks[place + 1 : place + 2] if block.kind == "code"]
    if after and after[0].lines > room:
        after = []
    room -= sum(block.lines for block in after)
    kept = before[:1]
    for block in before[1:]:
        room -= block.lines
        if room < 0:
            break
        kept.append(block)
    yield from map(_context, reversed(kept))
    yield _text("-", blocks[place].text)
    yield from map(_context, after)


def _blocks(cells: list[NotebookNode]) -> Iterator[Block]:
    """Give the paragraphs of the prose, without what is folded, and the code with its outputs."""
    for cell in cells:
        if cell.cell_type == "markdown":
            text = re.sub(r"<details>.*?</details>", "", cell.source, flags=re.DOTALL)
            for part in filter(None, re.split(r"\n\s*\n", text.strip())):
                yield Block("figure" if part.startswith("![") else "text", part)
        elif "nbgrader" in cell.metadata or cell.source.startswith("lab.hint("):
            yield Block("exercise")
        elif cell.cell_type == "code" and "claim" not in cell.metadata.get("tags", []):
            yield Block("code", re.sub(IMPORTS, "", cell.source, flags=re.MULTILINE).strip())
        for output in cell.get("outputs", []):
            shown = output.get("data", {})
            if re.match(r"\s*<(figure|img)\b", shown.get("text/html", "")):
                yield Block("figure", output=output)
            elif "text/html" not in shown:
                yield Block("output", output.get("text", shown.get("text/plain", "")).rstrip())


def _context(block: Block) -> NotebookNode:
    cell = _text("-", block.text)
    if block.kind != "text":
        cell.source = f"````\n{block.text}\n````"
    cell.metadata["tags"] = ["context"]
    return cell


def _text(kind: str, text: str) -> NotebookNode:
    from nbformat.v4 import new_markdown_cell

    unlinked = re.sub(r"(?<!!)\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("](../", "](")
    return new_markdown_cell(unlinked, metadata={"slideshow": {"slide_type": kind}})


def _figure(output: NotebookNode) -> NotebookNode:
    from nbformat.v4 import new_code_cell

    return new_code_cell(outputs=[output], metadata={"slideshow": {"slide_type": "-"}})
