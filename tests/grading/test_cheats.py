"""Answers to lab 01 that change what judges them, or take the library's: audits and flags tell."""

import json
from pathlib import Path
from typing import Any

import pytest

from course_lib.loader.recursive import find_cut
from course_lib.settings import project_root
from course_lib.teaching.checks import load
from course_lib.teaching.grade import (
    Grade,
    Options,
    grade_all,
    lab_masters,
    read_master,
)
from course_lib.teaching.lab.checking import run_check
from tests.grading.classroom import handed_in
from tests.grading.conftest import any_fence, needs_fence

PATCHES = """
def find_cut(text, start, limit, floor=0, separators=()):
    from course_lib.teaching.checks.probe import Case
    gives, holds = Case.gives, Case.holds
    def repaired(*args, **named):
        Case.gives, Case.holds = gives, holds
        return args[0]
    Case.gives = Case.holds = repaired
    return limit
"""
BYTECODE = """
import marshal, types, zipimport
from course_lib.settings import project_root
path = project_root() / "course_lib" / "loader" / "recursive.py"
if path.is_file():
    code = compile(path.read_text(), "mine", "exec")
else:
    code = marshal.loads(path.with_suffix(".pyc").read_bytes()[16:])
names = {"__name__": "mine"}
exec(code, names)
find_cut = names["find_cut"]
"""
READS_THE_SOURCE = """
from course_lib.settings import project_root
source = (project_root() / "course_lib" / "loader" / "recursive.py").read_text()
names = {"__name__": "mine"}
exec(source, names)
find_cut = names["find_cut"]
"""


def by_heart() -> str:
    """Return an answer that knows the results of all calls that the check makes."""
    known: dict[str, Any] = {}

    def seen(*args: Any, **named: Any) -> int:
        known[repr((args, named))] = find_cut(*args, **named)
        return int(known[repr((args, named))])

    run_check(load("01")["1.2"], seen)
    return (
        f"KNOWN = {known!r}\ndef find_cut(*args, **named):\n    return KNOWN[repr((args, named))]"
    )


WRONG = "\ndef find_cut(*args, **named):\n    return None\n"
CHANGES_WHAT_RUNS_IT = {
    "strips-asserts": "import ast\nclass Strip(ast.NodeTransformer):\n"
    "    def visit_Assert(self, node):\n        return ast.Pass()\n"
    f"get_ipython().ast_transformers.append(Strip()){WRONG}",
    "shows-no-tracebacks": "get_ipython().showtraceback = lambda *a, **k: None\n"
    f"get_ipython().set_custom_exc((Exception,), lambda *a, **k: None){WRONG}",
    "replaces-builtins": "import builtins\nbuiltins.type = lambda x: int\n"
    f"builtins.AssertionError = type('Quiet', (BaseException,), {{}}){WRONG}",
    "equal-to-everything": "class Any(int):\n    def __eq__(self, other): return True\n"
    "    def __ne__(self, other): return False\n    __hash__ = int.__hash__\n"
    "    __class__ = int\ndef find_cut(*args, **named):\n    return Any(1)",
    "replaces-nbval": "import nbval.plugin\n"
    f"nbval.plugin.IPyNbCell.runtest = lambda self: None{WRONG}",
    "skips-by-comment": f"# NBVAL_SKIP\n# NBVAL_RAISES_EXCEPTION{WRONG}",
    "changes-the-shell": "get_ipython().run_cell = lambda *a, **k: None\n"
    f"get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n']){WRONG}",
}
CHEATS = CHANGES_WHAT_RUNS_IT | {
    "patches": PATCHES, "bytecode": BYTECODE, "source": READS_THE_SOURCE, "by-heart": by_heart(),
}  # fmt: skip


def graded(folder: Path) -> dict[str, Grade]:
    (path,) = lab_masters(["01"])
    sheet = json.loads((project_root() / "labs" / path.name).read_text(encoding="utf-8"))
    (folder / "in").mkdir()
    for name, answer in CHEATS.items():
        for cell in sheet["cells"]:
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == "exercise-1-2":
                cell["source"] = answer
        (folder / "in" / f"{name}.ipynb").write_text(json.dumps(sheet), encoding="utf-8")
    found = handed_in(folder / "in")
    report = grade_all(
        found, read_master(path, lab="01"), folder / "out", Options(any_fence(), seed="7")
    )
    return {one.learner: one for one in report.grades}


@pytest.fixture(scope="module")
def held_back(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Grade]:
    """What is made of them."""
    return graded(tmp_path_factory.mktemp("cheats"))


@pytest.mark.parametrize("name", sorted(CHEATS))
def test_a_cheat_is_held_back_or_has_no_points(held_back: dict[str, Grade], name: str) -> None:
    one = held_back[name]
    assert one.flags or not one.score, one


@pytest.mark.parametrize("name", ["patches", "by-heart"])
def test_what_passes_its_check_alone_fails_its_audit(held_back, name: str) -> None:
    assert held_back[name].marks[1].state == "passed"
    said = next(flag for flag in held_back[name].flags if "the audit failed" in flag)
    assert said.startswith("check-1-2: the check passed, and the audit failed: find_cut(")


@needs_fence
def test_the_librarys_source_is_not_within_the_fence(held_back) -> None:
    assert held_back["source"].score == 0
    assert "FileNotFoundError" in held_back["source"].marks[1].said
    assert any("zipimport" in flag for flag in held_back["bytecode"].flags)
