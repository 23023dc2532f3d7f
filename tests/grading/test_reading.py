"""What is seen in an answer's source without running it: ways to the library, and copies."""

import pytest

from course_lib.teaching.grade.flags import Flag
from course_lib.teaching.grade.plagiarism import find_copies
from course_lib.teaching.grade.rules import suspicions

SOLUTION = {"a": "def split(text):\n    return text.split()"}
HONEST = "def split(text):\n    return [word for word in text.split(' ') if word]"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "from course_lib.loader.recursive import split_text",
            "imports split_text from course_lib.loader.recursive",
        ),
        ("import course_lib.loader as theirs", "imports course_lib.loader"),
        ("split = lab.use('split')", "takes the course's version"),
        ("use = lab.use; split = use('split')", "takes the course's version"),
        ("from zipimport import zipimporter", "imports zipimporter from zipimport"),
        ("import sys, marshal", "imports marshal"),
        ("theirs = load('course_lib.loader')", "names course_lib in a text"),
        ("theirs = sys.modules[Span.__module__]", "uses sys.modules"),
        ("theirs = one_a_field.__globals__['split']", "uses __globals__"),
        ("theirs = getattr(one_a_field, '__globals__')", "names __globals__ in a text"),
        ("import pkgutil", "imports pkgutil"),
        ("shell.ast_transformers.append(mine)", "uses ast_transformers"),
        ("def __eq__(one, other): return True", "defines __eq__"),
        ("load = importlib.import_module('marshal').loads", "names marshal in a text"),
    ],
)
def test_a_way_to_the_courses_functions_is_shown_with_what_it_does(line: str, said: str) -> None:
    (found,) = suspicions({"a": f"{HONEST}\n{line}"}, SOLUTION)
    assert found == Flag("a", said, f"a, line 3, {said}: {line}")


def test_an_honest_answer_and_what_the_solution_does_too_are_not_suspicious() -> None:
    assert not suspicions({"a": HONEST}, SOLUTION)
    span, function = (
        {"a": f"from course_lib.records import {name}\ndef split(text):\n    return [{name}(text)]"}
        for name in ("Span", "content_hash")
    )
    assert not suspicions(span, SOLUTION)
    assert not suspicions(function, function)
    assert suspicions(function, SOLUTION)
    assert not suspicions({"a": "def split(text:\n"}, SOLUTION)


def test_what_another_stub_imports_is_not_suspicious_but_what_it_asks_for_is() -> None:
    both = SOLUTION | {"b": "from course_lib.x import Key, split\ndef read(text):\n    return 0"}
    assert not suspicions({"a": f"from course_lib.x import Key\n{HONEST}"}, both)
    assert suspicions({"a": "from course_lib.x import split"}, both)


LONG = '''def merged(spans, limit=10):
    """Join spans that touch."""
    joined, last = [], None
    for span in sorted(spans):
        if last is not None and span[0] <= last[1] and span[1] - last[0] < limit:
            last = (last[0], max(last[1], span[1]))
            joined[-1] = last
        else:
            last = span
            joined.append(last)
    return [one for one in joined if one[1] > one[0]]'''


def test_short_answers_and_given_helpers_are_no_copies() -> None:
    assert not find_copies({"ada": SOLUTION, "bob": SOLUTION}, SOLUTION, {"a": ""})
    given = {"ada": {"a": LONG}, "bob": {"a": f"{LONG}\n"}}
    assert not find_copies(given, {"a": LONG}, {"a": LONG})
