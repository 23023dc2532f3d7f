"""The examples in the docstrings of the grader and of the class's folder."""

import doctest
import importlib
import pkgutil

import pytest

from course_lib.teaching import classroom, grade

MODULES = [
    f"{package.__name__}.{one.name}"
    for package in (grade, classroom)
    for one in pkgutil.iter_modules(package.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_right(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
