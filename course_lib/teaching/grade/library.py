"""The course's library as submissions see it: without the grader, and without the lab's answers.

An answer that is left out says so when it is called. The grader judges outside of the fence, with
the whole library; what an exercise builds on comes once all earlier exercises have been asked.
"""

from __future__ import annotations

import ast
import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

from course_lib.settings import project_root
from course_lib.teaching.checks import Exercise
from course_lib.teaching.grade.inside.answers import LEFT_OUT
from course_lib.teaching.taught import (
    by_module,
    find_answer,
    kfp_decorators,
    sql_literal,
    sql_of,
)

ROOMS = ("classroom", "grade")
"""Rooms of `teaching` that no notebook needs."""


def library_for(exercises: Collection[Exercise], folder: Path) -> Path:
    """Make the library in a folder and return its path, the package's own.

    Parameters
    ----------
    exercises
        Those that are graded: their answers are left out.
    folder
        Where `course_lib` is put.
    """
    source, target = project_root() / "course_lib", folder / "course_lib"
    without = {source / "teaching" / name for name in ROOMS}

    def is_left(at: str, names: list[str]) -> list[str]:
        return [name for name in names if name == "__pycache__" or Path(at, name) in without]

    shutil.copytree(source, target, ignore=is_left)
    inside = target / "teaching" / "grade" / "inside"
    shutil.copytree(source / "teaching" / "grade" / "inside", inside)
    (inside.parent / "__init__.py").touch()
    for module, names in by_module(one.library for one in exercises).items():
        leave_out(folder / f"{module.replace('.', '/')}.py", names)
    return target


def leave_out(path: Path, names: Iterable[str]) -> None:
    """Leave answers out of a module, and out of the files of SQL that they are read from.

    A function keeps its signature and its docstring. What is run as soon as the module is imported
    does not use one: pipelines stay plain functions, and a class that is derived from what an
    answer returns keeps its docstring alone.
    """
    source = path.read_text(encoding="utf-8")
    tree, nodes = ast.parse(source), {name: find_answer(source, name) for name in names}
    lines = {node.lineno: name for name, node in nodes.items() if node}
    for node in tree.body:
        name = lines.get(node.lineno, "")
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if any(".pipeline" in ast.unparse(one) for one in kfp_decorators(node)):
                    node.decorator_list = []
                if name:
                    says = ast.get_docstring(node, clean=False) is not None
                    node.body = [*node.body[:says], *ast.parse(_end_of(node)).body]
            case ast.ClassDef(bases=bases) if any(_is_call_of(one, nodes) for one in bases):
                node.body = node.body[:1]
            case ast.Assign() | ast.AnnAssign() if name:
                _, file = sql_of(node, path.parent)
                node.value = ast.Constant(LEFT_OUT.format(name))
                if file:
                    file.write_text(f"-- {LEFT_OUT.format(name)}\n", encoding="utf-8")
    path.write_text(ast.unparse(tree), encoding="utf-8")


def answers_of(exercises: Iterable[Exercise]) -> dict[str, str]:
    """Return the sources of the library's answers, by where they are: `Exercise.library`."""
    texts = {}
    for module, names in by_module(one.library for one in exercises).items():
        path = project_root() / f"{module.replace('.', '/')}.py"
        source = path.read_text(encoding="utf-8")
        for name in names:
            node = find_answer(source, name)
            assert node is not None, f"{module} has no {name}"
            text, _ = sql_of(node, path.parent)
            for one in kfp_decorators(node):  # an exercise is about the function in it
                node.decorator_list.remove(one)  # type: ignore[attr-defined]
            text = f"{name} = {sql_literal(text)}" if text else ast.unparse(node)
            texts[f"{module}:{name}"] = text
    return texts


def _is_call_of(node: ast.expr, names: Collection[str]) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in names
    return False


def _end_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return what an answer does where it is left out: it fails.

    One that returns a class returns that of its annotation: the module may derive one from it.
    """
    match node.returns:
        case ast.Subscript(value=ast.Name(id="type"), slice=base):
            return f"return {ast.unparse(base)}"
    return f"raise RuntimeError({LEFT_OUT.format(node.name)!r})"
