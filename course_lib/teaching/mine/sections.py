"""What is kept in `my/system/`: each of its modules is a row of sections, one for each answer.

The overlay of `course mine` holds a copy of this module, in which its functions look the learner's
up. So this module imports only Python's standard library.
"""

from __future__ import annotations

import hashlib
import re
import sys
import types
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HEADER = re.compile(
    r"^# %% (?P<exercise>\d+\.\d+) (?P<name>\w+) · .*\n"
    r"# in the place of (?P<module>[\w.]+)\.(?P=name)\n",
    re.MULTILINE,
)


class KeptAnswer(NamedTuple):
    """A kept answer, with all that it needs: a cell of a module in `my/system/`.

    Attributes
    ----------
    exercise, name
        What its heading says.
    module
        The module of the library in which it takes a place.
    file, line
        Where it begins.
    text
        All of it, heading included.
    """

    exercise: str
    name: str
    module: str
    file: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """Whose place it takes, as `Exercise.library` says it."""
        return f"{self.module}:{self.name}"

    def load(self) -> Any:
        """Run the section in a module of its own, and return what it defines."""
        module = types.ModuleType(f"my_system_{self.exercise.replace('.', '_')}")
        module.__file__ = self.file
        sys.modules[module.__name__] = module  # where pydantic and dataclasses look for names
        code = compile("\n" * (self.line - 1) + self.text, self.file, "exec", dont_inherit=True)
        exec(code, vars(module))
        return vars(module)[self.name]


def read_sections(folder: Path) -> list[KeptAnswer]:
    """Return what is kept in a folder, in the order of its files and their sections."""
    return [one for path in sorted(folder.glob("*.py")) for one in sections_of(path)]


def sections_of(path: Path) -> list[KeptAnswer]:
    """Return the sections of a module; none where it is not there."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    marks = list(HEADER.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [
        KeptAnswer(
            **mark.groupdict(),
            file=str(path),
            line=text.count("\n", 0, mark.start()) + 1,
            text=text[mark.start() : end],
        )
        for mark, end in zip(marks, ends, strict=False)  # without marks there is one end
    ]


def fingerprint(sections: Iterable[KeptAnswer], rooms: Sequence[str]) -> str:
    """Return a hash of the answers of these rooms; empty where none is the learner's."""
    texts = [HEADER.sub("", one.text).strip() for one in sections if Path(one.file).stem in rooms]
    return hashlib.sha256("\0".join(texts).encode("utf-8")).hexdigest()[:12] if texts else ""


@cache
def own(file: str, name: str) -> Any:
    """Return what the learner wrote; it is read when it is first asked for.

    Parameters
    ----------
    file
        The module of `my/system/` that keeps it.
    name
        What it is called there.
    """
    return {one.name: one for one in sections_of(Path(file))}[name].load()
