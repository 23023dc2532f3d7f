from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from course_lib.teaching.build import LabSource, Project
from course_lib.teaching.build.builder import dump
from course_lib.teaching.build.source import code_lines
from tests.notebooks.anatomy import faults

COURSE = Project()


def test_every_lab_has_the_anatomy_of_a_lab() -> None:
    found = {source.lab: faults(source, COURSE) for source in COURSE.sources()}
    assert found == {source.lab: [] for source in COURSE.sources()}


class Bench:
    """A lab of good anatomy, to be spoilt one rule at a time."""

    def __init__(self, root: Path) -> None:
        self.exercise = SimpleNamespace(points=1, hints=("a", "b"))
        self.project = Project(root=root, checks=lambda _: {"1.1": self.exercise})
        self.source = LabSource("01", root / "solutions" / "01_good.py")
        for folder in ("labs", "solutions"):
            (root / folder).mkdir()
        (root / "labs" / "GLOSSARY.md").write_text("# A\n\n## Data set\n", encoding="utf-8")
        cell, text = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
        self.cells = [
            text("# 01 · Good\n\nSee [data](../labs/GLOSSARY.md#data-set)."),
            cell("data_dir = 'data'", metadata={"tags": ["parameters"]}, id="parameters"),
            cell("lab = start('01')", id="setup"),
            cell("def f(): ...", id="exercise-1-1"),
            cell("lab.check('1.1', f)", id="check-1-1"),
            cell("lab.show.cuts(1)", id="figure"),
            cell("len('abc')", metadata={"tags": ["nbval-check-output"]}, id="compared"),
            text("## Recap\n\nWhat it was.\n\n## Three questions\n\n1. A?\n2. B?\n3. C?"),
            *(text(f"Text {n}.", id=f"text-{n}") for n in range(16)),
            *(cell(f"print({n})", id=f"code-{n}") for n in range(14)),
        ]
        html = '<figure aria-label="x"><img src="data:," alt="cuts"></figure>'
        self.output("figure", nbformat.v4.new_output("display_data", {"text/html": html}))
        number = 0
        for one in self.cells:
            if one.cell_type == "code":
                number += 1
                one.execution_count = number

    def __getitem__(self, cell_id: str) -> nbformat.NotebookNode:
        (found,) = (cell for cell in self.cells if cell.id == cell_id)
        return found

    def output(self, cell_id: str, output: nbformat.NotebookNode) -> None:
        self[cell_id].outputs = [output]

    def faults(self) -> list[str]:
        for path in (
            self.project.lab_notebook(self.source),
            self.project.solution_notebook(self.source),
        ):
            path.write_text(dump(nbformat.v4.new_notebook(cells=self.cells)), encoding="utf-8")
        return faults(self.source, self.project)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_good_lab_has_no_faults(bench: Bench) -> None:
    assert bench.faults() == []


def drop(bench: Bench, *ids: str) -> None:
    bench.cells = [cell for cell in bench.cells if cell.id not in ids]


def stream(text: str, name: str = "stdout") -> nbformat.NotebookNode:
    return nbformat.v4.new_output("stream", name=name, text=text)


def picture(**data: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_output(
        "display_data", {kind.replace("_", "/"): value for kind, value in data.items()}
    )


def spoil_source(cell_id: str, source: str):
    return lambda bench: bench[cell_id].update(source=source)


def spoil_output(cell_id: str, output: nbformat.NotebookNode):
    return lambda bench: bench.output(cell_id, output)


def spoil_text(old: str, new: str):
    def spoil(bench: Bench) -> None:
        (cell,) = (cell for cell in bench.cells if old in cell.source)
        cell.source = cell.source.replace(old, new)

    return spoil


LONG = "\n".join(f"x{n} = {n}" for n in range(16))
FIGURE = '<figure><img src="data:,"></figure>'

SPOILT = [
    (lambda b: drop(b, *[f"{k}-{n}" for k in ("text", "code") for n in (1, 2)]), "it has 34 cells"),
    (lambda b: drop(b, *[f"text-{n}" for n in range(6)]), "38% of its cells are prose"),
    (lambda b: drop(b, "parameters"), "0 cells tagged `parameters`"),
    (lambda b: drop(b, "setup"), "no cell calls start()"),
    (lambda b: drop(b, "figure"), "no cell shows a figure"),
    (lambda b: drop(b, "exercise-1-1"), "exercise 1.1 has checks and no cell"),
    (lambda b: drop(b, "check-1-1"), "exercise 1.1 has no check cell"),
    (lambda b: b.cells.insert(2, b.cells.pop(4)), "exercise 1.1 is checked before it is written"),
    (spoil_source("code-1", "lab.check('1.1', f)"), "exercise 1.1 is checked twice"),
    (lambda b: setattr(b.exercise, "hints", ("a",)), "exercise 1.1 has 1 hints"),
    (spoil_text("Recap", "Summary"), "no heading says Recap"),
    (spoil_text("3. C?", ""), "2 numbered questions"),
    (spoil_text("#data-set", "#datum"), "names a heading that is not there"),
    (spoil_text("GLOSSARY.md", "GLOSSAR.md"), "does not resolve"),
    (lambda b: [spoil_source(f"code-{n}", LONG)(b) for n in range(3)], "16 lines at the 90th"),
    (lambda b: [spoil_source(f"code-{n}", LONG)(b) for n in range(12)], "in the median"),
    (spoil_source("code-1", "open('/home/anna/a.md')"), "code-1 holds a path of one machine"),
    (spoil_output("code-1", stream("C:\\Users\\anna")), "code-1 holds a path of one machine"),
    (spoil_output("code-1", stream("careful", "stderr")), "code-1 wrote to stderr: careful"),
    (spoil_output("code-1", picture(text_html=FIGURE)), "code-1 shows a picture without alt"),
    (spoil_output("code-1", picture(image_png="aa==")), "code-1 shows a picture without alt"),
    (spoil_output("compared", stream("in 3.2 ms")), "compared is compared by nbval and its output"),
    (spoil_source("compared", "time.perf_counter()"), "compared by nbval and looks at the clock"),
    (lambda b: b["code-1"].update(execution_count=1), "not executed from the first cell"),
]


@pytest.mark.parametrize(("spoil", "fault"), SPOILT, ids=[fault for _, fault in SPOILT])
def test_a_broken_rule_is_named(bench: Bench, spoil, fault: str) -> None:
    spoil(bench)
    assert [one for one in bench.faults() if fault in one] != []


def test_the_lab_without_exercises_may_be_shorter(bench: Bench) -> None:
    drop(bench, *[f"{kind}-{n}" for kind in ("text", "code") for n in range(8)])
    assert any("22 cells" in fault for fault in bench.faults())
    bench.source = LabSource("00", bench.source.path)
    assert not any("cells, not" in fault for fault in bench.faults())


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("# why\n\nx = 1  # because", 1),
        ("x = (\n    1,\n)", 3),
        ("class A:\n    'Say.'\n\n    def f(self):\n        'Say.'\n        return 1", 3),
        ("%time x\ny", 2),
        ("%%bash\necho {", 2),
        ("sql = '''\nSELECT 1\n'''", 3),
    ],
)
def test_only_lines_of_code_are_counted(source: str, lines: int) -> None:
    assert code_lines(source) == lines
