"""Lab 03: source files of three languages, and signatures for more or less room."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, chance, some

LINES = {
    "python": (
        ("import os", "", "# Says.", "@cached", "def {}():", "async def {}():", "class {}:")
        + ("    pass", "    def {}(self):", "    # The end.", "x = 'é'", "if x:", "def {}(): pass")
    ),
    "go": (
        ("package a", "", "// Says.", "func {}() {{", "func (c *C) {}() {{", "type {} struct {{")
        + ("}}", "const (", "\tb = 2", ")", "var {} = 1", "\t// The end.", "x.func()")
    ),
    "shell": ("set -e", "", "# Says.", "{}() {{", "function {} {{", "  b", "}}", "{} x", "# {{"),
}
PYTHON = (
    "import os",
    "x = 1",
    "def {}(): pass",
    "class {}:\n    def b(self): pass",
    "def {}():\n    def b(): pass\n    return b",
    "if x:\n    def {}(): pass\nelse:\n    class C: pass",
    "@cached\ndef {}(): pass",
    'x = """\ndef {}(): pass\n"""',
    "try:\n    with x:\n        @cached\n        class {}: pass\nfinally:\n    def z(): pass",
)
GO = ("var {} = 1", "type {} struct{{}}", "func (t T) {}() {{}}", "func {}() {{ type B int }}")


@audit("3.1", count=150)
def split_definitions(random: Draws) -> Call:
    """Draw the lines of a file in any order, and what begins a definition in its language."""
    from course_lib.loader.languages import LANGUAGES

    language = random.choice(sorted(LINES))
    lines = [_named(random, line) for line in random.choices(LINES[language], k=12)]
    end = random.choice(("\n", "\n", "\r\n"))
    source = end.join(lines[: random.randrange(13)]) + random.choice(("", end))
    return call(source, LANGUAGES[language].starts)


def _named(random: Draws, line: str) -> str:
    return line.format(random.choice(("yes", "no", "a", "B")))


def _definitions(
    function: Callable[..., Any], source: str, language: str, types: Any, is_last: bool
) -> list[Any]:
    """Return type and place of the nodes found in a source, or in the last of its outermost."""
    from course_lib.loader.languages import parse_source

    root = parse_source(source, language)
    assert root is not None
    found = function(root.named_children[-1] if is_last else root, types)
    return [[node.type, node.start_byte, node.end_byte] for node in found]


PASTE = """root = parse_source({0}, {1})
find_definitions(root.named_children[-1] if {3} else root, {2})"""


@audit("3.2", count=60, apply=_definitions, paste=PASTE)
def find_definitions(random: Draws) -> Call:
    """Draw definitions within others and within none, and at times very many brackets."""
    from course_lib.loader.languages import LANGUAGES

    language = random.choice(("python", "python", "go"))
    parts = random.choices(PYTHON if language == "python" else GO, k=random.randrange(6))
    if language == "python" and chance(random, 0.1):
        parts.insert(0, f"x = {'(' * 1500}1{')' * 1500}")
    types = dict(LANGUAGES[language].definitions)
    kept = some(random, sorted(types)) if chance(random, 0.3) else types
    source = "\n".join(_named(random, part) for part in parts)
    head = "package a\n" if language == "go" else "import os\n"
    is_last = chance(random, 0.2)
    return call(f"{head}{source}\n", language, {name: types[name] for name in kept}, is_last)


@audit("3.3", count=120)
def choose_header(random: Draws) -> Call:
    """Draw up to three signatures, and room near the length of one of the candidates."""
    lines = (
        "class Mill:\n",
        "    def grind(\n        self, corn\n    ):\n",
        "def f():\n",
        "func B() {\n",
    )
    signatures = random.choices(lines, k=random.randrange(4))
    innermost = signatures[-1] if signatures else ""
    candidates = ("".join(signatures), innermost, innermost.partition("\n")[0], "")
    room = len(random.choice(candidates)) + random.choice((-3, -1, 0, 0, 1, 4))
    return call(signatures, max(0, room))
