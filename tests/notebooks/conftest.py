"""A small course in a temporary folder: one library, one classroom, labs that a test can change."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from course_lib.teaching.notebooks.project import Project
from infra.course.build import build_labs

MATHS = '''
"""A library."""

from __future__ import annotations

import math as m
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mini.records import Pair

if TYPE_CHECKING:
    from fractions import Fraction

FACTOR = 2


def helper(value: float) -> float:
    """Return it."""
    return value


# The answer is to multiply.
def double(value: float, factor: float = FACTOR) -> float:
    """Return the double.

    Examples
    --------
    >>> double(2)
    4.0
    """
    # the answer is in this comment too
    return m.fsum([helper(value)] * int(factor))


def pairs(values: Sequence[float], exact: Fraction | None = None) -> "list[Pair]":
    """Return each value with its double."""
    return [Pair(value, double(value)) for value in values]


def count(value: int, step: int = FACTOR) -> int:
    """Count one step on."""
    return value + step
'''

RECORDS = '''
"""Records."""

from typing import NamedTuple


class Pair(NamedTuple):
    """Two numbers."""

    left: float
    right: float
'''

CLASSROOM = '''
"""What a lab works with."""


class NotAttempted(AssertionError):
    """Nothing was written yet."""


class Lab:
    """A lab."""

    def check(self, exercise, thing, *arguments):
        """Raise where nothing was written."""
        try:
            thing(*arguments)
        except NotImplementedError:
            raise NotAttempted(f"{exercise}: not attempted yet") from None

    def use(self, name):
        """Return the library's."""
        from mini import maths

        return getattr(maths, name)


def start(number, data_dir=None):
    """Start."""
    print("lab", number)
    return Lab()
'''

LAB_01 = """
# %% [markdown]
# # 01 · Doubling
#
# You will double numbers, and they stay doubled.
#
# | You will be able to | Time | Needs |
# |---|---|---|
# | double a number · say why | about {minutes} min | nothing |

# %% tags=["parameters"]
data_dir = "data"

# %%
from mini.classroom import start

lab = start("01", data_dir=data_dir)

# %% exercise="1.1"
from mini.maths import double

# %%
lab.check("1.1", double, 1)

# %%
double = lab.use("double")

# %% tags=["nbval-check-output"]
double(21)

# %% tags=["claim"]
assert double(20) == 40, "they stay doubled"

# %% exercise="1.2"
from mini.maths import pairs

# %%
lab.check("1.2", pairs, [1])

# %% exercise="1.3"
def triple(value):
    '''Return three times the value.'''
    ### BEGIN SOLUTION
    return 3 * value
    ### END SOLUTION

# %%
lab.check("1.3", triple, 1)

# %% [markdown] tags=["solution"]
# The answer was in the question.
"""

LAB_02 = """
# %% [markdown]
# # 02 · Counting
#
# You will count.
#
# | You will be able to | Builds | Time | Needs |
# |---|---|---|---|
# | count | a counter | about {minutes} min | lab 01 |

# %% tags=["parameters"]
data_dir = "data"

# %%
from mini.classroom import start

lab = start("02", data_dir=data_dir)

# %% exercise="2.1"
from mini.maths import count

# %%
lab.check("2.1", count, 1)
"""


@dataclass(frozen=True)
class Exercise:
    points: float = 2
    hints: tuple[str, ...] = ("Look.", "Look again.")
    name: str = ""
    room: str = ""


class Course:
    """The temporary course, and what tests do to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.exercises = {
            "01": {name: Exercise() for name in ("1.1", "1.2", "1.3")},
            "02": {"2.1": Exercise()},
        }
        self.project = Project(
            root=root,
            checks=self._checks,
            checks_file="checks{lab}.py",
        )

    def write_sources(self) -> None:
        for name, text in {"maths": MATHS, "records": RECORDS, "classroom": CLASSROOM}.items():
            self.write(f"mini/{name}.py", text)
        self.write(
            "mini/__init__.py", '"""Re-exports."""\nfrom mini.maths import double as double\n'
        )
        (self.root / "labs").mkdir()
        self.lab("01_doubling", LAB_01)
        self.lab("02_counting", LAB_02)

    def _checks(self, lab: str) -> Mapping[str, Exercise]:
        return self.exercises.get(lab, {})

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"), encoding="utf-8")
        return file

    def lab(self, stem: str, text: str) -> Path:
        return self.write(f"solutions/{stem}.py", text)

    def notebook(self, folder: str, number: str = "01") -> dict[str, Any]:
        (path,) = (self.root / folder).glob(f"{number}_*.ipynb")
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def cell(self, folder: str, cell_id: str, number: str = "01") -> dict[str, Any]:
        (found,) = (c for c in self.notebook(folder, number)["cells"] if c["id"] == cell_id)
        return {**found, "source": "".join(found["source"])}

    def notebooks(self) -> dict[str, bytes]:
        found = sorted(self.root.glob("*/*.ipynb"))
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in found}

    def change(self, path: str, old: str, new: str) -> None:
        file = self.root / path
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """A course whose notebooks are still to be built."""
    made = Course(tmp_path / "course")
    made.write_sources()
    return made


@pytest.fixture(scope="session")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Course(tmp_path_factory.mktemp("built") / "course")
    made.write_sources()
    build_labs(project=made.project)
    return made.root


@pytest.fixture
def built(_built: Path, tmp_path: Path) -> Course:
    """A course that was built and executed; each test has a copy of its own."""
    shutil.copytree(_built, tmp_path / "course")
    return Course(tmp_path / "course")
