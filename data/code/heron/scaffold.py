'''Writes the skeleton of a new feature step, so that nobody begins with an empty file.

The templates below are text. Whoever looks for definitions in this file must not find these:

def fake():
    """A function in a docstring is no function."""
'''

from __future__ import annotations

import keyword
from pathlib import Path
from string import Template

STEP = Template(
    '''"""$summary"""

from collections.abc import Iterable, Iterator

from heron.pipeline import Reading


def $name(readings: Iterable[Reading]) -> Iterator[Reading]:
    """$summary"""
    for reading in readings:
        yield reading


class ${title}Error(ValueError):
    """The step $name cannot go on."""
'''
)

TEST = """
from heron.steps.{name} import {name}


def test_{name}_keeps_an_empty_stream_empty():
    assert list({name}([])) == []


async def not_a_definition_either():
    pass
"""


def check_name(name: str) -> str:
    """Return the name, or say why it cannot be that of a function."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(f"{name!r} is no name of a Python function")
    if name != name.lower():
        raise ValueError(f"write {name.lower()!r}: steps are named in lower case")
    return name


def write_step(name: str, summary: str, folder: Path) -> list[Path]:
    """Write a step and its test; files that exist are left alone.

    Returns
    -------
    list of Path
        The files that were written.
    """
    check_name(name)
    title = "".join(part.capitalize() for part in name.split("_"))
    texts = {
        folder / "steps" / f"{name}.py": STEP.substitute(name=name, summary=summary, title=title),
        folder / "tests" / f"test_{name}.py": TEST.format(name=name).lstrip(),
    }
    written = []
    for path, text in texts.items():
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written
