"""Ways around the work in an answer's source, which it shows with their lines.

They lead to the library, whose answers to the lab are not within the fence but whose others are, or
to what runs the check: in a notebook of one's own, that is the only judge. Nothing of it has to be
found for the points of a lab, which come from outside.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from course_lib.teaching.grade.flags import Flag
from course_lib.teaching.notebooks.cells import defined_names, parsed

RECORDS = "course_lib.records"
"""Its types travel through the course: who imports one has no answer yet. A function may be one."""

LIBRARY = ("course_lib", "marshal", "zipimport")
"""The library, and modules that read bytecode."""

MODULES = (
    *LIBRARY, "__main__", "builtins", "ctypes", "gc", "importlib", "nbval", "pkgutil", "pytest",
    "runpy", "unittest",
)  # fmt: skip
"""What no answer imports: the library, other ways to it, and what runs checks."""

NAMES = frozenset(
    """
    __builtins__ __closure__ __code__ __globals__ __import__ __subclasses__ _getframe
    ast_transformers currentframe f_back f_globals f_locals get_ipython gi_frame resolve_name
    setprofile settrace tb_frame user_ns
    """.split()
)
"""What leads to other code, to its values, or to the shell that runs it."""

ANSWERS_ALL = ("__eq__", "__ne__", "__instancecheck__", "__subclasscheck__")
"""By these methods an object says what it is equal to, or an instance of."""


def suspicions(answers: Mapping[str, str], solutions: Mapping[str, str]) -> list[Flag]:
    r"""Return the ways in a learner's answers that the course's own do not take, a flag each.

    Parameters
    ----------
    answers, solutions
        By grade id: the learner's source, and the master's own.

    Examples
    --------
    >>> print(*suspicions({"a": "import marshal\nf = max"}, {}))
    a, line 1, imports marshal: import marshal
    """
    found = []
    asked = frozenset[str]().union(*map(defined_names, solutions.values()))
    # The stubs have all imports, and a learner may answer everything in one cell.
    ways = [way for one in solutions.values() for way in _ways(one)]
    given = {way for way in ways if asked.isdisjoint(way.split())}
    for name, source in answers.items():
        allowed, lines = _ways(solutions.get(name, "")).keys() | given, source.splitlines()
        for line, what in sorted((line, what) for what, line in _ways(source).items()):
            if what not in allowed:
                told = f"{name}, line {line}, {what}: {lines[line - 1].strip()[:120]}"
                found.append(Flag(name, what, told))
    return found


@lru_cache(4096)  # a class hands in the same cells
def _ways(source: str) -> dict[str, int]:
    """Return the ways in a source with their first lines; a docstring is none."""
    try:
        nodes = set(ast.walk(parsed(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}  # it does not run either
    nodes -= {node.value for node in nodes if isinstance(node, ast.Expr)}  # it is only said
    found = [(getattr(node, "lineno", 1), way) for node in nodes for way in _way(node)]
    return {way: line for line, way in sorted(found, reverse=True)}


def _way(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ImportFrom(module=str(module)) if module.split(".")[0] in MODULES:
            names = [a.name for a in node.names if module != RECORDS or not a.name[0].isupper()]
            yield from (f"imports {one} from {module}" for one in names)
        case ast.ImportFrom(module="sys"):
            yield from (f"uses sys.{a.name}" for a in node.names if a.name in NAMES | {"modules"})
        case ast.Import():
            names = [a.name for a in node.names if a.name.split(".")[0] in MODULES]
            yield from (f"imports {one}" for one in names)
        case ast.Attribute(value=of, attr="use" | "reference") if "lab" in ast.dump(of):
            yield "takes the course's version"
        case ast.Attribute(value=ast.Name(id="sys"), attr="modules"):
            yield "uses sys.modules"
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in NAMES:
            yield f"uses {name}"
        case ast.FunctionDef(name=name) if name in ANSWERS_ALL:
            yield f"defines {name}"
        case ast.Constant(value=str(text)) if len(text) < 200:
            yield from (f"names {one} in a text" for one in LIBRARY if one in text)
            yield from (f"names {one} in a text" for one in NAMES if one == text)
