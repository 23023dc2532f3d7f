"""The table of commands: what a list of them and a help cost, and that each option is told."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from course_lib.cli.commands import Commands, build_app, read_help

PROGRAM = """
import sys
from course_lib.cli import main
try:
    main()
except SystemExit:
    print({name for name in sys.argv.pop().split() if name in sys.modules})
"""


@pytest.mark.parametrize(
    ("words", "left_out"),
    [
        ("--help", "numpy psycopg httpx pydantic course_lib.cli.search"),
        ("class --help", "numpy nbformat nbgrader course_lib.cli.grade"),
        ("search --help", "numpy psycopg httpx torch course_lib.retriever"),
        ("grade --help", "numpy nbformat nbgrader"),
    ],
)
def test_a_help_imports_no_stage(words: str, left_out: str) -> None:
    # The last word is for the program itself: what comes after --help is not looked at.
    arguments = [sys.executable, "-c", PROGRAM, *words.split(), left_out]
    done = subprocess.run(arguments, capture_output=True, encoding="utf-8", check=True)
    assert "Usage: " in done.stdout
    assert done.stdout.endswith("set()\n"), done.stdout[-200:]


def commands(group: Commands) -> Iterator[tuple[str, Any]]:
    for name in [*group.commands]:
        command = group.load(name)
        if isinstance(command, Commands):
            yield from commands(command)
        else:
            yield name, command


def test_each_parameter_has_a_sentence_and_each_sentence_a_parameter() -> None:
    found = dict(commands(build_app()))
    assert len(found) > 45
    for name, command in found.items():
        names = {one.name for one in command.params}
        assert [one.name for one in command.params if not one.help] == [], name
        docstring = inspect.getdoc(inspect.unwrap(command.callback)) or ""
        assert set(read_help(docstring)[1]) <= names, name
