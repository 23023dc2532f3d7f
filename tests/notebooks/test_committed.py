"""What a learner gets works before anything is written in it; solutions are run by nbval.

An untouched lab fails in its check cells, each with "not attempted yet", and nowhere else. Its
other cells are those of the solution, and run with the functions that `lab.use` hands out: here
only set-up, exercises, checks and uses are executed. That no cell needs an answer before it is
handed out, or what a cell binds that learners do not get, is read from their text.
`make build CHECK=1` says whether the notebooks are what their sources give, and
`tests/blackbox/test_notebooks.py` what they look like.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from symtable import SymbolTable, symtable

import nbformat
import pytest

from course_lib.teaching.notebooks.cells import defined_names, first_line, parsed
from course_lib.teaching.notebooks.execute import execute
from course_lib.teaching.notebooks.project import Project
from course_lib.teaching.notebooks.release import WITHHELD

PROJECT = Project()
SOURCES = {source.lab: source for source in PROJECT.sources()}
Cell = nbformat.NotebookNode

each_lab = pytest.mark.parametrize("lab", SOURCES)


def cells_of(path: Path) -> list[Cell]:
    cells = nbformat.read(path, as_version=4).cells
    return [cell for cell in cells if cell.cell_type == "code"]


def reads(table: SymbolTable) -> set[str]:
    """Return the names of the notebook that code reads, also when its functions are called."""
    is_top = table.get_type() == "module"
    symbols = (one for one in table.get_symbols() if one.is_referenced())
    own = {one.get_name() for one in symbols if is_top or one.is_global()}
    return own.union(*map(reads, table.get_children()))


def binds(table: SymbolTable) -> set[str]:
    symbols = (one for one in table.get_symbols() if one.is_assigned() or one.is_imported())
    return {one.get_name() for one in symbols}


def table_of(tree: ast.AST) -> SymbolTable:
    return symtable(ast.unparse(tree), "<cell>", "exec")


def handed_out(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds to what `lab.use` gives."""
    text = ast.unparse(statement)
    is_use = isinstance(statement, ast.Assign) and "lab.use(" in text
    return binds(table_of(statement)) if is_use else set()


def needed(cell: Cell) -> str:
    """Return what is executed of a cell."""
    if "nbgrader" in cell.metadata or "parameters" in cell.metadata.get("tags", []):
        return cell.source
    kept = ast.Import | ast.ImportFrom
    body = (one for one in parsed(cell.source).body if isinstance(one, kept) or handed_out(one))
    return "\n".join(map(ast.unparse, body))


@pytest.fixture(scope="module")
def executed(request: pytest.FixtureRequest) -> dict[str, list[Cell]]:
    """The cells of the labs that were asked for, executed one lab after the other in one kernel."""
    items = (item for item in request.session.items if item.path == Path(__file__))
    asked = sorted({item.callspec.params["lab"] for item in items})
    labs = {lab: cells_of(PROJECT.lab_notebook(SOURCES[lab])) for lab in asked}
    every = []
    for lab, cells in labs.items():
        for cell in cells:
            cell.source, cell.id = needed(cell), f"{lab}-{cell.id}"
        every += [*cells, nbformat.v4.new_code_cell("%reset -f")]
    notebook = nbformat.v4.new_notebook(cells=every)
    assert execute(notebook, PROJECT.labs, lambda **_: None, allow_errors=True) is None
    return labs


@each_lab
def test_an_untouched_lab_fails_in_its_check_cells_and_nowhere_else(
    lab: str, executed: dict[str, list[Cell]]
) -> None:
    assert [fault for cell in executed[lab] for fault in faults(cell)] == []


def faults(cell: Cell) -> Iterator[str]:
    where, is_check = first_line(cell.source), cell.metadata.get("nbgrader", {}).get("grade")
    errors = [output for output in cell.outputs if output.output_type == "error"]
    for error in errors:
        if not is_check or error.ename != "NotAttempted":
            yield f"{where} failed with {error.ename}: {error.evalue}"
    if is_check and not errors:
        yield f"{where} passed although nothing was written"
    if is_check and any(output.get("name") == "stderr" for output in cell.outputs):
        yield f"{where} wrote to stderr, which nbgrader takes for a failure"


@each_lab
def test_no_cell_needs_an_answer_before_the_lab_hands_one_out(lab: str) -> None:
    missing, bodies, found = set[str](), dict[str, set[str]](), list[str]()
    for cell in cells_of(PROJECT.lab_notebook(SOURCES[lab])):
        if "nbgrader" in cell.metadata:
            missing |= defined_names(cell.source)
            continue
        for statement in parsed(cell.source).body:
            table = table_of(statement)
            missing -= handed_out(statement)
            if is_made_to_be_called(statement):
                bodies |= dict.fromkeys(binds(table), reads(table))
            else:
                needs = reached(reads(table), bodies) & missing
                found += [f"{name} is needed by {first_line(cell.source)}" for name in needs]
    assert found == []


def is_made_to_be_called(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef() | ast.ClassDef() | ast.Assign(value=ast.Lambda() | ast.Dict()):
            return True
    return False


def reached(names: set[str], bodies: dict[str, set[str]]) -> set[str]:
    """Return the names, and what the functions of these names read when they are called."""
    more = names.union(*(bodies.get(name, set()) for name in names))
    return names if more == names else reached(more, bodies)


@each_lab
def test_no_cell_needs_what_a_cell_binds_that_learners_do_not_get(lab: str) -> None:
    """That it may not be bound at all is held by tests/blackbox/test_notebooks.py."""
    changed, found = set[str](), list[str]()
    for cell in cells_of(PROJECT.solution_notebook(SOURCES[lab])):
        table = table_of(parsed(cell.source))
        if WITHHELD.isdisjoint(cell.metadata.get("tags", [])):
            needs = reads(table) & changed - binds(table)
            found += [f"{name} is needed by {first_line(cell.source)}" for name in needs]
            changed -= binds(table)
        else:
            changed |= binds(table)
    assert found == []
