"""Lab 03, code splitters: cut at definitions, find them in a tree, choose a part's header."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tree_sitter

from course_lib.loader.languages import LANGUAGES, parse_source
from course_lib.records import Span
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.values import shown

YES, NO = ("yes", "def yes():\n    return 1\n"), ("no", "async def no():\n    pass\n")
HEAD = ("", "import os\n")
FILES: tuple[tuple[str, tuple[tuple[str, list[tuple[str, str]], str], ...]], ...] = (
    ("definitions, and the pieces before them", (
        ("python", [HEAD, YES],
         "a definition begins in line 2, its name is yes; the piece before it has the name '' "
         "and ends there, line end included"),
        ("python", [HEAD],
         "without a definition, all of the text is one piece with the name ''"),
        ("shell", [("", "set -e\n"), ("a", "a() {\n  b\n}\n\na\n")],
         "a piece ends only where the next one begins"),
    )),
    ("pieces that are empty, equal, or indented", (
        ("python", [YES, NO],
         "there is no text before the definition: an empty piece is left out"),
        ("python", [], "an empty text has no pieces"),
        ("python", [("a", "def a():\n    pass\n\n\n"), YES],
         "a piece ends where the next one begins, after the blank lines"),
        ("python", [("a", "def a():\n    pass")],
         "the last piece ends where the text ends, and this text has no line end"),
        ("python", [("a", "def a():\n    pass\n"), ("a", "def a():\n    pass\n")],
         "two definitions may have the same name, and the same text"),
        ("python", [("A", "class A:\n    def say(self):\n        pass\n")],
         "an indented definition belongs to the piece around it"),
    )),
    ("lines above that belong to a definition", (
        ("python", [HEAD, ("yes", "# Says yes.\ndef yes():\n    return 1\n")],
         "a comment directly above belongs to the definition"),
        ("python", [HEAD, ("yes", "# Says yes.\n@cached\ndef yes():\n    return 1\n")],
         "so does the line above that one, if it also begins with one of ABOVE"),
        ("python", [("yes", "# Says yes.\n@cached\ndef yes():\n    return 1\n")],
         "the comment is the first line of the file, and belongs to the definition"),
        ("python", [("a", "def a():\n    pass\n# end\n")],
         "a is at the start of the text: no line is above it, so stop there"),
        ("python", [("", "# About the file.\n\n"), NO],
         "a blank line is between them, so the comment is not directly above"),
        ("python", [("a", "def a():\n    pass\n    # The end of a.\n"), YES],
         "the line above begins with blanks, so it does not begin with one of ABOVE"),
        ("go", [("", "package a\n\n"), ("B", "// B does.\nfunc (c *C) B() {\n}\n\n")],
         "in Go, comments begin with //"),
    )),
    ("names of all sorts, and offsets in characters", (
        ("go", [("a", "var a = 1\n"), ("", "const (\n\tb = 2\n)\n")],
         "a definition without a name is one, too: its group `name` is ''"),
        ("python", [("", "x = 'é'\n"), YES], "offsets count characters, and é is one character"),
        ("python", [("", "x = '\u2028def a(): pass'\n"), YES],
         "U+2028 does not end a line: the first `def` is in the middle of one"),
        ("python", [("", "import os\r\n"), ("a", "# Says.\r\ndef a():\r\n    pass\r\n")],
         "the offsets count all characters of the text: each line end has two here"),
    )),
)  # fmt: skip
"""Of each group: a language, pieces of a file, each with its name, and why it is cut there."""
PIECES = [one for _, files in FILES for one in files]


@drawn(150)
def any_file(random: Draws) -> Call:
    """Draw lines of the named cases in any order, and what begins a definition in them."""
    language = random.choice(("python", "go", "shell"))
    texts = [text for one, parts, _ in PIECES if one == language for _, text in parts]
    known = [line.strip("\r") for text in texts for line in text.removesuffix("\n").split("\n")]
    end = random.choice(("\n", "\n", "\r\n"))
    source = end.join(random.choices(known, k=random.randrange(13))) + random.choice(("", end))
    return given(source, LANGUAGES[language].starts)


@exercise("3.1", "loader.languages:split_definitions", 4, time_limit=3, draws=any_file)
def check_split_definitions(call: Probe) -> None:
    """Test definitions alone, then lines that belong to them, then the offsets."""
    rust = r"^(pub )?fn (?P<name>\w+)"
    for about, files in FILES:
        with call.part(1, about, needed=False):
            for language, parts, because in files:
                starts = LANGUAGES[language].starts
                _cuts(call, parts, starts, f'LANGUAGES["{language}"].starts', because)
            if files is FILES[-1][1]:
                parts = [("", "const A: i32 = 1;\n"), ("b", "pub fn b() {}\n")]
                _cuts(call, parts, rust, f'r"{rust}"',
                      "what is defined is in the group `name`, be it the first group or not",
                )  # fmt: skip


PYTHON_TYPES, GO_TYPES = LANGUAGES["python"].definitions, LANGUAGES["go"].definitions
Trees = tuple[tuple[str, str, Any, list[str], str], ...]
"""A language, a source, the types that count, how the definitions begin, and why."""

TREES: Trees = (
    ("python", "", PYTHON_TYPES, [], "an empty file has no definitions"),
    ("python", "x = 1\n", PYTHON_TYPES, [], "there is no definition in this file"),
    ("python", "def a(): pass\n", PYTHON_TYPES, ["def a()"], "a function is a definition"),
    ("python", "def a(): pass\nclass B: pass\ndef c(): pass\n", PYTHON_TYPES,
     ["def a()", "class B", "def c()"], "all three, in the order of the text"),
    ("python", "class A:\n    def b(self): pass\n", PYTHON_TYPES, ["class A"],
     "b is inside A: only the outermost definitions are wanted"),
    ("python", "def a():\n    def b(): pass\n    return b\n", PYTHON_TYPES, ["def a()"],
     "b is inside a: only the outermost definitions are wanted"),
    ("python", "if x:\n    def a(): pass\nelse:\n    def b(): pass\ndef c(): pass\n", PYTHON_TYPES,
     ["def a()", "def b()", "def c()"],
     "a and b are further in, in no other definition, and above c"),
    ("python", "for x in y:\n    with f:\n        while x:\n            def a(): pass\n",
     PYTHON_TYPES, ["def a()"], "a is inside of other blocks than an `if`, and three levels down"),
    ("python", "if x:\n    def a(): pass\nelse:\n    def a(): pass\n", PYTHON_TYPES,
     ["def a()", "def a()"], "two definitions may have the same text, and neither is in the other"),
    ("python", "if x:\n    def a(): pass\n    y = 1 +\n", PYTHON_TYPES, ["def a()"],
     "an error in the grammar, further below, leaves a what it is"),
    ("python", "@cached\ndef a(): pass\n", PYTHON_TYPES, ["@cached"],
     "the node with decorator and function is the definition"),
    ("python", 'x = """\ndef a(): pass\n"""\n', PYTHON_TYPES, [],
     "the quotes hold text, not a definition"),
    ("python", "def a(): pass\nclass B: pass\n", {"class_definition": "class"}, ["class B"],
     "types has only the type of classes"),
    ("go", "package a\n\ntype T struct{}\n\nfunc (t T) B() {}\n", GO_TYPES, ["type T", "func (t"],
     "Go has other types"),
)  # fmt: skip


def _finds(call: Probe, trees: Trees) -> None:
    for language, text, types, beginnings, because in trees:
        case = call(parse_source(text, language), types)
        case.label = f'find_definitions(parse_source({text!r}, "{language}"), {dict(types)!r})'
        _same_nodes(call, case, beginnings, because)


def _definitions(
    function: Callable[..., Any], source: str, language: str, types: Any, is_last: bool
) -> list[Any]:
    """Return type and place of the nodes found in a source, or in the last of its outermost."""
    root = parse_source(source, language)
    assert root is not None
    found = function(root.named_children[-1] if is_last else root, types)
    return [[node.type, node.start_byte, node.end_byte] for node in found]


PASTE = """root = parse_source({0}, {1})
find_definitions(root.named_children[-1] if {3} else root, {2})"""


@drawn(apply=_definitions, paste=PASTE)
def any_tree(random: Draws) -> Call:
    """Draw sources of the named cases together, and at times very many brackets."""
    language = random.choice(("python", "python", "go"))
    parts = random.choices([text for one, text, *_ in TREES if one == language], k=3)
    types = dict(LANGUAGES[language].definitions)
    if language == "python" and random.chance(0.1):
        parts.insert(0, f"x = {'(' * 1500}1{')' * 1500}\n")
        types |= {"integer": "number"} if random.chance(0.5) else {}
    kept = random.some(sorted(types)) if random.chance(0.3) else types
    source = "import os\n" * (language == "python") + "".join(parts)
    return given(source, language, {name: types[name] for name in kept}, random.chance(0.2))


@exercise("3.2", "loader.languages:find_definitions", 3, time_limit=3, draws=any_tree)
def check_find_definitions(call: Probe) -> None:
    """Test the left margin, then definitions further in, then a very deep tree."""
    with call.part(1, "definitions at the left margin, without those inside of them", needed=False):
        _finds(call, TREES[:6])
    with call.part(1, "definitions further in"):
        _finds(call, TREES[6:11])
    with call.part(1, "other types, a very deep tree, and a node inside of one"):
        _finds(call, TREES[11:])
        deep = "x = " + "(" * 10_000 + "1" + ")" * 10_000 + "\ndef a(): pass\n"
        case = call(parse_source(deep, "python"), PYTHON_TYPES)
        case.label = 'find_definitions(root of "x = ((((… 10,000 brackets", types)'
        if isinstance(case.error, RecursionError):
            call.fail(case.label, got="a RecursionError", expected="one definition, in line 1",
                      because="the tree is deeper than Python lets calls nest: keep the nodes "
                      "still to be looked at in a list")  # fmt: skip
        found = [node.start_point.row for node in case.returns(list[tree_sitter.Node])]
        if found != [1]:
            call.fail(case.label, got=f"definitions in the lines {found}", expected="one in line 1",
                      because="the tree is very deep, and its definition is the last node",
            )  # fmt: skip
        case = call(parse_source(deep, "python"), {"integer": "number"})
        case.label = 'find_definitions(root of "x = ((((… 10,000 brackets", {"integer": "number"})'
        _same_nodes(call, case, ["1"], "the 1 is inside of all brackets, and counts at any depth")
        inner = parse_source("class A:\n    def b(self): pass\n", "python")
        assert inner is not None
        case = call(inner.named_children[0], PYTHON_TYPES)
        case.label = 'find_definitions(node of "class A:\\n    def b(self): pass\\n", types)'
        _same_nodes(call, case, ["def b("], "the node itself is not in the result")


@drawn(120)
def any_room(random: Draws) -> Call:
    """Draw up to three signatures, and room near the length of one of the candidates."""
    lines = (
        "class Mill:\n",
        "    def grind(\n        self, corn\n    ):\n",
        "def f():\n",
        "func B() {\n",
    )
    end = random.choice(("\n", "\n", "\n", "\r\n"))
    signatures = [one.replace("\n", end) for one in random.choices(lines, k=random.randrange(4))]
    innermost = signatures[-1] if signatures else ""
    candidates = ("".join(signatures), innermost, innermost.partition("\n")[0], "")
    room = len(random.choice(candidates)) + random.choice((-3, -1, 0, 0, 1, 4))
    return given(signatures, max(0, room))


@exercise("3.3", "loader.code:choose_header", 3, time_limit=2, draws=any_room)
def check_choose_header(call: Probe) -> None:
    """Test room for all signatures, then less and less room, then empty arguments."""
    mill, grind = "class Mill:\n", "    def grind(\n        self, corn\n    ):\n"
    both, line = [mill, grind], "    def grind(\n"
    with call.part(1, "all signatures, or the innermost one", needed=False):
        call.cases(
            ((both, 80), mill + grind, "all signatures fit, so the header has all of them"),
            ((both, 50), grind, "both together do not fit; the whole innermost one fits"),
            (([mill, mill, grind], 60), grind,
             "all three together do not fit, so only the innermost one is taken"),
            (((mill, grind), 50), grind, "the signatures may be a tuple, which cannot be changed"),
        )  # fmt: skip
    with call.part(1, "its first line, or nothing"):
        call.cases(
            ((both, 20), line, "only the first line of the innermost one fits"),
            ((both, 36), line,
             "the first line of the innermost one, and no other, although two of its lines fit"),
            ((["def f(\r\n    a\r\n):\r\n"], 10), "def f(\r\n",
             "the line ends are those of the signature: here each has two characters"),
            ((["class A:\n", "    def long_name(self):\n"], 12), "",
             "the first line of the innermost one does not fit; never take the outermost one "
             "alone"),
        )  # fmt: skip
    with call.part(1, "room that just fits, and none"):
        call.cases(
            ((both, len(mill + grind)), mill + grind,
             "both together have exactly `room` characters, so they fit"),
            ((both, len(grind)), grind, "the innermost one has exactly `room` characters"),
            ((both, len(line)), line, "the line end counts as a character, and there is room for "
             "it"),
            ((both, len(line) - 1), "",
             "the line end counts as a character, and there is no room for it"),
            ((["def é():\n"], 9), "def é():\n", "room is in characters, and é is one"),
            ((both, 0), "", "there is no room"),
            (([], 80), "", "there are no signatures"),
        )  # fmt: skip


def _cuts(call: Probe, parts: list[tuple[str, str]], starts: str, rule: str, because: str) -> None:
    """Expect a text made of these parts, each with its name, to be cut into them again."""
    spans, at = [], 0
    for name, text in parts:
        spans.append((name, Span(at, at + len(text), text)))
        at += len(text)
    text = "".join(text for _, text in parts)
    case = call(text, starts)
    case.label = f"split_definitions({text!r}, {rule})"
    case.gives(spans, because=because)


def _same_nodes(call: Probe, case: Case, beginnings: list[str], because: str) -> None:
    found = [(node.text or b"").decode() for node in case.returns(list[tree_sitter.Node])]
    pairs = zip(found, beginnings, strict=False)
    if len(found) != len(beginnings) or not all(one.startswith(text) for one, text in pairs):
        call.fail(
            case.label, got=f"nodes with the texts {shown(found)}",
            expected=f"nodes that begin with {shown(beginnings)}", because=because,
        )  # fmt: skip
