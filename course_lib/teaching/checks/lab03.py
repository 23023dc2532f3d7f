"""Lab 03, code: cut at rules, cut at a syntax tree, and the header that says where a part is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tree_sitter import Node

from course_lib.loader.languages import LANGUAGES, parse_source
from course_lib.teaching.checks.definition import Parts, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.encoded import WHOLE, text_of

PYTHON, GO, SHELL = (LANGUAGES[name].starts for name in ("python", "go", "shell"))
YES, A = "def yes():\n    return 1\n", "def a():\n    pass\n"
RUST = r"^(pub )?fn (?P<name>\w+)"


@drawn(
    150, varies=(1,),
    known={f'LANGUAGES["{name}"].starts': one.starts for name, one in LANGUAGES.items()},
)  # fmt: skip
def any_file(random: Draws) -> Call:
    """Draw lines of the named cases in any order, and what begins a definition in them."""
    starts = random.choice((PYTHON, GO, SHELL))
    calls = [one.call.args for part in check_split_definitions.parts for one in part.cases]
    texts = [text for text, begins in calls if begins == starts]
    known = [line.strip("\r") for text in texts for line in text.removesuffix("\n").split("\n")]
    end = random.choice(("\n", "\n", "\r\n"))
    source = end.join(random.choices(known, k=random.randrange(13))) + random.choice(("", end))
    return given(source, starts)


@exercise("3.1", "loader.languages:split_definitions", time_limit=3, draws=any_file)
def check_split_definitions() -> Parts:
    """Test definitions alone, then lines that belong to them, then the offsets."""
    return [
        part(1, "definitions, and the pieces before them",
            (("import os\n" + YES, PYTHON),
             "yes begins in line 2; the piece before it, named '', ends there, line end included"),
            (("set -e\na() {\n  b\n}\n\na\n", SHELL), "a piece ends where the next one begins"),
            needed=False),
        part(1, "pieces that are empty, equal, or indented",
            (("", PYTHON), "an empty text has no pieces"),
            ((A + "\n\n" + YES, PYTHON), "it ends where the next begins, after the blank lines"),
            (("def a():\n    pass", PYTHON), "the last piece ends where the text ends"),
            ((A + A, PYTHON), "two may have the same name, and the same text"),
            (("class A:\n    def say(self):\n        pass\n", PYTHON), "no piece: it is indented")),
        part(1, "lines above that belong to a definition",
            (("import os\n# Says yes.\n" + YES, PYTHON), "a comment directly above belongs to it"),
            (("import os\n# Says yes.\n@cached\n" + YES, PYTHON), "so does the line above that"),
            (("# Says yes.\n@cached\n" + YES, PYTHON), "the comment is the first line of the file"),
            ((A + "# end\n", PYTHON), "a is at the start: no line is above it"),
            (("# The file.\n\nasync def no():\n    pass\n", PYTHON), "the comment is further up"),
            ((A + "    # End of a.\n" + YES, PYTHON), "the line above begins with none of ABOVE"),
            (("package a\n\n// B does.\nfunc (c *C) B() {\n}\n\n", GO), "Go's comments: //")),
        part(1, "names of all sorts, and offsets in characters",
            (("var a = 1\nconst (\n\tb = 2\n)\n", GO), "a definition without a name: `name` is ''"),
            (("x = 'é'\n" + YES, PYTHON), "offsets count characters: é is one"),
            (("x = '\u2028def a(): pass'\n" + YES, PYTHON), "U+2028 does not end a line"),
            (("const A: i32 = 1;\npub fn b() {}\n", RUST), "the group is `name`, not number 1")),
    ]  # fmt: skip


def _nodes(
    function: Callable[..., Any], source: str, language: str, types: Any, below: int | None
) -> Any:
    """Return type, text and place of the nodes found in a source, or in one of its outermost."""
    root: Any = parse_source(source, language)
    found = function(root if below is None else root.named_children[below], types)
    if not isinstance(found, list) or not all(isinstance(node, Node) for node in found):
        return found
    told = [
        f"{node.type} {node.text[:20].decode(errors='ignore')!r}, "
        f"bytes {node.start_byte} to {node.end_byte}"
        for node in found
    ]
    return {"nodes": told, "returned": found}


def _of_root(source: str, language: str, types: Any, below: int | None) -> str:
    """Return a call with its tree."""
    known = types == LANGUAGES[language].definitions
    shown = f'LANGUAGES["{language}"].definitions' if known else types
    node = f'parse_source({text_of(source, WHOLE)}, "{language}")'
    node += "" if below is None else f".named_children[{below}]"
    return f"find_definitions({node}, {shown})"


def _no_nodes(value: Any, *_: Any) -> str:
    is_known = isinstance(value, dict) and ("dict" in value or "raises" in value)
    return "" if is_known else "a list of the nodes themselves is wanted"


TOO_DEEP = {
    "RecursionError": "the tree is deeper than Python lets calls nest: keep the nodes still to be "
    "looked at in a list"
}


@drawn(120, apply=_nodes, paste=_of_root, why=_no_nodes, says=TOO_DEEP, varies=(2,))
def any_tree(random: Draws) -> Call:
    """Draw sources of the named cases together, and at times very many brackets."""
    language = random.choice(("python", "python", "go", "shell"))
    calls = [one.call.args for part in check_find_definitions.parts for one in part.cases]
    known = [text for text, written, *_ in calls if written == language and len(text) < 999]
    known += ["x = 1\n", "def a():\n    def b(): pass\n    return b\n"] * (language == "python")
    parts = random.choices(known, k=3)
    types = dict(LANGUAGES[language].definitions)
    if language == "python" and random.chance(0.1):
        parts.insert(0, f"x = {'(' * 1500}1{')' * 1500}\n")
        types |= {"integer": "number"} if random.chance(0.5) else {}
    kept = random.some(sorted(types)) if random.chance(0.3) else types
    source = "import os\n" * (language == "python") + "".join(parts)
    below = -1 if language != "shell" and random.chance(0.2) else None
    return given(source, language, {name: types[name] for name in kept}, below)


P, G, S = ((name, dict(LANGUAGES[name].definitions), None) for name in ("python", "go", "shell"))
DEEP = "x = " + "(" * 4_000 + "1" + ")" * 4_000 + "\ndef a(): pass\n"


@exercise("3.2", "loader.languages:find_definitions", time_limit=5, draws=any_tree)
def check_find_definitions() -> Parts:
    """Test the left margin, then definitions further in, then a very deep tree."""
    return [
        part(1, "definitions at the left margin, without those inside of them",
            (("", *P), "an empty file has no definitions"),
            (("def a(): pass\n", *P), "a function is a definition"),
            (("def a(): pass\nclass B: pass\ndef c(): pass\n", *P), "all, in the text's order"),
            (("class A:\n    def b(self): pass\n", *P), "only the outermost definitions"),
            needed=False),
        part(1, "definitions further in",
            (("if x:\n    def a(): pass\nelse:\n    def b(): pass\ndef c(): pass\n", *P),
             "a and b are further in, above c"),
            (("for x in y:\n with f:\n  while x:\n   def a(): pass\n", *P), "no block is an `if`"),
            (("if x:\n def a(): pass\nelse:\n def a(): pass\n", *P), "two may have the same text"),
            (("if x:\n    def a(): pass\n    y = 1 +\n", *P), "a syntax error further below"),
            (("@cached\ndef a(): pass\n", *P), "decorator and function are one definition"),
            (("{ f() { :; }; }; g() { :; }\n", *S), "f is in a block on the line of g, before it"),
            (("a() { :; }\nif [ x; then\nb() { :; }\n", *S), "b is in what the parser cannot read"),
        ),
        part(1, "other types, a very deep tree, and a node inside of one",
            (("package a\n\ntype T struct{}\n\nfunc (t T) B() {}\n", *G), "Go has other types"),
            ((DEEP, *P), "the tree is very deep, and its definition is the last node"),
            ((DEEP, "python", {"integer": "number"}, None), "the 1 is inside of all brackets"),
            (("class A:\n    def b(self): pass\n", *P[:2], 0), "the node itself does not count")),
    ]  # fmt: skip


MILL, GRIND = "class Mill:\n", "    def grind(\n        self, corn\n    ):\n"


@drawn(120, varies=(0, 1))
def any_room(random: Draws) -> Call:
    """Draw up to three signatures, and room near the length of one of the candidates."""
    lines = (MILL, GRIND, "def f():\n", "func B() {\n")
    end = random.choice(("\n", "\n", "\n", "\r\n"))
    signatures = [one.replace("\n", end) for one in random.choices(lines, k=random.randrange(4))]
    innermost = signatures[-1] if signatures else ""
    candidates = ("".join(signatures), innermost, innermost.partition("\n")[0], "")
    room = len(random.choice(candidates)) + random.choice((-3, -1, 0, 0, 1, 4))
    return given(signatures, max(0, room))


@exercise("3.3", "loader.code:choose_header", time_limit=2, draws=any_room)
def check_choose_header() -> Parts:
    """Test room for all signatures, then less and less room, then empty arguments."""
    both, line = [MILL, GRIND], "    def grind(\n"
    return [
        part(1, "all signatures, or the innermost one",
            ((both, 80), "all signatures fit, so the header has all of them"),
            ((both, 50), "both together do not fit; the whole innermost one fits"),
            (([MILL, MILL, GRIND], 60), "not all three fit, so only the innermost one is taken"),
            needed=False),
        part(1, "its first line, or nothing",
            ((both, 20), "only the first line of the innermost one fits"),
            ((both, 36), "the innermost one's first line, and no other, although two lines fit"),
            ((["def f(\r\n    a\r\n):\r\n"], 10), "line ends of two characters stay"),
            ((["class A:\n", "    def long_name(self):\n"], 12), "never the outermost one alone")),
        part(1, "room that just fits, and none",
            ((both, len(MILL + GRIND)), "both have exactly `room` characters, so they fit"),
            ((both, len(line) - 1), "the line end counts, and there is no room for it"),
            ((["def é():\n"], 9), "room is in characters, and é is one"),
            (([], 80), "there are no signatures")),
    ]  # fmt: skip
