"""Twelve edits of the course's own code: a model is asked for each, and a test says how it went.

Renamings, parameters, docstrings and bugs, three of each, in short files of `data/code`. The tests
were written before any model was asked, and an edit by hand passes each of them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from course_lib.answers.edit import propose
from course_lib.answers.edit_files import EditError, Original
from course_lib.answers.generators import Generator
from course_lib.settings import project_root

FOLDER = project_root() / "data/code/heron"
TIMEOUT_SECONDS = 30


class Edit(NamedTuple):
    """What is asked for, and how to see whether it was done.

    Attributes
    ----------
    kind, file, wish
        The sort, a file of `data/code/heron`, and what a model is told.
    test
        Python: imports the edited file by its name, and fails if the wish is not fulfilled. `same`
        tells whether the file is as it was but for its docstrings.
    by_hand
        Pairs of texts: what an edit by hand replaces, and by what.
    planted
        For a bug, the pair of texts that makes it.
    """

    kind: Literal["rename", "parameter", "docstring", "bug"]
    file: str
    wish: str
    test: str
    by_hand: tuple[tuple[str, str], ...]
    planted: tuple[str, str] = ("", "")

    @property
    def text(self) -> str:
        """The file as a model is given it."""
        return (FOLDER / self.file).read_text(encoding="utf-8").replace(*self.planted)


class Outcome(NamedTuple):
    """What came of an edit: whether the answer was taken as a file, and passed; why not."""

    edit: Edit
    taken: bool
    passed: bool
    why: str = ""


SAME = """
import ast
def same():
    trees = [ast.parse(open(name, encoding="utf-8").read()) for name in ("before.py", FILE)]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, documented) and ast.get_docstring(node):
                del node.body[0]
    return ast.dump(trees[0]) == ast.dump(trees[1])
"""
_TIMED = """
import time, timing
clock = [0.0]
time.perf_counter = lambda: clock[0]
for name, seconds in (("a", 1), ("b", 3), ("c", 2)):
    timing.timed(name)(lambda: clock.__setitem__(0, clock[0] + seconds))()
"""
_SCORED = """
import asyncio, scoring
async def ask(batch): return [float(one) for one in batch]
"""

EDITS = (
    Edit(
        "rename", "drift.py", "Rename the function quantile_edges to inner_edges everywhere.",
        "import drift\nassert not hasattr(drift, 'quantile_edges')\n"
        "assert drift.inner_edges([1, 2, 3, 4], 2) == [3]\n"
        "assert drift.stability_index([1, 2, 3, 4], [1, 2, 3, 4]) == 0\n",
        (("quantile_edges", "inner_edges"),),
    ),
    Edit(
        "rename", "timing.py", "Rename the function slowest to slowest_names.",
        f"{_TIMED}assert not hasattr(timing, 'slowest')\n"
        "assert timing.slowest_names(2) == [('b', 3), ('c', 2)]\n",
        (("def slowest(", "def slowest_names("),),
    ),
    Edit(
        "rename", "scoring.py", "Rename the class Forecast to BikeForecast everywhere.",
        f"{_SCORED}assert not hasattr(scoring, 'Forecast')\n"
        "found = asyncio.run(scoring.score_city(ask, [2, 1]))\n"
        "assert found == [scoring.BikeForecast(1, 1, 1.0), scoring.BikeForecast(2, 1, 2.0)]\n",
        (("Forecast:", "BikeForecast:"), ("Forecast]", "BikeForecast]"),
         ("Forecast(", "BikeForecast(")),
    ),
    Edit(
        "parameter", "drift.py",
        "Give the function shares a third parameter smallest, with the default SMALLEST_SHARE, "
        "and use it in the place of that constant.",
        "import drift\nassert drift.shares([1.0], [0.5]) == [drift.SMALLEST_SHARE, 1.0]\n"
        "assert drift.shares([1.0], [0.5], 0.1) == drift.shares([1.0], [0.5], smallest=0.1)\n"
        "assert drift.shares([1.0], [0.5], 0.1) == [0.1, 1.0]\n",
        (("edges: Sequence[float]) ->", "edges: Sequence[float], smallest=SMALLEST_SHARE) ->"),
         ("max(SMALLEST_SHARE,", "max(smallest,")),
    ),
    Edit(
        "parameter", "timing.py",
        "Give the function slowest a second parameter least, with the default 0.0. It leaves out "
        "names with a total time below least.",
        f"{_TIMED}assert timing.slowest() == [('b', 3), ('c', 2), ('a', 1)]\n"
        "assert timing.slowest(5, 2) == timing.slowest(least=2.0) == [('b', 3), ('c', 2)]\n",
        (("count: int = 5)", "count: int = 5, least: float = 0.0)"),
         ("in _seconds.items())", "in _seconds.items() if sum(values) >= least)")),
    ),
    Edit(
        "parameter", "scoring.py",
        "Give the method to_json a parameter indent, with the default None, and hand it on to "
        "json.dumps.",
        f"{_SCORED}one = scoring.Forecast(7, 1, 2.5)\n"
        "assert one.to_json() == '{\"station_id\":7,\"hours_ahead\":1,\"bikes\":2.5}'\n"
        "assert one.to_json(indent=2).splitlines()[1].startswith('  \"station_id\"')\n",
        (("def to_json(self)", "def to_json(self, indent=None)"),
         ('separators=(",", ":"))', 'separators=(",", ":"), indent=indent)')),
    ),
    Edit(
        "docstring", "drift.py",
        'Add this sentence to the end of the docstring of stability_index: "It is 0 if nothing '
        'has drifted."',
        "import drift\nassert same()\ntext = drift.stability_index.__doc__\n"
        "assert text.startswith('Return the population stability index')\n"
        "assert text.strip().endswith('It is 0 if nothing has drifted.')\n",
        (("are those of the reference.", "are those of the reference. It is 0 if nothing has "
          "drifted."),),
    ),
    Edit(
        "docstring", "timing.py", 'Change the docstring of slowest to "Return what took longest."',
        "import timing\nassert same()\n"
        "assert timing.slowest.__doc__ == 'Return what took longest.'\n"
        "assert timing.timed.__doc__.startswith('Record how long each call takes')\n",
        (("Return the names with the largest total time, largest first.",
          "Return what took longest."),),
    ),
    Edit(
        "docstring", "client.py",
        'The method _request has no docstring. Give it this one: "Send a request, more than once '
        'if it may be repeated."',
        "import client\nassert same()\ntext = client.RegistryClient._request.__doc__\n"
        "assert text.strip() == 'Send a request, more than once if it may be repeated.'\n",
        (("        repeatable = method",
          '        """Send a request, more than once if it may be repeated."""\n'
          "        repeatable = method"),),
    ),
    Edit(
        "bug", "drift.py",
        "The method level has a bug: an index that is equal to page is only a warning, and one "
        "that is equal to warn is quiet. Both should have the higher level. Correct it.",
        "import drift\nlevel = drift.Threshold(0.1, 0.3).level\n"
        "found = [level(one).value for one in (0.09, 0.1, 0.29, 0.3, 0.4)]\n"
        "assert found == ['quiet', 'warn', 'warn', 'page', 'page']\n",
        (("index > self.page", "index >= self.page"), ("index > self.warn", "index >= self.warn")),
        ("index >= self.", "index > self."),
    ),
    Edit(
        "bug", "timing.py",
        "The function slowest has a bug: it returns the names with the smallest total time. "
        "Correct it.",
        f"{_TIMED}assert timing.slowest(2) == [('b', 3), ('c', 2)]\n",
        (("key=lambda item: item[1])", "key=lambda item: item[1], reverse=True)"),),
        (", reverse=True", ""),
    ),
    Edit(
        "bug", "scoring.py",
        "The function batches has a bug: it loses the last stations if they do not fill a whole "
        "batch. Correct it.",
        f"{_SCORED}assert list(scoring.batches(range(5), 2)) == [[0, 1], [2, 3], [4]]\n"
        "assert list(scoring.batches(range(4), 2)) == [[0, 1], [2, 3]]\n"
        "assert list(scoring.batches([], 2)) == []\n",
        ((" " * 12 + "batch = []\n",
          " " * 12 + "batch = []\n    if batch:\n        yield batch\n"),),
        ("    if batch:\n        yield batch\n", ""),
    ),
)  # fmt: skip


def passes(edit: Edit, text: str) -> str:
    """Return why an edited text does not pass the edit's test; nothing if it passes."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("before.py", edit.text), (edit.file, text)):
            (Path(folder) / name).write_text(content, encoding="utf-8")
        program = f"FILE = {edit.file!r}\n{SAME}{edit.test}"
        command = [sys.executable, "-c", program]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                encoding="utf-8",
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"does not end within {TIMEOUT_SECONDS} s"
    return done.stderr.strip().rpartition("\n")[2] or "failed" if done.returncode else ""


def ask_all(generator: Generator) -> Iterator[Outcome]:
    """Ask a model for each edit, without an index; give each outcome as it comes."""
    for edit in EDITS:
        original = Original(FOLDER, edit.file, edit.text.encode(), edit.text, "\n")
        try:
            text = propose(original, edit.wish, generator)
        except EditError as error:
            yield Outcome(edit, False, False, str(error.args[0]))
        else:
            why = passes(edit, text)
            yield Outcome(edit, True, not why, why)
