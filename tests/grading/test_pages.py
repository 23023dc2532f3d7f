"""What a learner reads of an answer that is no Python, and what cannot be smuggled into it."""

import pytest

from course_lib.teaching.grade import read_master
from course_lib.teaching.grade.gradebook import Gradebook
from course_lib.teaching.grade.marking import Grade, Mark
from course_lib.teaching.grade.pages import feedback_page
from course_lib.teaching.grade.pages.feedback import LONGEST
from course_lib.teaching.grade.pages.syntax import WIDEST, with_line
from tests.grading.classroom import RIGHT, write_master

IN_A_FORK = "(<ipython-input-1-deb38838a7d8>, line {})"
IN_A_KERNEL = "(1945344572.py, line {})"


def told(number: int, source: str, place: str = IN_A_FORK, error: str = "SyntaxError") -> str:
    said = f"double: {error}: oh {place.format(number)}"
    after = with_line(said, {"double": source})
    return "" if after == said else after.removeprefix(f"double: {error}: oh ")


@pytest.mark.parametrize("place", [IN_A_FORK, IN_A_KERNEL])
def test_the_line_is_that_of_the_learners_cell(place: str) -> None:
    source = "\n \n\ndef double(x)\r\n    return x +\r\n"
    assert told(1, source, place) == "(line 4 of the cell)\n\n  4 | def double(x)"
    shown = told(2, source, place, "IndentationError")
    assert shown == "(line 5 of the cell)\n\n  5 |     return x +"


@pytest.mark.parametrize(
    ("number", "source", "place", "error"),
    [
        (3, "a\nb", IN_A_FORK, "SyntaxError"),
        (0, "a\nb", IN_A_FORK, "SyntaxError"),
        (10**9, "a\nb", IN_A_FORK, "SyntaxError"),
        (1, "exec('a b')", "(<string>, line {})", "SyntaxError"),
        (1, "a", "(<ipython-input-1-0>, line {}) and more", "SyntaxError"),
        (1, "a", IN_A_FORK, "ValueError"),
        (2, "!ls \\\n  -l\ndef f(x", IN_A_FORK, "SyntaxError"),
        (2, "files = !ls \\\n  -l\ndef f(x", IN_A_FORK, "SyntaxError"),
    ],
)
def test_where_the_line_is_not_known_none_is_shown(
    number: int, source: str, place: str, error: str
) -> None:
    assert told(number, source, place, error) == ""


def test_a_message_about_another_cell_shows_none() -> None:
    said = f"hidden: SyntaxError: oh {IN_A_FORK.format(1)}"
    assert with_line(said, {"double": "secret"}) == said


@pytest.mark.parametrize("message", ["<img src=x>", "<b>" * LONGEST])
def test_what_a_page_shows_of_an_error_is_escaped_and_has_a_limit(tmp_path, message: str) -> None:
    master = read_master(write_master(tmp_path))
    said = f"double: SyntaxError: {message} {IN_A_FORK.format(2)}"
    line = "<script>alert(1)</script>\x1b[2J\u202e" + "y" * 10_000
    marks = tuple(Mark(c.grade_id, 0.0, c.points, "failed", said) for c in master.checks)
    grade = Grade("ada", "ada", "graded", marks, answers={"double": f"a\n{line}\n{line}"})
    checks = tuple((c.grade_id, c.points) for c in master.checks)
    page = feedback_page(
        Gradebook("words", "Words", "", "none", "forked", checks, (grade,)), master, grade
    )
    assert "<script" not in page and "<img" not in page and "<b>" not in page
    assert "\x1b" not in page and "\u202e" not in page and "y" * WIDEST not in page
    assert ("&lt;script&gt;alert(1)" in page) == (len(message) < LONGEST)
    assert len(page) < len(marks) * len("&lt;") * (LONGEST + WIDEST) + 10_000


def test_a_learner_reads_the_line_that_python_could_not_read(graded, tmp_path) -> None:
    wrong = RIGHT | {"double": "\n\ndef double(x)\n    return x < 2"}
    graded({"ada": wrong})
    page = (tmp_path / "out" / "feedback" / "ada.html").read_text(encoding="utf-8")
    expected = (
        "double: SyntaxError: expected &#x27;:&#x27; (line 3 of the cell)\n\n  3 | def double(x)"
    )
    assert expected in page and "ipython-input" not in page
    assert page.count("SyntaxError") == 1
