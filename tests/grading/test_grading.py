import csv
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course_lib.settings import project_root
from course_lib.teaching.grade import Limits
from course_lib.teaching.grade.errors import GradeError
from course_lib.teaching.grade.fence import find_fence
from course_lib.teaching.grade.honesty import source_flags
from course_lib.teaching.grade.likeness import alike, normalised
from course_lib.teaching.grade.needed import Block, needed_sources
from course_lib.teaching.grade.sessions import can_fork
from tests.grading.classroom import CHECK_LATER, RIGHT, cell, master_notebook

WRONG = {"double": "def double(x):\n    return 3 * x", "longest": RIGHT["longest"]}
VARIETY = {
    "right": RIGHT,
    "wrong": WRONG,
    "untouched": {},
    "syntax": RIGHT | {"double": "def double(x:\n"},
    "import": RIGHT | {"double": f"import no_such_module\n{RIGHT['double']}"},
    "hidden": RIGHT | {"double": "def double(x):\n    return x + x if x not in (-3,) else 0"},
    "stderr": RIGHT
    | {"double": "import sys\ndef double(x):\n    print('50%', file=sys.stderr)\n    return x + x"},
    "dies": RIGHT | {"longest": "import os\ndef longest(words):\n    os._exit(1)"},
    "needs-more": RIGHT | {"double": "def double(x):\n    return x + x if separator else None"},
}
EXPECTED = {
    "right": (3, 5, 2), "wrong": (0, 5, 2), "untouched": (0, 0, 0), "syntax": (0, 5, 2),
    "import": (0, 5, 2), "hidden": (0, 5, 2), "stderr": (3, 5, 2), "dies": (3, 0, 0),
    "needs-more": (3, 5, 2),
}  # fmt: skip


def points(book) -> dict[str, tuple[float | None, ...]]:
    return {one.learner: tuple(mark.points for mark in one.marks) for one in book.grades}


@pytest.mark.long
@pytest.mark.skipif(not can_fork(), reason="no fork here")
def test_both_engines_give_the_points_that_are_due(graded) -> None:
    warm = graded(VARIETY)
    assert points(warm) == EXPECTED and warm.engine == "forked"
    cold = graded(VARIETY, cold=True, jobs=2)
    assert points(cold) == EXPECTED and cold.engine == "cold"
    assert [one.status for one in cold.grades] == [one.status for one in warm.grades]


def test_points_are_what_is_due(graded) -> None:
    some = {name: VARIETY[name] for name in ("right", "syntax", "dies", "needs-more")}
    assert points(graded(some)) == {name: EXPECTED[name] for name in some}


def test_a_check_says_why_what_it_needs_is_not_there(graded) -> None:
    syntax = RIGHT | {"double": "def double(x)\n    return x + x"}
    ends = RIGHT | {"double": "import os\nos._exit(0)\ndef double(x):\n    return x + x"}
    book = graded({"ends": ends, "syntax": syntax, "untouched": {}})
    first = {one.learner: one.marks[0] for one in book.grades}
    assert first["syntax"].said.startswith("double: SyntaxError: expected ':'")
    assert {mark.state for mark in book.grades[2].marks} == {"not attempted"}
    assert first["ends"].state == "died" and "the process died" in first["ends"].said


def test_the_gradebook_is_there_for_people_and_programs(graded, tmp_path) -> None:
    book = graded({"ada": RIGHT, "=cmd()": WRONG, "Bob Low": {}})
    out = tmp_path / "out"
    rows = list(csv.DictReader((out / "grades.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["learner"] for row in rows] == ["'=cmd()", "Bob Low", "ada"]
    assert rows[2]["check-double"] == "3" and rows[2]["total"] == "10"
    told = json.loads((out / "grades.json").read_text(encoding="utf-8"))
    assert told["ada"]["score"] == told["ada"]["max"] == 10
    assert told["ada"]["checks"] == {"check-double": 3, "check-longest": 5, "check-later": 2}
    assert told["=cmd()"]["fence"] == book.fence_kind
    canvas = list(csv.reader((out / "canvas.csv").read_text(encoding="utf-8").splitlines()))
    assert canvas[1][0].strip() == "Points Possible" and canvas[1][-1] == "10"
    assert canvas[-1][-1] == "10"
    moodle = list(csv.reader((out / "moodle.csv").read_text(encoding="utf-8").splitlines()))
    assert moodle[-1][:2] == ["ada", "10"]
    assert sorted(path.stem for path in (out / "junit").iterdir()) == sorted(
        one.slug for one in book.grades
    )
    page = (out / "feedback" / "ada.html").read_text(encoding="utf-8")
    assert "10 of 10 points" in page and "=cmd" not in page
    wrong = next(one for one in book.grades if one.learner == "=cmd()")
    page = (out / "feedback" / f"{wrong.slug}.html").read_text(encoding="utf-8")
    assert "not right yet" in page and "the hidden -3" not in page
    index = (out / "index.html").read_text(encoding="utf-8")
    assert "Needs a person" not in index and "check-double" in index


def test_messages_of_submissions_are_no_markup(graded, tmp_path) -> None:
    evil = "def double(x):\n    raise ValueError('<script>alert(1)</script>')"
    graded({"<b>ada": RIGHT | {"double": evil}})
    for path in (tmp_path / "out").rglob("*.html"):
        assert "<script" not in path.read_text(encoding="utf-8")
        assert "<b>ada" not in path.read_text(encoding="utf-8")


def test_grading_twice_gives_the_same_and_resume_grades_what_changed(graded, tmp_path) -> None:
    first = graded({"ada": RIGHT, "bob": WRONG})
    state = tmp_path / "out" / ".grades-state.json"
    told = json.loads(state.read_text(encoding="utf-8"))
    for one in told["grades"]:
        one["seconds"] = 99.0
    state.write_text(json.dumps(told), encoding="utf-8")
    second = graded({"bob": RIGHT, "cleo": RIGHT}, resume=True)
    seconds = {one.learner: one.seconds for one in second.grades}
    assert seconds["ada"] == 99.0 and seconds["bob"] < 99 and seconds["cleo"] < 99
    assert points(second)["bob"] == (3, 5, 2)
    third = graded({"bob": WRONG})
    assert points(third)["ada"] == points(first)["ada"]
    assert points(third)["bob"] == points(first)["bob"]


def test_partial_credit_is_the_number_of_the_checks_last_line(graded) -> None:
    notebook = master_notebook()
    notebook.cells[
        7
    ].source = "good = longest(['x']) == 'x'\n(2.0 if len(longest(['ab'])) == 2 else 1.5)"
    answers = {**RIGHT, "longest": "def longest(words):\n    return max(words, key=len)[:1]"}
    book = graded({"ada": answers}, notebook)
    assert points(book)["ada"][2] == 1.5 and CHECK_LATER


def test_tags_and_settings_of_a_submission_have_no_effect(graded, tmp_path) -> None:
    graded({"ada": {}})
    path = tmp_path / "handed-in" / "ada.ipynb"
    sheet = json.loads(path.read_text(encoding="utf-8"))
    for one in sheet["cells"]:
        one["metadata"]["tags"] = [
            "raises-exception", "nbval-raises-exception", "nbval-skip", "skip-execution",
        ]  # fmt: skip
        if one["id"] == "double":
            one["source"] = "def double(x):\n    return None"
        if one["id"] == "check-longest":
            one["source"] = "# NBVAL_SKIP\n# NBVAL_RAISES_EXCEPTION"
            one["metadata"]["nbgrader"] |= {"points": 1000, "grade": False}
    sheet["metadata"] = {"kernelspec": {"name": "no-such-kernel", "display_name": "?"}}
    sheet["cells"].insert(0, {**sheet["cells"][1], "source": "raise SystemExit", "id": "mine"})
    path.write_text(json.dumps(sheet), encoding="utf-8")
    book = graded({"bob": RIGHT})
    assert points(book) == {"ada": (0, 0, 0), "bob": (3, 5, 2)}


def test_hidden_checks_of_a_folder_have_to_pass_too(graded, tmp_path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "check-longest.py").write_text("assert longest(['b', 'aa'])", encoding="utf-8")
    (hidden / "check-later.py").write_text(
        "assert longest(['x']) == 'x' and longest.__name__ == 'longest'", encoding="utf-8"
    )
    other = RIGHT | {"longest": "longest = lambda words: max(words, key=len)"}
    book = graded({"ada": RIGHT, "bob": other}, hidden=hidden)
    assert points(book) == {"ada": (3, 5, 2), "bob": (3, 5, 0)}


def test_what_a_person_grades_waits_for_a_person(graded) -> None:
    notebook = master_notebook()
    essay = cell("Your thoughts", "essay", kind="markdown", grade=True, solution=True, points=4)
    notebook.cells.append(essay)
    book = graded({"ada": RIGHT | {"essay": "It depends."}, "bob": RIGHT}, notebook)
    status = {one.learner: (one.status, one.score) for one in book.grades}
    assert status == {"ada": ("needs a person", 10), "bob": ("graded", 10)}


def test_a_master_that_fails_its_own_check_is_refused(graded) -> None:
    notebook = master_notebook()
    notebook.cells[4].source = "assert double(2) == 5, 'never'"
    with pytest.raises(GradeError, match="does not pass its own check-double"):
        graded({"ada": RIGHT}, notebook)


def test_without_a_sandbox_it_says_what_that_means() -> None:
    assert "runs with your rights" in find_fence(sandbox=False).says


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_leaves_a_gradebook_of_what_was_done(graded, tmp_path) -> None:
    graded({"ada": RIGHT})
    slow = RIGHT | {"double": "import time\ntime.sleep(60)"}
    sheet = json.loads((tmp_path / "handed-in" / "ada.ipynb").read_text(encoding="utf-8"))
    for one in sheet["cells"]:
        if one["id"] == "double":
            one["source"] = slow["double"]
    for name in ("bob", "cleo"):
        (tmp_path / "handed-in" / f"{name}.ipynb").write_text(json.dumps(sheet), encoding="utf-8")
    code = (
        "import signal, sys\nfrom pathlib import Path\n"
        "from course_lib.teaching.grade import *\n"
        "if __name__ == '__main__':\n"
        # A shell starts what runs in the background with this signal ignored.
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    folder = Path(sys.argv[1])\n"
        "    fence = find_fence(sandbox=sys.argv[2] != 'none')\n"
        "    master = read_master(folder / 'words.ipynb')\n"
        "    order = Order(folder / 'handed-in', folder / 'out', master, fence,"
        " Limits(cell=50), jobs=1)\n"
        "    try:\n        grade_all(order, lambda *a: print('one', flush=True))\n"
        "    except Stopped as stopped:\n        print(stopped.book.waiting)\n"
    )
    script = tmp_path / "grade_it.py"
    script.write_text(code, encoding="utf-8")
    from tests.grading.conftest import any_fence

    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path), any_fence().kind],
        stdout=subprocess.PIPE, text=True, cwd=project_root(),
    )  # fmt: skip
    try:
        assert process.stdout is not None and process.stdout.readline() == "one\n"
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=60)[0]
    finally:
        process.kill()
    assert "('bob', 'cleo')" in rest
    told = json.loads((tmp_path / "out" / "grades.json").read_text(encoding="utf-8"))
    assert list(told) == ["ada"] and told["ada"]["score"] == 10


def test_only_the_statements_that_a_check_depends_on_run() -> None:
    tour = (
        "rows = []\nfor n in range(3):\n    rows.append(n)\nprint(rows)\nslow = sum(range(10**9))"
    )
    check = "assert f() == 3"
    answer = "def f():\n    return len(rows)"
    cells = [Block(tour, False), Block(answer, True, True), Block(check, True)]
    assert needed_sources(cells)[0] == "rows = []\nfor n in range(3):\n    rows.append(n)"
    star = [Block("from math import *", False), *cells]
    assert needed_sources(star) == [one.source for one in star]


def test_sources_give_away_what_deserves_a_look() -> None:
    solution = {"a": "def split(text):\n    return text.split()"}
    stub = {"a": "def split(text):\n    raise NotImplementedError"}

    def flags(source: str) -> list[str]:
        return source_flags({"a": source}, solution, stub, fixed=("lab",))

    assert not flags("def split(text):\n    return [w for w in text.split(' ') if w]")
    assert "instead of writing it" in flags("from course_lib.loader import split")[0]
    assert "lab.use" in " ".join(flags("split = lab.use('split')"))
    assert "changes lab" in " ".join(flags("lab.check = print"))
    assert any("sys" in flag for flag in flags("import sys\ndef split(t): return sys.modules"))
    assert any("__eq__" in flag for flag in flags("class A:\n    def __eq__(self, o): return True"))
    assert not flags(stub["a"])


def test_answers_that_differ_in_names_alone_are_alike() -> None:
    one = (
        "def f(items):\n    'Say.'\n    total, seen = 0, []\n    for item in items:\n"
        "        if item > 3 and item not in seen:\n            total += item * 2 - 1\n"
        "            seen.append(item)\n    return total, sorted(seen)"
    )
    other = one.replace("total", "s").replace("item", "x").replace("    'Say.'\n", "    # mine\n")
    assert normalised(one) == normalised(other) != normalised(one.replace("> 3", "> 4"))
    (group,) = alike({"ada": {"a": one}, "bob": {"a": other}, "cy": {"a": "x = 1"}}, {})
    assert group == {"answer": "a", "learners": ["ada", "bob"], "solution": False}


def test_no_process_is_left_after_a_run(graded) -> None:
    import psutil

    before = {p.pid for p in psutil.Process().children(recursive=True)}
    graded({"ada": RIGHT}, limits=Limits(cell=5))
    time.sleep(0.2)
    left = [p for p in psutil.Process().children(recursive=True) if p.pid not in before]
    assert not [p for p in left if "resource_tracker" not in " ".join(p.cmdline())]
    assert not multiprocessing.active_children()


def test_names_of_files_stay_in_their_folder(graded, tmp_path) -> None:
    graded({"ada": RIGHT})
    (tmp_path / "handed-in" / "..").resolve()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["handed-in", "out", "words.ipynb"]
    assert Path(tmp_path / "out" / "feedback" / "ada.html").is_file()
