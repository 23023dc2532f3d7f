"""What a learner reads of an answer, and what cannot be smuggled into it."""

import json
import re

import pytest

from course_lib.teaching.classroom.autograded import autograded, sanitized
from course_lib.teaching.classroom.comments import LONGEST, comments
from course_lib.teaching.classroom.syntax import WIDEST, with_line
from course_lib.teaching.grade import lab_masters, read_master
from course_lib.teaching.grade.marking import Grade, Mark
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
        (0, "a\nb", IN_A_FORK, "SyntaxError"),
        (10**9, "a\nb", IN_A_FORK, "SyntaxError"),
        (1, "exec('a b')", "(<string>, line {})", "SyntaxError"),
        (1, "a", "(<ipython-input-1-0>, line {}) and more", "SyntaxError"),
        (1, "a", IN_A_FORK, "ValueError"),
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
def test_what_a_comment_shows_of_an_error_is_no_markup_and_has_a_limit(
    tmp_path, message: str
) -> None:
    from nbconvert.filters import markdown2html

    master = read_master(write_master(tmp_path))
    said = f"double: SyntaxError: {message} {IN_A_FORK.format(2)}"
    line = "<script>alert(1)</script>\x1b[2J\u202e" + "y" * 10_000
    marks = tuple(Mark(c.grade_id, 0.0, c.points, "failed", said) for c in master.checks)
    answers = {"double": f"a\n{line}\n{line}"}
    notes = ("</code><script>` a note",)
    grade = Grade("ada", "graded", marks, notes=notes, answers=answers)
    text = comments(master, grade)["double"]
    page = markdown2html(text)
    assert "<script" not in page and "<img" not in page and "<b>" not in page
    assert "\x1b" not in page and "\u202e" not in page and "y" * WIDEST not in page
    assert ("&lt;script&gt;alert(1)" in page) == (len(message) < LONGEST)
    assert "a note" in text and len(text) < LONGEST + 1_000


def test_a_comment_shows_hints_once_and_no_control_characters() -> None:
    (path,) = lab_masters(["01"])
    master = read_master(path, lab="01")
    said = "1.2 find_cut is not right yet\n  got  '\x1b[2J'\nhint 1 of 3: Go through …\nand so on"
    marks = tuple(
        Mark(c.grade_id, 0.0, c.points, "failed", said if c.exercise == "1.2" else "")
        for c in master.checks
    )
    text = comments(master, Grade("ada", "graded", marks))["exercise-1-2"]
    assert "1. Hint: " in text and "hint 1 of 3:" not in text and "and so on" not in text
    assert "\ufffd[2J" in text and "\x1b" not in text and "`str.rfind" in text


def test_what_a_hidden_test_says_is_not_told(graded, tmp_path) -> None:
    odd = RIGHT | {"double": "def double(x):\n    print(x)\n    return x + x if x != -3 else 0"}
    (grade,) = graded({"ada": odd}).grades
    master = read_master(tmp_path / "words.ipynb")
    text = comments(master, grade)["double"]
    assert "a check that is not in your notebook failed" in text and "-3" not in text
    shown = json.dumps(autograded(master, grade))
    assert "HIDDEN" not in shown and "hidden -3" not in shown and "x != -3" in shown


@pytest.mark.parametrize(
    "answer",
    [
        "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>",
        '<a href="javascript:alert(1)">x</a>', "[x](javascript:alert(1))", "<javascript:alert(1)>",
        "[x](JaVaScript&#58;alert(1))", "[x\\](javascript:alert(1))", "[a]: javascript:a()\n[a]",
        '![x](x"onerror="alert(1))', "![x](https://example.org/pixel.png)",
        "$\\href{javascript:alert(1)}{x}$", "`<script>`\n\n    <script>\n",
    ],
)  # fmt: skip
def test_markdown_of_a_learner_does_nothing_in_a_browser(answer: str) -> None:
    from nbconvert.filters import markdown2html

    page = markdown2html(sanitized(answer))
    assert not re.search(
        r"<(script|img|svg|javascript)|href=.j|\\href|onerror=\W*alert\W*>", page, re.I
    )
    assert "<strong>yes</strong>" in markdown2html(sanitized("**yes** & no, x < y"))
