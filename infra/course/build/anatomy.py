"""What must not be wrong with a lab, looked up in its built notebooks.

`faults` gives one line for each thing that is: a link that leads nowhere, an exercise that is not
checked, a path of one machine. Nothing is run, and it takes a second for all labs: `make build`
says it, and `make test` fails.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_lib.teaching.notebooks.cells import checked_exercise
from course_lib.teaching.notebooks.execute import WIDGET
from course_lib.teaching.notebooks.project import LabSource, Project
from infra.course.build.assemble import COMPARED

if TYPE_CHECKING:
    from nbformat import NotebookNode

_ABSOLUTE = re.compile(r"(?<![\w./~:-])(/(?:home|root|Users|tmp|private)/\w|[A-Z]:\\\\?\w)")
_TIMING = re.compile(r"(?<!\bk)\d(?:\.\d+)?\s?(?:ms|µs|us|s|sec|seconds?|minutes?)\b")
_CLOCK = re.compile(r"\b(perf_counter|monotonic|time\.time|timeit|process_time)\b|^\s*%", re.M)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_LABEL = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def faults(source: LabSource, project: Project) -> list[str]:
    """Return what is wrong with the anatomy of one lab, a line each.

    Parameters
    ----------
    source, project
        Which lab, and whose; both of its notebooks are read from disk.
    """
    import nbformat

    lab = nbformat.read(project.lab_notebook(source), as_version=4)
    solution = nbformat.read(project.solution_notebook(source), as_version=4)
    exercises = project.checks(source.lab)
    return [
        *_parts(lab),
        *_exercises(lab, exercises),
        *_links(lab, project),
        *_outputs(solution),
        *_claims(solution),
        *(f"the lab: {fault}" for fault in _paths(lab, project)),
        *(f"the solution: {fault}" for fault in _paths(solution, project)),
    ]


def _parts(lab: NotebookNode) -> Iterator[str]:
    parameters = [c for c in lab.cells if "parameters" in c.metadata.get("tags", [])]
    if len(parameters) != 1:
        yield f"it has {len(parameters)} cells tagged `parameters`, not one"
    if not any(c.get("id") == "setup" for c in lab.cells):
        yield "no cell calls start()"


def _exercises(lab: NotebookNode, exercises: Mapping[str, Any]) -> Iterator[str]:
    code = [cell for cell in lab.cells if cell.cell_type == "code"]
    ids = [cell.id for cell in code]
    for name in exercises:
        suffix = name.replace(".", "-")
        if f"exercise-{suffix}" not in ids:
            yield f"exercise {name} has checks and no cell"
        elif f"check-{suffix}" not in ids:
            yield f"exercise {name} has no check cell"
        elif ids.index(f"check-{suffix}") < ids.index(f"exercise-{suffix}"):
            yield f"exercise {name} is checked before it is written"
    checked = [checked_exercise(cell.source) for cell in code]
    for name in sorted({name for name in checked if name and checked.count(name) > 1}):
        yield f"exercise {name} is checked twice"


def _links(lab: NotebookNode, project: Project) -> Iterator[str]:
    for cell in lab.cells:
        if cell.cell_type != "markdown":
            continue
        for target in _LINK.findall(_CODE.sub("", cell.source)):
            if re.match(r"[a-z]+:|#", target):
                continue
            path, _, anchor = target.partition("#")
            # learners read a copy in my/, instructors the solution: all are siblings of labs/
            files = [(folder / path).resolve() for folder in (project.labs, project.solutions)]
            if not all(file.exists() for file in files):
                yield f"the link {target} does not resolve from labs/ and solutions/"
            elif anchor and files[0].suffix == ".md" and anchor not in _anchors(files[0]):
                yield f"the link {target} names a heading that is not there"


def _anchors(path: Path) -> set[str]:
    text = path.read_text(encoding="utf-8")
    anchors = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for heading in re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE):
        anchors.add(re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-"))
    return anchors


def _outputs(solution: NotebookNode) -> Iterator[str]:
    for cell in solution.cells:
        if cell.cell_type != "code":
            continue
        compared = COMPARED in cell.metadata.get("tags", [])
        if compared and _CLOCK.search(cell.source):
            yield f"{cell.id} is compared by nbval and looks at the clock"
        for output in cell.outputs:
            data = output.get("data", {})
            if output.output_type == "error" and "raises-exception" not in cell.metadata.get(
                "tags", []
            ):
                yield f"{cell.id} failed"
            if output.output_type == "stream" and output.name == "stderr":
                yield f"{cell.id} wrote to stderr: {output.text.strip().splitlines()[-1]}"
            if WIDGET in data:
                yield f"{cell.id} holds a widget, which no reader of the file can show"
            if compared and _TIMING.search(output.get("text", "") or data.get("text/plain", "")):
                yield f"{cell.id} is compared by nbval and its output holds a time"
            if not _described(output):
                yield f"{cell.id} shows a picture without alt text"


def _claims(solution: NotebookNode) -> Iterator[str]:
    """Each is right after an output, and its asserts give as messages what the prose says."""
    told = _plain(" ".join(c.source for c in solution.cells if c.cell_type == "markdown"))
    for before, cell in pairwise(solution.cells):
        if "claim" not in cell.metadata.get("tags", []):
            continue
        if not before.get("outputs"):
            yield f"{cell.id} is not right after an output"
        if cell.outputs:
            yield f"{cell.id} has an output itself"
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Assert):
                says = node.msg.value if isinstance(node.msg, ast.Constant) else "nothing"
                if _plain(str(says)) not in told:
                    yield f"{cell.id} says {says!r}, and the prose does not"


def _plain(text: str) -> str:
    """Return prose without links and emphasis, and with single spaces."""
    return " ".join(re.sub(r"[*_`]", "", _LABEL.sub(r"\1", text)).split())


def _described(output: NotebookNode) -> bool:
    """Tell whether every picture of an output has a text for those who cannot see it."""
    data, metadata = output.get("data", {}), output.get("metadata", {})
    html = data.get("text/html", "")
    if any(not re.search(r'\balt="[^"]', tag) for tag in re.findall(r"<img\b[^>]*>", html)):
        return False
    if "<svg" in html and not re.search(r"aria-label=|<title>|role=.img.", html):
        return False
    if html:
        return True
    images = [kind for kind in data if kind.startswith("image/")]
    alts = [metadata.get("alt"), *(metadata.get(kind, {}).get("alt") for kind in images)]
    return not images or any(alts)


def _paths(notebook: NotebookNode, project: Project) -> Iterator[str]:
    roots = {str(project.root), project.root.as_posix()}
    for cell in notebook.cells:
        texts = [cell.source]
        for output in cell.get("outputs", []):
            texts += [output.get("text", ""), *output.get("data", {}).values()]
        for text in texts:
            if isinstance(text, str) and (
                any(root in text for root in roots) or _ABSOLUTE.search(text)
            ):
                yield f"{cell.id} holds a path of one machine"
                break
