"""What the grader makes of a class, where `tests/blackbox/test_grading.py` cannot show it."""

import json
import multiprocessing
from contextlib import closing
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from course_lib.settings import project_root
from course_lib.teaching.classroom import grade_assignment, make_class
from course_lib.teaching.classroom.autograded import autograded
from course_lib.teaching.grade import (
    GradeReport,
    Limits,
    Options,
    grade_all,
    read_master,
)
from course_lib.teaching.grade.audits import Audits
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.fence import find_fence
from course_lib.teaching.grade.grader import Grader
from course_lib.teaching.grade.library import library_for
from course_lib.teaching.grade.rules import suspicions
from course_lib.teaching.grade.running import SAYS
from course_lib.teaching.grade.sandbox import Sandbox, Setup
from course_lib.teaching.notebooks.release import released
from tests.grading.classroom import (
    IN_ITS_AUDIT,
    RIGHT,
    cell,
    hand_in,
    handed_in,
    learners,
    master_notebook,
    write_master,
)
from tests.grading.conftest import any_fence, grade_class, grade_lab, lab_master, sheet_of

VARIETY = {
    "stderr": RIGHT
    | {"double": "import sys\ndef double(x):\n    print('50%', file=sys.stderr)\n    return x + x"},
    "dies": RIGHT | {"longest": "import os\ndef longest(words):\n    os._exit(1)"},
    "needs-more": RIGHT | {"double": "def double(x):\n    return x + x if separator else None"},
}
VARIETY["timed"] = {
    "double": "%%time\nimport os\n%matplotlib inline\ndef double(x):\n    return x + x",
    "longest": f"{RIGHT['longest']}\n%timeit -n 1000000 longest(['a', 'bc'] * 50)",
}
VARIETY["left"] = RIGHT | {
    "double": "def double(x):\n    raise NotImplementedError()\n    return x + x",
}
VARIETY["earlier"] = RIGHT | {
    "double": 'def double(x):\n    """As it was before."""\n    raise NotImplementedError()',
}
VARIETY["magic"] = RIGHT | {"double": f"%%timeit -n1\n{RIGHT['double']}"}
VARIETY["other magic"] = RIGHT | {"double": "%%time\ndef double(x):\n    return dubble(x)"}
EXPECTED = {
    "stderr": (3, 5, 2), "dies": (3, 0, 0), "needs-more": (3, 5, 2), "settings": (0, 0, 0),
    "helper": (3, 5, 2), "elsewhere": (3, 5, 2), "unclear": (None, 5, 2), "timed": (3, 5, 2),
    "left": (None, 5, 2), "earlier": (0, 5, 2), "loop": (None, 5, 2), "lost": (None, 5, 2),
    "comment": (0, 5, 2), "star": (None, 5, 2), "magic": (None, 5, 2), "other magic": (0, 5, 2),
}  # fmt: skip


def with_settings():
    """Return an untouched notebook whose tags and settings ask for points."""
    sheet = learners(
        master_notebook(), {"double": "def double(x):\n    return None", "longest": "0"}
    )
    for one in sheet.cells:
        one.metadata["tags"] = [
            "raises-exception", "nbval-raises-exception", "nbval-skip", "skip-execution",
        ]  # fmt: skip
        if one.id == "check-longest":
            one.source = "# NBVAL_SKIP\n# NBVAL_RAISES_EXCEPTION"
            one.metadata["nbgrader"] |= {"points": 1000, "grade": False}
    sheet.metadata = {"kernelspec": {"name": "no-such-kernel", "display_name": "?"}}
    sheet.cells.insert(0, {**sheet.cells[1], "source": "raise SystemExit", "id": "mine"})
    return sheet


def with_helper():
    """Return a notebook whose answer calls a function of an added cell, which has other lines."""
    answer = {"double": "def double(x):\n    return helped(x, TIMES)", "longest": RIGHT["longest"]}
    sheet = learners(master_notebook(), answer)
    place = next(i for i, one in enumerate(sheet.cells) if one.id == "double")
    helper = (
        "import operator\nTIMES = 2\nprint(no_such_name)\n"
        "def helped(x, n):\n    return operator.mul(x, n)\nlongest = None"
    )
    sheet.cells.insert(place, {**sheet.cells[place], "source": helper, "id": "mine"})
    sheet.cells[place]["metadata"] = {}
    return sheet


def with_answers_elsewhere(*more: str):
    """Return a notebook whose answers stand at its end, with what they read below them."""
    sheet = learners(master_notebook(), {"double": "def double(x):\n    raise NotImplementedError"})
    sheet.cells[5].source = sheet.cells[3].source
    doubles = "def double(x):\n    return helped(x)"
    for source in (doubles, *more, RIGHT["longest"], "def helped(x):\n    return x + x"):
        sheet.cells.append({**sheet.cells[2], "source": source, "id": f"x{len(sheet.cells)}"})
    sheet.cells.append({"cell_type": "raw", "source": "<script>", "metadata": {}, "id": "raw"})
    return sheet


def with_cells(place: int, *sources: str, **answers: str):
    """Return a notebook with cells that are added, and code below one of the master's."""
    sheet = released(master_notebook())
    sheet.cells[place].source += f"\n{sources[0]}"
    return learners({**sheet, "cells": [*sheet.cells, *map(cell, sources[1:])]}, RIGHT | answers)


def points(book: GradeReport) -> dict[str, tuple[float | None, ...]]:
    return {one.learner: tuple(mark.points for mark in one.marks[:3]) for one in book.grades}


def of_variety(folder, **options) -> GradeReport:
    (folder / "handed-in").mkdir(exist_ok=True)
    hand_in(folder / "handed-in", "settings", with_settings())
    hand_in(folder / "handed-in", "helper", with_helper())
    hand_in(folder / "handed-in", "elsewhere", with_answers_elsewhere())
    hand_in(folder / "handed-in", "unclear", with_answers_elsewhere(RIGHT["double"]))
    sheet = with_cells(2, "", "table = {}", "for n in range(-9, 9):\n    table[n] = 2 * n",
                       double="def double(x):\n    return table[x]")  # fmt: skip
    hand_in(folder / "handed-in", "loop", sheet)
    sheet = with_cells(2, "def helped(x):\n    return x + x",
                       double="def double(x):\n    return helped(x)")  # fmt: skip
    hand_in(folder / "handed-in", "lost", sheet)
    sheet = with_cells(2, "", "from operator import *",
                       double="def double(x):\n    return mul(x, 2)")  # fmt: skip
    hand_in(folder / "handed-in", "star", sheet)
    stub = f"{released(master_notebook()).cells[3].source}\n# What does this mean?"
    hand_in(folder / "handed-in", "comment", with_cells(2, "", double=stub))
    return grade_class(folder, VARIETY, master_notebook(), **options)


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> GradeReport:
    """A class of many, graded once."""
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    book = of_variety(tmp_path_factory.mktemp("variety"))
    left = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    assert not [p for p in left if "resource_tracker" not in " ".join(p.cmdline())]
    assert not multiprocessing.active_children()
    return book


def test_points_are_what_is_due(book) -> None:
    assert points(book) == EXPECTED


def test_a_person_reads_the_cells_that_were_added(book, tmp_path) -> None:
    master = read_master(write_master(tmp_path))
    by_name = {one.learner: one for one in book.grades}
    unclear = autograded(master, by_name["unclear"])
    nbformat.validate(nbformat.from_dict(unclear))
    read = [(one["cell_type"], one["source"]) for one in unclear["cells"]]
    assert ("code", RIGHT["double"]) in read and ("code", "<script>") in read
    given = [one["source"] for one in autograded(master, by_name["helper"])["cells"]]
    assert any("no_such_name" in source for source in given[:4])


def test_the_reason_says_what_is_not_run(book) -> None:
    said = {one.learner: one.marks[0].said for one in book.grades}
    for learner, name in (("loop", "table"), ("lost", "helped"), ("star", "mul")):
        assert f"uses {name}, and code that is not run defines or changes it" in said[learner]
    assert "begins with %%timeit" in said["magic"]
    assert "is still in its cell" in said["left"]


def test_what_a_stub_has_is_there_for_an_answer_elsewhere_and_raises_no_flag(tmp_path) -> None:
    notebook, given = master_notebook(), "from course_lib.errors import InputError"
    double, longest = notebook.cells[3], notebook.cells[5]
    double.source = f"import operator\n{given}\n\n{double.source}"
    longest.source = 'QUERY = "SELECT x"\n### BEGIN SOLUTION\nQUERY += ", y"\n### END SOLUTION'
    notebook.cells[6].source = "assert QUERY == 'SELECT x, y'"
    notebook.cells[7].source = "assert len(QUERY)"
    (tmp_path / "handed-in").mkdir()
    queries = {"adds": 'QUERY += ", y"', "changes": 'QUERY = QUERY.replace("x", "x, y")'}
    for name, query in queries.items():
        sheet = released(notebook)
        calls = f"{given}\ndef double(x):\n    return operator.add(x, x)"
        sheet.cells += [cell(calls), cell(query)]
        hand_in(tmp_path / "handed-in", name, sheet)
    book = grade_class(tmp_path, {}, notebook)
    assert points(book) == {"adds": (3, 5, 2), "changes": (3, 5, 2)}
    assert not any(one.flags for one in book.grades)


ADDS = "def double(x):\n    return operator.add(x, x)"
IMPORTS = {
    "added": (8, "", "from typing import Any\ndef helped(x: Any):\n    return x + x",
              "def double(x: Any):\n    return helped(x)"),
    "class": (8, "", "from pydantic import BaseModel\nclass Mine(BaseModel):\n    x: int",
              "def double(x):\n    return Mine(x=2).x * x"),
    "set-up": (1, "import operator", "", ADDS), "check": (4, "import operator", "", ADDS),
    "tour": (8, "import operator", "", ADDS),
    "library": (1, "from course_lib.records import content_hash, make_chunk", "",
                "def double(x):\n    return x + x if content_hash else None"),
    "unread": (1, "from course_lib.records import content_hash", "", RIGHT["double"]),
    "instead": (1, "import operator as words", "", RIGHT["double"]),
}  # fmt: skip
"""By learner: a cell of the master's and what is in it besides, an added cell, and the answer."""


def test_imports_of_the_whole_notebook_are_there_for_answers(tmp_path: Path) -> None:
    notebook = master_notebook()
    notebook.cells[8].source = "from typing import Any\nfrom pydantic import BaseModel"
    notebook.cells[7].source = f"assert words[0] == 'one'\n{notebook.cells[7].source}"
    (tmp_path / "handed-in").mkdir()
    for name, (place, more, added, answer) in IMPORTS.items():
        sheet = learners(released(notebook), RIGHT | {"double": answer})
        sheet.cells[place].source += f"\n{more}"
        sheet.cells += [cell(added)] if added else []
        hand_in(tmp_path / "handed-in", name, sheet)
    book = grade_class(tmp_path, {}, notebook)
    assert points(book) == dict.fromkeys(IMPORTS, (3, 5, 2))
    flags = {one.learner: [*map(str, one.flags)] for one in book.grades if one.flags}
    line = "from course_lib.records import content_hash"
    told = "an added cell, line 1, imports content_hash from course_lib.records"
    assert flags == {"library": [f"{told}: {line}"]}


def test_a_renamed_function_is_for_a_person_who_is_told_which_it_may_be(tmp_path: Path) -> None:
    answers = {
        "alike": "def dubble(y):\n    return y + y\ndef helped(y):\n    return 0",
        "value": "twice = lambda x: x + x", "empty": "", "print": "print(2)",
    }  # fmt: skip
    book = grade_class(tmp_path, {name: RIGHT | {"double": one} for name, one in answers.items()})
    assert {one.learner: (one.marks[0].points, one.marks[0].said) for one in book.grades} == {
        "alike": (None, "nothing is named double, and dubble may be it"),
        "value": (None, "nothing is named double, and twice may be it"),
        "empty": (0, "NameError: name 'double' is not defined"),
        "print": (0, "NameError: name 'double' is not defined"),
    }  # fmt: skip


def essays():
    """Return a master that asks for text alone: a task, and an answer that a person grades."""
    marks = "Why?\n\n=== BEGIN MARK SCHEME ===\nnever told\n=== END MARK SCHEME ==="
    return nbformat.v4.new_notebook(
        cells=[
            cell(marks, "task", kind="markdown", task=True, points=4),
            cell("Your words", "essay", kind="markdown", grade=True, solution=True, points=3),
        ]
    )


def test_a_task_is_answered_in_cells_of_the_learners_own_and_a_person_reads_them(tmp_path) -> None:
    sheet = released(essays())
    assert "never told" not in str(sheet)
    (tmp_path / "handed-in").mkdir()
    added = cell("Because <b onclick=alert(1)>**so**</b>.", kind="markdown")
    hand_in(tmp_path / "handed-in", "ada", {**sheet, "cells": [sheet.cells[0], added]})
    answers = {"bob": {}, "cleo": {"essay": "It depends."}, "dan": {"task": "Why? Because."}}
    book = grade_class(tmp_path, answers, essays())
    assert {one.learner: [mark.points for mark in one.marks] for one in book.grades} == {
        "ada": [None, None], "bob": [0, 0], "cleo": [0, None], "dan": [None, 0],
    }  # fmt: skip
    read = autograded(read_master(tmp_path / "words.ipynb"), book.grades[0])["cells"]
    assert "**so**" in read[-1]["source"] and "onclick" not in read[-1]["source"]


def test_the_report_of_the_capstone_is_an_assignment_of_a_hundred_points() -> None:
    master = read_master(project_root() / "labs" / "capstone" / "report.ipynb")
    assert master.points == 100 and all(one.is_task for one in master.checks)


def test_what_many_people_write_raises_no_flag(book) -> None:
    """Only who ends the kernel has one."""
    assert [one.learner for one in book.grades if one.flags] == ["dies"]
    answer = "from course_lib.records import Span\n%load_ext x\ndef f(x):\n    {}\n    return x"
    said = answer.format("'As in course_lib.'")
    assert suspicions({"f": said}, {}) == []
    said = answer.format("load('course_lib.loader')")
    assert [one.says for one in suspicions({"f": said}, {})] == [
        "f, line 4, names course_lib in a text: load('course_lib.loader')"
    ]


def test_a_master_that_fails_its_own_check_is_refused(graded) -> None:
    notebook = master_notebook()
    notebook.cells[4].source = "assert double(2) == 5, 'never'"
    with pytest.raises(GradeError, match="does not pass its own check-double"):
        graded({"ada": RIGHT}, notebook)


def test_a_run_that_is_stopped_while_a_sandbox_starts_runs_nothing_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = Setup(any_fence(), Limits(), library_for([], tmp_path))
    master = read_master(write_master(tmp_path))
    grader = Grader(master, setup, 0, Audits(master, "1"), tmp_path)

    def start(*given: Any) -> Sandbox:
        sandbox = Sandbox(*given)
        grader.stop()
        return sandbox

    monkeypatch.setattr("course_lib.teaching.grade.grader.Sandbox", start)
    with closing(grader), pytest.raises(GradeError, match="stopped"):
        grader.prove()


A_MARK_BETWEEN = """
import hashlib
def hash_texts(texts):
    return hashlib.sha256("".join(f"{text}|" for text in texts).encode()).hexdigest()
"""
FORGED = """
class CheckFailed(BaseException):
    earned = 2
def hash_texts(texts):
    raise CheckFailed("4.1 hash_texts is not right yet: 1 of 2 points")
"""


def test_points_for_parts_are_in_the_gradebook_and_forged_ones_are_not(tmp_path: Path) -> None:
    master = lab_master("04")
    room = make_class(tmp_path / "class")
    for login, answer in {"ada": A_MARK_BETWEEN, "bob": FORGED}.items():
        place = room.place("submitted", login, master.name)
        place.mkdir(parents=True)
        text = json.dumps(learners(sheet_of(master), {"exercise-4-1": answer}))
        (place / master.path.name).write_text(text, encoding="utf-8")
    report = grade_assignment(room, master, Options(any_fence(), seed="7"))
    assert {one.learner: (one.score, bool(one.flags)) for one in report.grades} == {
        "ada": (1.0, False), "bob": (0.0, False),
    }  # fmt: skip
    with room.gradebook() as book:
        grade = book.find_grade("check-4-1", master.name, master.name, "ada")
        assert (grade.auto_score, grade.max_score, grade.needs_manual_grade) == (1.0, 2.0, False)
        said = book.find_comment("exercise-4-1", master.name, master.name, "ada").auto_comment
    assert "**Exercise 4.1: partly right** (1 of 2)" in said
    assert "✓ 1 point: where a text ends" in said
    assert "✗ 1 point: any characters" in said and "a text may hold '|', too" in said


LAST = """(text, separator, start, limit, floor):
    return text.rfind(separator, max(start, floor + 1 - len(separator)), limit)"""
CUTS = """def find_cut(text, start, limit, floor=0, separators=("\\n\\n", "\\n", ". ", " ", "")):
    for separator in separators:
        at = FOUND(text, separator, start, limit, floor)
        if at >= 0:
            return at + len(separator)
    return limit"""
RULES = "RULES = []\ndef rule(function):\n    RULES.append(function)\n    return function\n"
SHAPES = "from functools import singledispatch\n@singledispatch\ndef last(*given):\n    return -1\n"
FROM_RULES = "def first(*given):\n    return RULES[0](*given) if RULES else -1"


def test_what_an_added_cell_does_unread_counts_or_a_person_looks(tmp_path: Path) -> None:
    """Functions that only a decorator or `globals()` finds were left out."""
    master = lab_master("01")
    sheet = sheet_of(master)
    name = next(one for one, text in master.solutions.items() if "def find_cut" in text)
    (tmp_path / "in").mkdir()
    for login, added, found in (
        ("decorator", f"{RULES}@rule\ndef last{LAST}", "RULES[0]"),
        ("dispatch", f"{SHAPES}@last.register(str)\ndef _{LAST}", "last"),
        ("globals", f"def last{LAST}", "globals()['last']"),
        ("loop", f"RULES = []\ndef last{LAST}\nfor one in [last]:\n    RULES.append(one)\n"
         f"{FROM_RULES}", "first"),
        ("wrong", f"{RULES}@rule\ndef last{LAST.replace(' + 1', '')}", "RULES[0]"),
    ):  # fmt: skip
        sent = learners(sheet, {name: CUTS.replace("FOUND", found)})
        place = next(i for i, one in enumerate(sent.cells) if "def find_cut" in one.source)
        sent.cells.insert(place, cell(added))
        hand_in(tmp_path / "in", login, sent)
    found = handed_in(tmp_path / "in")
    book = grade_all(found, master, tmp_path / "out", Options(any_fence(), jobs=1))
    marks = {one.learner: one.marks[1] for one in book.grades}
    assert {login: one.points for login, one in marks.items()} == {
        "decorator": 3, "dispatch": 3, "globals": 3, "loop": None, "wrong": 1,
    }, marks  # fmt: skip
    assert marks["loop"].said == "it uses RULES, and code that is not run defines or changes it"


def test_an_answer_that_ends_the_process_when_it_is_asked_costs_its_own_points(
    tmp_path: Path,
) -> None:
    """It was the last cell that took the blame, whatever was in it."""
    answers = lab_master("01").solutions
    name = next(one for one, text in answers.items() if "def find_cut" in text)
    answers[name] += IN_ITS_AUDIT.format("os._exit(1)")
    (ada,) = grade_lab(tmp_path, "01", {"ada": answers}, Limits())
    # 1.3 uses it, too, and is judged with the course's.
    assert [one.points for one in ada.marks] == [3, 0, 4], ada
    assert f"check-1-2: {SAYS['died']}" in map(str, ada.flags)


def test_without_a_sandbox_it_says_what_that_means() -> None:
    assert "runs with your rights" in find_fence(sandbox=False).says
