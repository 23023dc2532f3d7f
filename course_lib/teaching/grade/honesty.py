"""What an answer's source gives away: hints for a person, which cost no points by themselves.

An answer is compared with what the master's own solution uses: what that does not need (the
reference, the interpreter's insides, processes) is worth a look.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType

from course_lib.teaching.build.source import as_python

MODULES = {
    "builtins", "ctypes", "gc", "importlib", "inspect", "atexit", "signal", "threading", "socket",
    "multiprocessing", "subprocess", "sys", "os", "shutil", "runpy", "code", "pickle", "marshal",
    "IPython", "ipykernel", "unittest", "pytest", "nbval", "_thread", "mmap", "faulthandler",
    "pkgutil", "pydoc", "timeit", "doctest", "copyreg", "codeop", "linecache", "tracemalloc",
}  # fmt: skip

NAMES = {
    "__import__", "eval", "exec", "compile", "globals", "vars", "setattr", "delattr", "get_ipython",
    "__builtins__", "breakpoint",
}  # fmt: skip

ATTRIBUTES = {
    "__code__", "__globals__", "__closure__", "__builtins__", "__subclasses__", "__dict__",
    "f_back", "f_globals", "f_locals", "tb_frame", "tb_next", "_getframe", "ast_transformers",
    "input_transformers_cleanup", "input_transformers_post", "set_custom_exc", "user_ns",
    "showtraceback", "modules", "_passed", "exercises", "FunctionType", "CodeType", "f_builtins",
}  # fmt: skip

THROUGH = {"sys", "os", "inspect", "builtins", "gc", "ctypes", "importlib", "subprocess"}
"""Modules that others have among their names."""

MAGIC = "magics, which no answer needs"

TELLING = re.compile(r"__(?:code|globals|closure|builtins|subclasses|import|dict)__|\bcourse_lib\b")
"""In a text: what is looked up there is not seen in the source."""

TEXT = 200
"""Characters of a text above which it is prose."""

SHORTEST = 4
"""Characters of a text that is held to come from a check."""


def source_flags(
    answers: Mapping[str, str],
    solutions: Mapping[str, str],
    stubs: Mapping[str, str],
    *,
    fixed: Sequence[str] = (),
    tried: Collection[str] = (),
    paid: Collection[str] = (),
) -> list[str]:
    """Return what is worth a look in a learner's answers, a line each.

    Parameters
    ----------
    answers, solutions, stubs
        By grade id: the learner's source, the master's, and what the learner was given.
    fixed
        Names that only the master's set-up defines.
    tried
        Texts that the checks try the answers with.
    paid
        Answers that earned points.
    """
    flags: list[str] = []
    for name, source in answers.items():
        if source == stubs.get(name):
            continue
        tree, allowed = tree_of(source), _allowed(solutions.get(name, ""))
        if tree is None:
            continue
        found = dict.fromkeys(what for what in _suspicious(tree) if what not in allowed.suspicious)
        flags += [f"{name} uses {what}" for what in found]
        flags += [f"{name} {what}" for what in _borrowed(tree, allowed, fixed)]
        if name in paid:
            stub = stubs.get(name, "")
            flags += [f"{name} {what}" for what in _by_heart(tree, allowed, stub, tried)]
        if any(line.lstrip().startswith(("%", "!")) for line in source.splitlines()):
            flags.append(f"{name} uses {MAGIC}")
    return flags


def texts_of(code: CodeType) -> set[str]:
    """Return the texts in a piece of compiled code, at any depth; docstrings count.

    Examples
    --------
    >>> sorted(texts_of(compile("f('a' + 'b', ('c', 1))", "", "eval")))
    ['ab', 'c']
    """
    found: set[str] = set()
    waiting = list(code.co_consts)
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.add(one)
        elif isinstance(one, tuple | frozenset):
            waiting += one
        elif isinstance(one, CodeType):
            waiting += one.co_consts
    return found


def tree_of(source: str) -> ast.Module | None:
    """Return a cell's syntax tree, magics read as IPython reads them; None where there is none."""
    try:
        return ast.parse(as_python(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@dataclass(frozen=True)
class _Allowed:
    """What the master's own solution uses and defines."""

    suspicious: frozenset[str] = frozenset()
    imports: frozenset[tuple[str, str]] = frozenset()
    defined: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()


@lru_cache(maxsize=500)
def _allowed(solution: str) -> _Allowed:
    tree = tree_of(solution)
    if tree is None:
        return _Allowed()
    found = frozenset(_suspicious(tree))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return _Allowed(
        found,
        frozenset(_course_imports(tree)),
        frozenset(_definitions(tree)),
        frozenset(one.name for one in functions if _parameters(one)),
        frozenset(texts_of(compile(tree, "<solution>", "exec"))),
    )


def _suspicious(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "").split(".")[0], *(alias.name for alias in node.names)]
            yield from (name for name in names if name in MODULES)
        elif isinstance(node, ast.Name) and node.id in NAMES:
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES | THROUGH:
            yield f".{node.attr}"
        elif isinstance(node, ast.ClassDef):
            methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            if methods & {"__eq__", "__bool__", "__class__", "__instancecheck__"}:
                yield f"a class with its own {min(methods & {'__eq__', '__bool__', '__class__'})}"


def _borrowed(tree: ast.Module, allowed: _Allowed, fixed: Sequence[str]) -> Iterator[str]:
    """Say what comes from the course's own code, or replaces it, instead of being written."""
    for module, name in sorted(_course_imports(tree) - allowed.imports):
        if name in allowed.defined or module.startswith("course_lib.teaching"):
            yield f"imports {name} from {module} instead of writing it"
        else:
            yield f"imports {name} from {module}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("use", "reference") and "lab" in ast.dump(node.func.value):
                yield "takes the course's own version with lab.use"
        for target in _targets(node):
            if target in fixed:
                yield f"changes {target}, which belongs to the notebook"


def _by_heart(
    tree: ast.Module, allowed: _Allowed, stub: str, tried: Collection[str]
) -> Iterator[str]:
    """Say what an answer seems to know instead of finding it out."""
    try:
        texts = texts_of(compile(tree, "<answer>", "exec")) - allowed.texts
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for text in sorted(texts):
        if len(text) < TEXT and (found := TELLING.search(text)) and text not in stub:
            yield f"has {found[0]} in a text"
    known = sorted(t for t in texts & set(tried) if len(t) >= SHORTEST and t not in stub)
    if len(known) > 1:
        yield f"knows what its check tries: {', '.join(map(repr, known[:3]))}"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in allowed.asked:
            names = _parameters(node)
            if not any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node)):
                yield f"{node.name} never looks at what it is given"


def _targets(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and isinstance(
        node.ctx, ast.Store | ast.Del
    ):
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute | ast.Subscript):
            inner = inner.value
        if isinstance(inner, ast.Name):
            yield inner.id


def _course_imports(tree: ast.AST) -> set[tuple[str, str]]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_lib"):
            found |= {(node.module or "", alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {(a.name, a.name) for a in node.names if a.name.startswith("course_lib")}
    return found


def _definitions(tree: ast.Module) -> set[str]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in tree.body if isinstance(node, kinds)}


def _parameters(node: ast.FunctionDef) -> set[str]:
    given = node.args
    all_of = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {one.arg for one in all_of if one is not None}
