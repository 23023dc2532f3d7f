"""Python: cases worked by hand, and agreement with Python's own parser on real packages."""

import ast
import asyncio
import email
import json
import unittest
import warnings
from itertools import accumulate
from pathlib import Path

import pytest

from course_lib.loader.code import CodeSpan, split_code

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def shape(text: str, size: int = 512, overlap: int = 0) -> list[tuple[str, str, str]]:
    return [(s.kind, s.name, s.text) for s in split_code(text, "python", size, overlap)]


def names(text: str, size: int = 512) -> list[tuple[str, str]]:
    return [(s.kind, s.name) for s in split_code(text, "python", size, 0)]


def test_docstring_and_imports_are_one_piece_and_definitions_one_each() -> None:
    text = (
        '#!/usr/bin/env python\n"""Doc."""\n\nimport os\nfrom a import (\n    b,\n)\n\n'
        "X = 1\n\n\ndef f():\n    pass\n\n\nclass A:\n    pass\n"
    )
    assert shape(text) == [
        (
            "module",
            "",
            '#!/usr/bin/env python\n"""Doc."""\n\nimport os\nfrom a import (\n    b,\n)',
        ),
        ("block", "X", "X = 1"),
        ("function", "f", "def f():\n    pass"),
        ("class", "A", "class A:\n    pass"),
    ]


def test_decorators_and_comments_above_stay_with_their_definition() -> None:
    text = (
        "def a():\n    pass\n    # still a's\n\n# About b.\n\n# More.\n@one\n"
        "@two(\n    1,\n)\n# really\nasync def b():\n    pass\n@three\nclass C:\n    pass\n"
    )
    assert shape(text) == [
        ("function", "a", "def a():\n    pass\n    # still a's"),
        (
            "function",
            "b",
            "# About b.\n\n# More.\n@one\n@two(\n    1,\n)\n# really\nasync def b():\n    pass",
        ),
        ("class", "C", "@three\nclass C:\n    pass"),
    ]


def test_brackets_hold_lines_at_the_margin_together() -> None:
    text = "def f(\n    a,\n):\n    x = [\n1, '(',\n2,\n]\n    return x\ny = {\n'a': 1,\n}\n"
    assert names(text) == [("function", "f"), ("block", "y")]


def test_a_class_that_is_too_large_is_split_by_method_under_its_signature() -> None:
    method = "    # About.\n    @property\n    def m{}(self):\n        return {}\n\n"
    text = (
        'class A(\n    B, c.D[int, str], metaclass=M\n):\n    """Doc."""\n\n    x = 1\n\n'
        + method.format(1, 1)
        + "    y = 2\n    z = 3\n\n"
        + method.format(2, 2)
        + "    class Inner:\n        def deep(self):\n            return 'some text'\n\n"
        + "        def deeper(self):\n            return 'more text to fill this'\n"
    )
    spans = split_code(text, "python", 150, 0)
    head = "class A(\n    B, c.D[int, str], metaclass=M\n):\n"
    assert [(s.kind, s.name, s.class_name, s.extends, s.header) for s in spans] == [
        ("class", "A", "A", "B, c.D[int, str]", ""),
        ("method", "m1", "A", None, head),
        ("class", "A", "A", "B, c.D[int, str]", head),
        ("method", "m2", "A", None, head),
        ("class", "Inner", "A.Inner", None, head),
        ("method", "deep", "A.Inner", None, head + "    class Inner:\n"),
        ("method", "deeper", "A.Inner", None, head + "    class Inner:\n"),
    ]
    assert spans[1].text.startswith("    # About.\n    @property\n    def m1")
    assert spans[2].text == "    y = 2\n    z = 3"


def test_parts_of_a_method_are_under_class_and_method() -> None:
    body = "".join(f"        self.step_number_{i}()\n" for i in range(20))
    text = f"class A(B):\n    def run(self, x: dict[str, int] = {{':': 1}}) -> None:\n{body}"
    spans = split_code(text, "python", 200, 30)
    assert [s.kind for s in spans][:2] == ["class", "method"]
    assert spans[1].header == "class A(B):\n"
    signature = "    def run(self, x: dict[str, int] = {':': 1}) -> None:\n"
    assert {s.header for s in spans[2:]} == {"class A(B):\n" + signature}


def test_inner_functions_stay_whole_where_they_fit() -> None:
    inner = (
        "    @wraps\n    def inner{0}():\n        a{0}()\n\n        b{0}()\n\n        c{0}()\n\n"
    )
    text = "def f():\n" + "".join(inner.format(i) + "    x = 1\n" for i in range(6))
    spans = split_code(text, "python", 160, 20)
    for i in range(6):
        whole = inner.format(i).rstrip()
        assert any(whole in span.text for span in spans)


def test_definitions_in_a_condition_are_pieces_where_it_is_too_large() -> None:
    text = (
        "if sys.platform == 'win32':\n    def f():\n        return 'one thing'\n\n"
        "    def g():\n        return 'other'\nelse:\n    def f():\n        return 'elsewhere'\n"
    )
    spans = split_code(text, "python", 80, 0)
    assert [(s.kind, s.name) for s in spans] == [
        ("block", "if sys.platform == 'win32':"),
        ("function", "f"),
        ("function", "g"),
        ("block", "else:"),
    ]
    assert spans[1].header == "if sys.platform == 'win32':\n"


def test_statements_are_packed_and_parted_at_blank_lines() -> None:
    text = "a = 1\nb = 2\n\nc = 3\nd = 4\n\ne = 5\n"
    assert shape(text, 31) == [("block", "a", text.rstrip())]
    assert shape(text, 20) == [
        ("block", "a", "a = 1\nb = 2"),
        ("block", "c", "c = 3\nd = 4\n\ne = 5"),
    ]


@pytest.mark.parametrize("indent", ["\t", "  ", "        "])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_python_2_tabs_and_crlf_are_split_like_any_other(indent: str, line_end: str) -> None:
    text = (
        "import os\nclass A:\n>def f(self):\n>>print 'x', `y`\n>>exec 'a' in b\n"
        ">def g(self, (a, b)):\n>>raise E, 'x'\ndef h():\n>pass\n"
    )
    text = text.replace(">", indent).replace("\n", line_end)
    assert names(text, 60 + 6 * len(indent)) == [
        ("module", ""),
        ("class", "A"),
        ("method", "f"),
        ("method", "g"),
        ("function", "h"),
    ]


def test_broken_files_and_templates_keep_their_definitions() -> None:
    text = (
        "x = (\ndef f(:\n    {{ cookiecutter.name }}\n\n{% if a %}\ndef g(\n\n"
        "class {{ Name }}:\ndef h():\n    '''never closed\n\ndef i():\n    pass\n"
    )
    assert [name for kind, name in names(text) if kind == "function"] == ["f", "g", "h", "i"]


def definitions(text: str) -> list[tuple[Definition, int, int, bool]]:
    """Return what Python's own parser finds, each from its first decorator, and if at the top."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    found: list[tuple[Definition, int, int, bool]] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1
            last = (node.end_lineno or 1) - 1
            behind = len(lines[last].encode()[: node.end_col_offset].decode())
            start = starts[first] + node.col_offset
            found.append((node, start, starts[last] + behind, node in tree.body))
    return found


def test_real_packages_agree_with_pythons_own_parser() -> None:
    folders = [Path(str(module.__file__)).parent for module in (asyncio, email, json, unittest)]
    count = whole = top = top_whole = 0
    for path in (path for folder in folders for path in sorted(folder.rglob("*.py"))):
        text = path.read_text(encoding="utf-8")
        spans = split_code(text, "python", 512, 64)
        for node, start, end, at_top in definitions(text):
            holder = next((s for s in spans if s.start <= start and end <= s.end), None)
            if at_top:
                # Every definition has a span of its own kind and name that begins with it.
                own = next(s for s in spans if s.start <= start < s.end and s.name == node.name)
                assert own.kind == ("class" if isinstance(node, ast.ClassDef) else "function")
                assert not text[own.start : start].strip() or own.text.startswith("#")
            if end - start <= 512:
                count += 1
                whole += holder is not None
                top += at_top
                top_whole += at_top and holder is not None
                if at_top and holder:
                    # Nothing but the comments above it is in the span.
                    assert text[end : holder.end].lstrip(" \t")[:1] in {"", "#", ";", "\n"}
            elif isinstance(node, ast.ClassDef) and at_top:
                check_methods(node, [s for s in spans if start < s.end <= end])
    assert count > 1000 and top > 100
    assert top_whole >= 0.98 * top
    assert whole >= 0.85 * count


def check_methods(node: ast.ClassDef, spans: list[CodeSpan]) -> None:
    """Hold the pieces of a large class against what the parser says of it."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = {s.name for s in spans if s.kind == "method" and s.class_name == node.name}
    assert found == {item.name for item in node.body if isinstance(item, functions)}
    [first, *_] = [s for s in spans if s.kind == "class" and s.class_name == node.name]
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    assert (first.extends or "").replace('"', "'") == bases


def test_comments_that_make_a_definition_too_large_are_a_piece_of_their_own() -> None:
    text = "# long comment\n" * 5 + "@a\ndef f():\n    return 1\n"
    spans = split_code(text, "python", 40, 0)
    assert (spans[-1].kind, spans[-1].text) == ("function", "@a\ndef f():\n    return 1")
    assert {(s.kind, s.name) for s in spans[:-1]} == {("block", "f")}


def test_what_looks_like_a_definition_in_a_string_is_none() -> None:
    text = (
        'a = """\ndef no():\n    pass\n"""\nb = \'\'\'\nclass No:\n    x = """\n\'\'\'\n'
        "c = 'it is \"\"\" quoted'\nd = \"\\\n\\\ndef no(): pass\"  # '''\n"
        'def yes():\n    r"""\ndef no():\n\\"""\n    """\n    return 1\n'
    )
    assert names(text) == [("block", "a"), ("function", "yes")]
    assert split_code(text, "python")[-1].text.endswith("return 1")
