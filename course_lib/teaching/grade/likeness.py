"""Answers of several learners that are the same: a hint for a person, which costs no points."""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from course_lib.teaching.grade.honesty import tree_of

SMALLEST = 40
"""Nodes of an answer's syntax tree below which likeness means nothing."""


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
    tree = tree_of(source)
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


def _is_text(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
