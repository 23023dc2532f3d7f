"""What in an answer's source is worth a look: plain rules over the syntax tree.

Each rule takes a node and says in a few words what is suspicious about it. What the master's own
solution does as well is not. A rule costs no points: it shows the instructor the line.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache

from course_lib.teaching.notebooks.cells import as_python

MODULES = frozenset({
    "IPython", "_thread", "atexit", "builtins", "code", "codeop", "copyreg", "ctypes",
    "faulthandler", "gc", "importlib", "inspect", "ipykernel", "linecache", "marshal", "mmap",
    "multiprocessing", "nbval", "os", "pickle", "pkgutil", "pydoc", "pytest", "runpy", "shutil",
    "signal", "socket", "subprocess", "sys", "threading", "tracemalloc", "unittest", "zipimport",
})  # fmt: skip
"""Modules that reach beyond what an answer is given."""

FUNCTIONS = frozenset({
    "__builtins__", "__import__", "breakpoint", "compile", "delattr", "eval", "exec",
    "get_ipython", "globals", "setattr", "vars",
})  # fmt: skip

ATTRIBUTES = frozenset({
    "CodeType", "FunctionType", "__builtins__", "__closure__", "__code__", "__defaults__",
    "__dict__", "__globals__", "__kwdefaults__", "__loader__", "__subclasses__", "_getframe",
    "_passed", "ast_transformers", "exercises", "f_back", "f_builtins", "f_globals", "f_locals",
    "getsource", "modules", "set_custom_exc", "showtraceback", "tb_frame", "user_ns",
})  # fmt: skip

THROUGH = frozenset({"builtins", "ctypes", "gc", "importlib", "inspect", "os", "subprocess", "sys"})
"""Modules that can be reached as an attribute of others."""

ALWAYS_EQUAL = frozenset({"__bool__", "__class__", "__eq__", "__instancecheck__", "__ne__"})

OUTSIDE = ("/", "~", "..", "course_lib", "solutions", "labs", "tests")

Rule = Callable[[ast.AST], Iterator[str]]


def imports_the_librarys_version(node: ast.AST) -> Iterator[str]:
    """Say which names of the course's library are imported."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_lib"):
        yield from (f"imports {alias.name} from {node.module}" for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (f"imports {a.name}" for a in node.names if a.name.startswith("course_lib"))
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("use", "reference") and "lab" in ast.dump(node.func.value):
            yield "takes the course's version"


def imports_what_reaches_beyond(node: ast.AST) -> Iterator[str]:
    """Say which modules of the interpreter or of the system are imported."""
    names = []
    if isinstance(node, ast.Import):
        names = [alias.name.split(".")[0] for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        names = [(node.module or "").split(".")[0], *(alias.name for alias in node.names)]
    yield from (f"imports {name}" for name in names if name in MODULES)


def uses_the_interpreters_insides(node: ast.AST) -> Iterator[str]:
    """Say which functions and attributes are used that reach into other code."""
    if isinstance(node, ast.Name) and node.id in FUNCTIONS:
        yield f"uses {node.id}"
    elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES | THROUGH:
        yield f"uses .{node.attr}"
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
        if len(text) < 200 and any(name in text for name in ATTRIBUTES if name[:2] == "__"):
            yield "names the interpreter's insides in a text"


def opens_files_outside(node: ast.AST) -> Iterator[str]:
    """Say which files are opened that no answer is given."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        first = node.args[0] if node.args else None
        if name in ("open", "Path", "read_text", "read_bytes", "glob", "rglob", "run_path"):
            if isinstance(first, ast.Constant) and str(first.value).startswith(OUTSIDE):
                yield f"opens {str(first.value)[:60]!r}"
        elif name in ("import_module", "find_spec", "get_data", "zipimporter"):
            yield f"calls {name}"


def patches_names(node: ast.AST) -> Iterator[str]:
    """Say which attributes of something else are replaced."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
        if isinstance(node.value, ast.Name) and node.value.id not in ("self", "cls"):
            yield f"sets {node.value.id}.{node.attr}"


def equals_everything(node: ast.AST) -> Iterator[str]:
    """Say which classes decide themselves what they are equal to."""
    if isinstance(node, ast.ClassDef):
        methods = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
        if found := sorted(methods & ALWAYS_EQUAL):
            yield f"defines {found[0]}"


RULES: tuple[Rule, ...] = (
    imports_the_librarys_version,
    imports_what_reaches_beyond,
    uses_the_interpreters_insides,
    opens_files_outside,
    patches_names,
    equals_everything,
)


def suspicions(
    answers: Mapping[str, str], solutions: Mapping[str, str], fixed: Collection[str] = ()
) -> list[str]:
    r"""Return what is worth a look in a learner's answers, with the line, one text each.

    Parameters
    ----------
    answers, solutions
        By grade id: the learner's source, and the master's own.
    fixed
        Names that only the master's set-up defines.

    Examples
    --------
    >>> suspicions({"a": "import gc\\nf = max"}, {})
    ['a, line 1, imports gc: import gc']
    """
    found = []
    for name, source in answers.items():
        allowed = {what for what, _ in _matches(solutions.get(name, ""), frozenset())}
        lines = source.splitlines()
        first: dict[str, int] = {}
        for what, line in _matches(source, frozenset(fixed)):
            first.setdefault(what, line)
        for what, line in first.items():
            if what not in allowed:
                text = lines[line - 1].strip()[:120] if line <= len(lines) else ""
                found.append(f"{name}, line {line}, {what}: {text}")
    return found


@lru_cache(maxsize=1000)
def _matches(source: str, fixed: frozenset[str]) -> tuple[tuple[str, int], ...]:
    """Return what the rules say of a source, and which of some names it changes; with the lines."""
    found = [
        ("uses a magic", number)
        for number, line in enumerate(source.splitlines(), start=1)
        if line.lstrip().startswith(("%", "!"))
    ]
    try:
        nodes = list(ast.walk(ast.parse(as_python(source))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        nodes = []
    for node in nodes:
        found += [(what, getattr(node, "lineno", 1)) for rule in RULES for what in rule(node)]
        if isinstance(node, ast.Name) and node.id in fixed and not isinstance(node.ctx, ast.Load):
            found.append((f"changes {node.id}, which belongs to the notebook", node.lineno))
    return tuple(sorted(found, key=lambda one: one[1]))
