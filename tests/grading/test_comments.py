"""What a learner reads of an answer, and what cannot be smuggled into it."""

import json
import re

import pytest

from course_lib.teaching.classroom.autograded import autograded, sanitized
from course_lib.teaching.classroom.comments import LONGEST, comments
from course_lib.teaching.grade import lab_masters, read_master
from course_lib.teaching.grade.marking import Grade, Mark
from tests.grading.classroom import RIGHT, write_master


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("\n \n\ndef double(x)\r\n    return x", "expected ':' in this line:\n\n  def double(x)"),
        ("%load_ext x\ndef double(x):\nreturn x", "in this line:\n\n  return x"),
        ("def double(x):\n    exec('a b')", "SyntaxError: invalid syntax (<string>, line 1)"),
    ],
)
def test_an_error_of_syntax_is_told_with_its_line(graded, source: str, said: str) -> None:
    (ada,) = graded({"ada": RIGHT | {"double": source}}).grades
    assert said in ada.marks[0].said


@pytest.mark.parametrize("message", ["<img src=x>", "<b>" * LONGEST])
def test_what_a_comment_shows_of_an_error_is_no_markup_and_has_a_limit(
    tmp_path, message: str
) -> None:
    from nbconvert.filters import markdown2html

    master = read_master(write_master(tmp_path))
    said = f"longest: ValueError: {message}"
    wrong = "double: SyntaxError: <script>alert(1)</script>\x1b[2J\u202e"
    marks = tuple(
        Mark(c.grade_id, 0.0, c.points, "failed", said if "longest" in c.grade_id else wrong)
        for c in master.checks
    )
    notes = ("</code><script>` a note",)
    grade = Grade("ada", "graded", marks, notes=notes)
    text = "\n\n".join(comments(master, grade).values())
    page = markdown2html(text)
    assert "<script" not in page and "<img" not in page and "<b>" not in page
    assert "\x1b" not in page and "\u202e" not in page
    assert "&lt;script&gt;alert(1)" in page and f"&lt;{message[1]}" in page
    assert "a note" in text and len(text) < LONGEST + 2_000


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
    printed = RIGHT | {"double": "def double(x):\n    print(x)\n    return x + x if x != -3 else 0"}
    looked_up = RIGHT | {"double": "def double(x):\n    return {2: 4, 'ab': 'abab'}[x]"}
    ada, bob = graded({"ada": printed, "bob": looked_up}).grades
    master = read_master(tmp_path / "words.ipynb")
    told = "in your notebook {}, which takes all of these points"
    for grade, said in [(ada, "failed"), (bob, "ended with KeyError")]:
        text = comments(master, grade)["double"]
        assert told.format(said) in text and "-3" not in text
    shown = json.dumps(autograded(master, ada))
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
