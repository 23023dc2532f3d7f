import json
import os
from pathlib import Path

import nbformat
import pytest

from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.master import Master, read_master
from course_lib.teaching.grade.merge import Merged, merge
from course_lib.teaching.grade.plan import make_plan
from course_lib.teaching.grade.submissions import read_cells
from course_lib.teaching.notebooks.release import released
from tests.grading.classroom import (
    RIGHT,
    cell,
    hand_in,
    handed_in,
    learners,
    master_notebook,
    write_master,
)


@pytest.fixture
def master(tmp_path: Path) -> Master:
    return read_master(write_master(tmp_path))


@pytest.fixture
def sheet():
    return released(master_notebook())


def merged(master: Master, notebook, tmp_path: Path) -> Merged:
    return merge(master, read_cells(hand_in(tmp_path, "ada", notebook)))


@pytest.mark.parametrize(
    ("ids", "note"), [(True, "without its nbgrader metadata"), (False, "from an added cell")]
)
def test_without_metadata_answers_are_found_by_their_ids_or_by_what_they_define(
    master, sheet, tmp_path, ids: bool, note: str
) -> None:
    notebook = learners(sheet, RIGHT)
    for one in notebook.cells:
        one.metadata = {}
        if not ids:
            del one["id"]
    found = merged(master, notebook, tmp_path)
    assert found.answers == RIGHT and not found.undecided
    assert any(note in one for one in found.notes)


def test_a_deleted_answer_counts_as_not_written(master, sheet, tmp_path) -> None:
    notebook = learners(sheet, RIGHT)
    notebook.cells = [c for c in notebook.cells if c.id != "double"]
    found = merged(master, notebook, tmp_path)
    assert found.untouched == {"double"} and not found.undecided
    assert "double is missing" in found.notes


def helpers(found: Merged) -> dict[int, list[str]]:
    """Return what added cells define, by its place, as text."""
    return {place: [one.source for one in some] for place, some in found.own.helpers.items()}


RIGHT_IN_MARKS = next(one for one in master_notebook().cells if one.id == "double").source
DOUBLE, LONGEST = RIGHT["double"], RIGHT["longest"]
MINE = "def mine(x):\n    return x + x"
HEAD, BODY = DOUBLE.split("\n")


@pytest.mark.parametrize("stub", ["left", "deleted"])
@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda cells: cells.insert(1, cell(DOUBLE)), "taken from an added cell"),
        (lambda cells: cells.append(cell(DOUBLE)), "taken from an added cell"),
        (lambda cells: cells.extend([cell(DOUBLE), cell(f"# so\n{DOUBLE}")]), "an added cell"),
        (lambda cells: by_id(cells, "check-double").update(source=f"{DOUBLE}\nassert double"),
         "taken from check-double"),
        (lambda cells: by_id(cells, "longest").update(source=f"{DOUBLE}\n{LONGEST}"),
         "taken from longest"),
    ],
    ids=["above", "at the end", "twice the same", "in the check", "in another answer"],
)  # fmt: skip
def test_what_only_another_cell_defines_is_the_answer(
    master, sheet, tmp_path, stub: str, change, note: str
) -> None:
    notebook = learners(sheet, {"longest": LONGEST})
    change(notebook.cells)
    if stub == "deleted":
        notebook.cells.remove(by_id(notebook.cells, "double"))
    found = merged(master, notebook, tmp_path)
    assert found.answers["double"].endswith(DOUBLE) and not found.undecided
    assert not found.untouched and any(note in one for one in found.notes)


def test_a_cell_that_answers_two_exercises_gives_each_its_own(master, sheet, tmp_path) -> None:
    notebook = learners(sheet, {})
    notebook.cells.append(cell(f"{LONGEST}\nTIMES = 2\ndef double(x):\n    return TIMES * x"))
    found = merged(master, notebook, tmp_path)
    assert found.answers == {
        "double": "TIMES = 2\ndef double(x):\n    return TIMES * x", "longest": LONGEST,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("own", "others", "told"),
    [
        ({}, [DOUBLE, "def double(x):\n    return 3"], "2 cells define double"),
        ({"double": "def double(x):\n    return 3"}, [DOUBLE], "2 cells define double"),
        ({"double": "def double(x) = 3"}, [DOUBLE], "not Python"),
        ({}, [f"{DOUBLE} +* 3"], "another cell seems to define double"),
    ],
    ids=["two added", "one of them the answer's", "the answer's is broken", "the other is broken"],
)
def test_where_it_is_not_clear_which_cell_is_the_answer_a_person_decides(
    master, sheet, tmp_path, own, others: list[str], told: str
) -> None:
    notebook = learners(sheet, RIGHT | {"double": sheet.cells[3].source} | own)
    notebook.cells += map(cell, others)
    found = merged(master, notebook, tmp_path)
    assert told in found.undecided["double"] and set(found.undecided) == {"double"}
    assert [one.source for one in found.own.added] == others


@pytest.mark.parametrize(
    ("check", "is_clear"),
    [
        ("assert mine(2) == 4", False),
        (f"{MINE}\n\nassert mine(2) == 4", False),
        ("took = double(2)\nassert took == 4", True),
        ("# assert double(2) == 4", True),
    ],
)
def test_a_check_that_was_given_something_else_than_the_stub_is_for_a_person(
    master, sheet, tmp_path, check: str, is_clear: bool
) -> None:
    stub = by_id(sheet.cells, "double").source
    notebook = learners(sheet, RIGHT | {"double": stub, "check-double": check})
    found = merged(master, notebook, tmp_path)
    because = "nothing is in its cell, and its check was given something else"
    assert found.undecided == ({} if is_clear else {"double": because})


def test_what_a_hidden_check_reads_is_not_asked_of_a_learners_check(tmp_path) -> None:
    notebook = master_notebook()
    by_id(notebook.cells, "double").source = f"import operator\n\n{RIGHT_IN_MARKS}"
    hidden = "### BEGIN HIDDEN TESTS\nassert operator.add(1, 1) == double(1)"
    check = by_id(notebook.cells, "check-double")
    check.source = check.source.replace("### BEGIN HIDDEN TESTS", hidden)
    master, sheet = read_master(write_master(tmp_path, notebook)), released(notebook)
    assert not merged(master, learners(sheet, RIGHT), tmp_path).undecided


def test_an_added_cell_that_defines_what_the_answer_does_changes_nothing(
    master, sheet, tmp_path
) -> None:
    notebook = learners(sheet, RIGHT)
    for source in (DOUBLE, sheet.cells[3].source, "double = None", "print(double(2))"):
        notebook.cells.append(cell(source))
    found = merged(master, notebook, tmp_path)
    assert found.answers == RIGHT and not found.undecided


@pytest.mark.parametrize("marked", [(0, 1), (0,), (1,)], ids=["both", "the upper", "the lower"])
def test_a_cell_that_was_split_is_joined(master, sheet, tmp_path, marked) -> None:
    for halves in ((HEAD, BODY), ("import operator", DOUBLE)):
        notebook = learners(sheet, RIGHT)
        place = notebook.cells.index(by_id(notebook.cells, "double"))
        given = notebook.cells[place].metadata
        parts = [cell(source) for source in halves]
        for number in marked:
            parts[number].metadata = given
        notebook.cells[place : place + 1] = parts
        found = merged(master, notebook, tmp_path)
        if halves == (HEAD, BODY) and len(marked) == 1:  # neither is Python alone
            assert set(found.undecided) == {"double"}
            continue
        assert not found.undecided and not found.untouched
        alone = marked == (1,)  # the upper half is a helper then
        whole = DOUBLE if alone else "\n".join(halves)
        assert found.answers["double"].replace("\n\n", "\n") == whole
        assert not any(one.source in halves[1] for one in found.own.added)


def test_what_an_answer_reads_is_there_before_it(master, sheet, tmp_path) -> None:
    notebook = learners(sheet, RIGHT | {"double": "def double(x):\n    return helped(x)"})
    notebook.cells += [cell("TIMES = 2"), cell("def helped(x):\n    return TIMES * x")]
    assert helpers(merged(master, notebook, tmp_path)) == {
        3: ["TIMES = 2", "def helped(x):\n    return TIMES * x"]
    }


def test_an_added_cell_is_run_only_where_something_reads_it(master, sheet, tmp_path) -> None:
    notebook = learners(sheet, RIGHT | {"double": "def double(x):\n    return helped(x)"})
    notebook.cells += [cell("def helped(x):\n    return x + x"), cell("slow = [double(2)] * 2")]
    plan = make_plan(master, merged(master, notebook, tmp_path), everything=False)
    added = [step.source for step in plan if step.cell.role == "answer" and not step.cell.grade_id]
    assert added == ["def helped(x):\n    return x + x"]


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("for n in range(9):\n    table[n] = 2 * n", {"table", "n"}),
        ("table.update({2: 4})", {"table"}),
        ("table[2] = 4", {"table"}),
        ("table[2] += 4", {"table"}),
        ("del table[2]", {"table"}),
        ("def fill():\n    table[2] = 4\nfill()", {"table"}),
        ("def fill(some):\n    some[2] = 4\nfill(table)", {"table"}),
        ("import random\nrandom.shuffle(table)", {"table"}),
        ("class Cut:\n    pass\nCut.at = len", {"Cut"}),
        ("def cut():\n    pass\nsetattr(cut, 'at', len)", {"cut"}),
        ("def shown(x):\n    return x\ndef test():\n    assert shown(2)\ntest()", set()),
        ("words = ['two']", {"words"}),
        ("import math\nprint(double(2), table)", {"table"}),  # a call may change it
        ("import math\nprint(double(2))\nwords.append('two')", set()),
    ],
)
def test_it_is_known_what_statements_change_that_are_not_run(
    master, sheet, tmp_path, source: str, changes: set[str]
) -> None:
    sheet.cells += [cell("table = {}"), cell(source)]
    assert merged(master, sheet, tmp_path).own.lost == changes


@pytest.fixture
def with_a_function(tmp_path: Path):
    """A lab that binds `shown` and `rows` before the exercise, and its sheet."""
    notebook = master_notebook()
    notebook.cells[2].source += "\ndef shown(x):\n    return str(x)\nrows = [1]"
    return read_master(write_master(tmp_path, notebook)), released(notebook)


def test_a_function_of_the_labs_that_a_learner_wrote_again_is_there_for_the_answer(
    with_a_function, tmp_path
) -> None:
    master, sheet = with_a_function
    notebook = learners(sheet, RIGHT | {"double": "def double(x):\n    return helped(x)"})
    notebook.cells += [
        cell("def helped(x):\n    return shown(x)"),
        cell("def shown(x):\n    return x + x"),
        cell("def lab(x):\n    return 0\ndef unread(x):\n    return x"),
    ]
    found = merged(master, notebook, tmp_path)
    (place, sources), *_ = helpers(found).items()
    assert place == next(i for i, one in enumerate(master.cells) if one.grade_id == "double")
    assert sources == ["def helped(x):\n    return shown(x)", "def shown(x):\n    return x + x"]
    assert "shown" not in found.own.lost
    assert not any("def lab" in one for some in helpers(found).values() for one in some)


def test_a_value_of_the_labs_that_a_learner_bound_again_is_for_a_person(
    with_a_function, tmp_path
) -> None:
    master, sheet = with_a_function
    notebook = learners(sheet, RIGHT | {"double": "def double(x):\n    return rows[0] * x"})
    notebook.cells.append(cell("rows = [2]"))
    assert "rows" in merged(master, notebook, tmp_path).own.lost


def test_names_are_known_whose_cell_is_not_run(master, sheet, tmp_path) -> None:
    sheet.cells[2].source += "\ndef helped(x):\n    return x + x"  # a cell of the lab's
    sheet.cells.append(cell("with open('x') as file:\n    rows = list(file)"))
    assert merged(master, sheet, tmp_path).own.lost >= {"helped", "rows"}


def by_id(cells, name: str):
    """Return the cell of an id."""
    return next(one for one in cells if one.id == name)


def test_of_two_cells_of_one_grade_id_the_one_that_was_written_counts(
    master, sheet, tmp_path
) -> None:
    notebook = learners(sheet, RIGHT)
    notebook.cells.append(json.loads(json.dumps(sheet.cells[3])))
    found = merged(master, notebook, tmp_path)
    assert found.answers == RIGHT and not found.undecided
    notebook.cells[-1]["source"] = "def double(x):\n    return 3"
    found = merged(master, notebook, tmp_path)
    assert "2 different cells" in found.undecided["double"]
    assert {one.source for one in found.own.added} == {DOUBLE, "def double(x):\n    return 3"}


def test_an_answer_turned_into_text_is_for_a_person(master, sheet, tmp_path) -> None:
    notebook = learners(sheet, RIGHT)
    notebook.cells[3]["cell_type"] = "markdown"
    assert "markdown" in merged(master, notebook, tmp_path).undecided["double"]


def test_an_answer_of_megabytes_is_for_a_person(master, sheet, tmp_path) -> None:
    huge = RIGHT | {"double": "x = '" + "a" * 300_000 + "'"}
    assert set(merged(master, learners(sheet, huge), tmp_path).undecided) == {"double"}


DAMAGED = (
    *("", "{", "[]", "null", '{"nbformat": 4}', '{"nbformat": "4", "cells": []}', "[" * 200_000),
    *('{"nbformat": 9, "cells": []}', '{"nbformat": 4, "cells": [3]}'),
    '{"nbformat": 4, "cells": [{"cell_type": "code", "source": {"a": 1}}]}',
    '{"nbformat": 3, "worksheets": 7}',
)


def test_a_damaged_file_says_what_is_wrong_with_it(tmp_path) -> None:
    path = tmp_path / "a.ipynb"
    for text in DAMAGED:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=r"\w"):
            read_cells(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_notebook_is_read_in_any_encoding_of_json(sheet, tmp_path, encoding: str) -> None:
    path = tmp_path / "a.ipynb"
    path.write_bytes(json.dumps(sheet).encode(encoding))
    assert [one.source for one in read_cells(path)] == [one.source for one in sheet.cells]


def test_what_json_cannot_say_otherwise_is_read(tmp_path) -> None:
    path = tmp_path / "a.ipynb"
    source = {"cell_type": "code", "source": ["a = '\ud800'\n", "b"], "metadata": []}
    path.write_text("\ufeff" + json.dumps({"nbformat": 4, "cells": [source]}), encoding="utf-8")
    (found,) = read_cells(path)
    assert found.source == "a = '?'\nb" and found.grade_id == ""


def test_a_learners_folder_holds_one_notebook_and_nothing_in_it_is_followed(tmp_path) -> None:
    for folder in ("one", "none", "link", "pipe", "two"):
        (tmp_path / folder / "below").mkdir(parents=True)
    for name in ("one/below/words.ipynb", "two/a.ipynb", "two/b.ipynb", "one/other.ipynb"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    (tmp_path / "link" / "words.ipynb").symlink_to("/etc/passwd")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe" / "words.ipynb")  # whoever opens it waits
    found = {one.learner: one for one in handed_in(tmp_path, preferred="words")}
    assert found["one"].path and not found["one"].problem
    assert found["two"].path is None and "2 notebooks" in found["two"].problem
    for name in ("none", "link", "pipe"):
        assert found[name].path is None and "no notebook" in found[name].problem


def test_a_master_with_a_fault_is_refused(tmp_path) -> None:
    notebook = master_notebook()
    notebook.cells[4].metadata["nbgrader"]["points"] = -1
    with pytest.raises(GradeError, match="counts -1 points"):
        read_master(write_master(tmp_path, notebook))
    notebook = master_notebook()
    notebook.cells[5].metadata["nbgrader"]["grade_id"] = "double"
    with pytest.raises(GradeError, match="two cells bear the grade id double"):
        read_master(write_master(tmp_path, notebook))
    plain = nbformat.v4.new_notebook(cells=[cell("1")])
    with pytest.raises(GradeError, match="nothing to grade"):
        read_master(write_master(tmp_path, plain))
    with pytest.raises(GradeError, match="not there"):
        read_master(tmp_path / "nowhere.ipynb")
