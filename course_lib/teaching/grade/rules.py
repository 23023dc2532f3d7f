"""Ways to the course's own functions in an answer's source, which it shows with their lines.

The fence keeps a submission from everything but the library, which notebooks need. An answer that
calls the taught function there has the right values, and no audit can tell: so these ways are named
here, and everything else is the fence's and the audits' work.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from course_lib.teaching.notebooks.cells import as_python, defined_names

RECORDS = "course_lib.records"
"""Its types travel through the course: who imports one has no answer yet. A function may be one."""

LIBRARY = ("course_lib", "marshal", "zipimport")
"""The library, and the modules that read the bytecode that it is there as."""


def suspicions(answers: Mapping[str, str], solutions: Mapping[str, str]) -> list[str]:
    r"""Return the ways in a learner's answers that the course's own do not take, one text each.

    Parameters
    ----------
    answers, solutions
        By grade id: the learner's source, and the master's own.

    Examples
    --------
    >>> suspicions({"a": "import marshal\nf = max"}, {})
    ['a, line 1, imports marshal: import marshal']
    """
    found = []
    given = _given(solutions)
    for name, source in answers.items():
        allowed, lines = _ways(solutions.get(name, "")).keys() | given, source.splitlines()
        for line, what in sorted((line, what) for what, line in _ways(source).items()):
            if what not in allowed:
                found.append(f"{name}, line {line}, {what}: {lines[line - 1].strip()[:120]}")
    return found


def _given(solutions: Mapping[str, str]) -> set[str]:
    """Return the imports that any answer has, but of what the answers define.

    The stubs have them, so a learner who answers everything in one cell may have all of them there.
    """
    asked = frozenset[str]().union(*map(defined_names, solutions.values()))
    kinds = ("imports", "from")
    ways = {way: way.split() for one in solutions.values() for way in _ways(one)}
    return {way for way, words in ways.items() if words[::2] == [*kinds] and words[1] not in asked}


def _ways(source: str) -> dict[str, int]:
    """Return the ways in a source with their first lines; a docstring is none."""
    try:
        nodes = set(ast.walk(ast.parse(as_python(source))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}  # it does not run either
    nodes -= {node.value for node in nodes if isinstance(node, ast.Expr)}  # it is only said
    found = [(getattr(node, "lineno", 1), way) for node in nodes for way in _way(node)]
    return {way: line for line, way in sorted(found, reverse=True)}


def _way(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ImportFrom(module=str(module)) if module.startswith(LIBRARY):
            names = [a.name for a in node.names if module != RECORDS or not a.name[0].isupper()]
            yield from (f"imports {one} from {module}" for one in names)
        case ast.Import():
            yield from (f"imports {a.name}" for a in node.names if a.name.startswith(LIBRARY))
        case ast.Attribute(value=of, attr="use" | "reference") if "lab" in ast.dump(of):
            yield "takes the course's version"
        case ast.Constant(value=str(text)) if len(text) < 200:
            yield from (f"names {one} in a text" for one in LIBRARY if one in text)
