from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from course_lib.teaching.notebooks.project import BuildError, Project
from infra.course.build.cut import cut


def library(tmp_path: Path, **modules: str) -> Project:
    package = tmp_path / "mini"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, text in modules.items():
        path = package / f"{name}.py"
        path.write_text(text, encoding="utf-8")
    return Project(root=tmp_path)


def source(
    tmp_path: Path,
    text: str,
    *,
    earlier: Collection[str] = (),
    given: Mapping[str, str] | None = None,
) -> str:
    return cut(library(tmp_path, a=text), "mini.a", "f", earlier=earlier, given=given)


def test_a_comment_between_docstring_and_answer_lies_inside_the_answer(tmp_path: Path) -> None:
    cell = source(tmp_path, 'def f():\n    """Say."""\n    # secret\n    return 1\n')
    assert cell.index("### BEGIN") < cell.index("secret") < cell.index("### END")


def test_decorators_are_kept_and_what_they_need_is_imported(tmp_path: Path) -> None:
    text = (
        "from functools import cache\n\n\n# secret\n@cache\ndef f():\n    '''Say.'''\n    return 1"
    )
    assert source(tmp_path, text).startswith("from functools import cache\n\n\n@cache\ndef f():")


@pytest.mark.parametrize(
    ("head", "use", "line"),
    [
        ("import json as j", "j.dumps(1)", "import json as j"),
        ("from math import pi as p", "p", "from math import pi as p"),
        ("from mini import b", "b.g()", "from mini import b"),
        ("LIMIT = 3", "LIMIT", "from mini.a import LIMIT"),
        ("def _help():\n    return 1", "_help()", "from mini.a import _help"),
        ("try:\n    import x\nexcept ImportError:\n    x = 1", "x", "from mini.a import x"),
    ],
)
def test_what_a_function_needs_is_imported_on_top(
    tmp_path: Path, head: str, use: str, line: str
) -> None:
    text = f'{head}\n\n\ndef f():\n    """Say."""\n    return {use}\n'
    made = library(tmp_path, a=text, b='def g():\n    """Say."""\n    return 1\n')
    assert cut(made, "mini.a", "f").splitlines()[0] == line


def test_names_in_annotations_are_imported_also_from_type_checking_and_strings(
    tmp_path: Path,
) -> None:
    text = (
        "from __future__ import annotations\nfrom typing import TYPE_CHECKING, Literal\n"
        "from collections.abc import Sequence\nif TYPE_CHECKING:\n"
        "    from fractions import Fraction\nfrom decimal import Decimal\n\n\n"
        "def f(a: Fraction, b: 'Sequence[Decimal]') -> Literal['ok']:\n"
        "    '''Say.'''\n    return 'ok'\n"
    )
    assert source(tmp_path, text).splitlines()[:4] == [
        "from collections.abc import Sequence",
        "from decimal import Decimal",
        "from fractions import Fraction",
        "from typing import Literal",
    ]


def test_a_name_that_an_earlier_exercise_defined_is_the_learners_own(tmp_path: Path) -> None:
    text = "def g():\n    '''Say.'''\n    return 1\n\n\ndef f():\n    '''Say.'''\n    return g()\n"
    assert "import" not in source(tmp_path, text, earlier={"g"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def g(): ...", "does not define a function f"),
        ("def f():\n    return 1", "no docstring"),
        ("def f():\n    '''Say.'''", "no body"),
        ("def f():\n    '''Say.'''\n    return missing", "uses missing"),
        ("f = 'SELECT 1'", "f does not begin with a comment"),
    ],
)
def test_what_cannot_be_an_exercise_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        source(tmp_path, text + "\n")


def test_a_string_with_an_odd_line_separator_does_not_shift_the_cut(tmp_path: Path) -> None:
    text = "x = '\x0c\u2028'\n\n\ndef f():\n    '''Say.'''\n    return 1\n"
    assert source(tmp_path, text).startswith("def f():")


def test_lines_of_sql_are_given_within_the_learners_part(tmp_path: Path) -> None:
    text = 'f = """\nSELECT 1\nWHERE a\n  AND b\n  AND c\nLIMIT 1\n"""\n'
    assert source(tmp_path, text, given={"up to": "SELECT 1", "lines": "AND [bc]"}) == (
        'f = """\nSELECT 1\n-- ### BEGIN SOLUTION\nWHERE a\n-- ### END SOLUTION\n'
        '  AND b\n  AND c\n-- ### BEGIN SOLUTION\nLIMIT 1\n-- ### END SOLUTION\n"""'
    )
