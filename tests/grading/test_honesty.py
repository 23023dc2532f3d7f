"""What gives a cheat away, each sign by itself."""

import functools
import sys
import types

import pytest

from course_lib.teaching.grade import lab_masters, read_master
from course_lib.teaching.grade.honesty import source_flags
from course_lib.teaching.grade.inside.audits import listen
from course_lib.teaching.grade.inside.borrowing import overheard
from course_lib.teaching.grade.inside.sealing import CHANGE, seal
from course_lib.teaching.grade.marking import Grade, Mark, paid
from course_lib.teaching.grade.pages import overview_page
from course_lib.teaching.grade.report import Report
from course_lib.teaching.grade.submissions import find_submissions, shown
from course_lib.teaching.grade.tried import texts_tried

SOLUTION = {"a": "def double(x):\n    return 2 * x"}
STUB = {"a": 'def double(x):\n    """Try double("abcd")."""\n    raise NotImplementedError()'}


def flags(answer: str, tried: set[str] | None = None, *, earned: bool = True) -> str:
    given = {"tried": tried or set(), "paid": {"a"} if earned else set()}
    return "; ".join(source_flags({"a": answer}, SOLUTION, STUB, **given))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("def double(x):\n    return 4", "never looks at what it is given"),
        ("T = {'first': 1, 'second': 2}\ndef double(x):\n    return T[x]", "knows what its check"),
        ("f = '{0.__glo' + 'bals__[x]}'\ndef double(x):\n    return f.format(x)", "__globals__ in"),
        ("import zipfile\nm = zipfile.sys\ndef double(x):\n    return m and 2 * x", "uses .sys"),
        ("from zipfile import sys\ndef double(x):\n    return 2 * x", "uses sys"),
        ("import pkgutil\ndef double(x):\n    return 2 * x", "uses pkgutil"),
    ],
)
def test_an_answer_that_only_looks_like_one_is_flagged(answer: str, said: str) -> None:
    assert said in flags(answer, {"first", "second", "third"})


@pytest.mark.parametrize(
    "answer",
    [
        "def double(x):\n    '''Twice.'''\n    return x + x",
        "def double(x):\n    return double_it(x)\ndef double_it(y):\n    return y * 2",
        "def double(x):\n    return x + x\nassert double('abcd') == 'abcdabcd'",
    ],
)
def test_an_honest_answer_is_not(answer: str) -> None:
    assert not flags(answer, {"abcd", "abcdabcd"})


def test_what_earned_nothing_is_not_called_learnt_by_heart() -> None:
    assert not flags("def double(x):\n    return 0", earned=False)


def test_the_texts_of_the_checks_of_a_lab_are_known() -> None:
    (path,) = lab_masters(["01"])
    master = read_master(path, lab="01")
    assert {"ab cd. ef gh", "abcdefghij"} <= texts_tried(master)
    marks = [Mark("check-1-2", 2.0, 2.0, "passed"), Mark("check-1-1", 0.0, 3.0, "failed")]
    assert paid(master, marks) == {"exercise-1-2"}


def reference(x: int) -> int:
    """Stand for a version of the course's."""
    return 2 * x


def learners(source: str, **names: object) -> dict[str, object]:
    """Return the names of a notebook after a learner's cell."""
    given = dict(names)
    exec(compile(source, "<ipython-input-1-x>", "exec"), given)
    return given


def heard_in(names: dict[str, object], caller: str = "<check>") -> list[str]:
    heard: list[str] = []
    call = compile("result = double(3)", caller, "exec")
    with overheard("double", reference, names, heard.append):
        exec(call, names)
    assert names["result"] == 6 and reference.__code__.co_name == "reference"
    return heard


def test_the_courses_own_version_is_heard_however_it_was_come_by() -> None:
    copied = types.FunctionType(reference.__code__, {})
    assert heard_in({"double": reference}) and heard_in({"double": copied})
    assert heard_in({"double": functools.partial(reference)}, "checks/probe.py")
    assert heard_in(learners("def double(x):\n    return kept(x)", kept=reference))


def test_an_answer_of_ones_own_is_not_heard_nor_the_checks_own_call() -> None:
    assert not heard_in(learners("def double(x):\n    return x + x"))
    names = learners("def double(x):\n    return x + x")
    heard: list[str] = []
    with overheard("double", reference, names, heard.append):
        assert reference(2) == 4
    assert not heard


def test_a_sealed_class_cannot_be_changed_and_a_sealed_module_says_so() -> None:
    name = "made_for_this_test.probe"  # what is sealed stays sealed in this process
    module = types.ModuleType(name)
    exec("class Case:\n    def gives(self): return 1\n", vars(module))
    vars(module)["Case"].__module__ = name
    sys.modules[name] = module
    told: list[tuple[str, str]] = []
    try:
        assert seal((name,)) == 1
        with pytest.raises(TypeError, match="immutable type"):
            module.Case.gives = print
        listen(lambda *event: told.append(event), lambda file: file == __file__)()
        module.helper = print
        module.part = types.ModuleType("part")
    finally:
        del sys.modules[name]
    assert told == [(CHANGE, f"{name}.helper")] and module.helper is print


def test_names_of_files_that_cannot_be_shown_are_told_apart(tmp_path) -> None:
    assert shown("Zoë O'Brien") == "Zoë O'Brien"
    for name in ("a\nb", "a\tb"):
        try:
            (tmp_path / f"{name}.ipynb").write_text("{}", encoding="utf-8")
        except OSError:
            pytest.skip("no such names here")
    (only,) = find_submissions(tmp_path)
    assert only.path is None and only.learner == "a\ufffdb"


def grade(learner: str, points: float, flag: str) -> Grade:
    mark = Mark("check-1-1", points, 3.0, "passed" if points else "failed", "x")
    return Grade(learner, learner, "graded", (mark,), (flag,))


def test_flags_of_those_who_earned_most_come_first() -> None:
    grades = (grade("ada", 0.0, "one"), grade("bob", 3.0, "two"))
    checks = (("check-1-1", 3.0),)
    page = overview_page(Report("01", "Where to cut", "none", "none", "forked", checks, grades))
    assert (
        "1 with 3, 1 with 0" in page
        and "2 of 2 have flags" in page
        and page.index("two</td>") < page.index("one</td>")
    )
