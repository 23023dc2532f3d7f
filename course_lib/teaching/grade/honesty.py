"""What an answer's source gives away: hints for a person, which cost no points by themselves.

An answer is compared with what the master's own solution uses: what that does not need (the
reference, the interpreter's insides, processes) is worth a look.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from course_lib.teaching.build.source import as_python

SMALLEST = 40
"""Nodes of an answer's syntax tree below which likeness means nothing."""

MODULES = {
    "builtins", "ctypes", "gc", "importlib", "inspect", "atexit", "signal", "threading", "socket",
    "multiprocessing", "subprocess", "sys", "os", "shutil", "runpy", "code", "pickle", "marshal",
    "IPython", "ipykernel", "unittest", "pytest", "nbval", "_thread", "mmap", "faulthandler",
}  # fmt: skip

NAMES = {
    "__import__", "eval", "exec", "compile", "globals", "vars", "setattr", "delattr", "get_ipython",
    "__builtins__", "breakpoint",
}  # fmt: skip

ATTRIBUTES = {
    "__code__", "__globals__", "__closure__", "__builtins__", "__subclasses__", "__dict__",
    "f_back", "f_globals", "f_locals", "tb_frame", "tb_next", "_getframe", "ast_transformers",
    "input_transformers_cleanup", "input_transformers_post", "set_custom_exc", "user_ns",
    "showtraceback", "modules", "_passed", "exercises",
}  # fmt: skip

MAGIC = "magics, which no answer needs"


def source_flags(
    answers: Mapping[str, str],
    solutions: Mapping[str, str],
    stubs: Mapping[str, str],
    *,
    fixed: Sequence[str] = (),
) -> list[str]:
    """Return what is worth a look in a learner's answers, a line each.

    Parameters
    ----------
    answers, solutions, stubs
        By grade id: the learner's source, the master's, and what the learner was given.
    fixed
        Names that only the master's set-up defines.
    """
    flags: list[str] = []
    for name, source in answers.items():
        if source == stubs.get(name):
            continue
        tree, allowed = _tree(source), _allowed(solutions.get(name, ""))
        if tree is None:
            continue
        found = dict.fromkeys(what for what in _suspicious(tree) if what not in allowed.suspicious)
        flags += [f"{name} uses {what}" for what in found]
        flags += [f"{name} {what}" for what in _borrowed(tree, allowed, fixed)]
        if any(line.lstrip().startswith(("%", "!")) for line in source.splitlines()):
            flags.append(f"{name} uses {MAGIC}")
    return flags


def alike(submissions: Mapping[str, Mapping[str, str]], masters: Mapping[str, str]) -> list[Any]:
    """Return groups of learners whose answers are the same but for names and layout.

    Parameters
    ----------
    submissions
        Answers by learner and grade id; untouched ones left out.
    masters
        The master's own answers; what equals them is reported as such.

    Returns
    -------
    list of dict
        ``answer``, ``learners`` and ``solution`` (whether it is the master's), largest first.
    """
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for learner, answers in submissions.items():
        for name, source in answers.items():
            if shape := normalised(source):
                groups[name, shape].append(learner)
    own = {(name, normalised(source)) for name, source in masters.items()}
    found = [
        {"answer": name, "learners": sorted(learners), "solution": (name, shape) in own}
        for (name, shape), learners in groups.items()
        if len(learners) > 1 or (name, shape) in own
    ]
    return sorted(found, key=lambda group: (-len(group["learners"]), group["answer"]))


@lru_cache(maxsize=10_000)
def normalised(source: str) -> str:
    """Return a hash that is the same for sources that differ in names, comments and layout only.

    Short sources, which are alike by chance, have none.
    """
    tree = _tree(source)
    if tree is None:
        return ""
    names: dict[str, str] = {}

    def renamed(name: str) -> str:
        return names.setdefault(name, f"n{len(names)}")

    count = 0
    for node in ast.walk(tree):
        count += 1
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            if node.body and _is_text(node.body[0]):
                node.body = node.body[1:] or [ast.Pass()]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        for field in ("id", "arg"):
            if isinstance(value := getattr(node, field, None), str):
                setattr(node, field, renamed(value))
        if isinstance(node, ast.arg):
            node.annotation = None
    if count < SMALLEST:
        return ""
    return hashlib.sha256(ast.dump(tree).encode("utf-8")).hexdigest()[:16]


def _tree(source: str) -> ast.Module | None:
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


@lru_cache(maxsize=500)
def _allowed(solution: str) -> _Allowed:
    tree = _tree(solution)
    if tree is None:
        return _Allowed()
    found = frozenset(_suspicious(tree))
    return _Allowed(found, frozenset(_course_imports(tree)), frozenset(_definitions(tree)))


def _suspicious(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in MODULES:
            yield node.module or ""
        elif isinstance(node, ast.Name) and node.id in NAMES:
            yield node.id
        elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES:
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


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
