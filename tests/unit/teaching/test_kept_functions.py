"""A learner's own system: what is kept of a notebook, and what runs in the library's places."""

import json
import linecache
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from course_lib.teaching import CheckFailed, Lab
from course_lib.teaching.checks import load
from course_lib.teaching.mine import system
from course_lib.teaching.mine.takeover import fingerprint, read_sections

ROOT = Path(__file__).resolve().parents[3]
BODY = """
    for separator in separators:
        at = text.rfind(separator, max(start, floor + 1 - width(separator)), limit)
        if at >= 0:
            return at + Widths().of(separator)
    return limit
"""
NOTEBOOK = f'''
import re
from functools import lru_cache as remember

from course_lib.loader.recursive import SEPARATORS

ONE = 2 - 1
EMPTY = re.compile("")
LONG = "x" * 10_000
for OPEN in [open(__file__)]:
    pass


@remember
def width(separator):
    """A helper of the learner's own."""
    return len(separator) * ONE + len(LONG[:0])


class Widths:
    def of(self, separator):
        return width(EMPTY.sub("", separator))


def find_cut(text, start, limit, floor=0, separators=SEPARATORS):
    {BODY}

def with_open_file(text, start, limit, floor=0, separators=SEPARATORS):
    OPEN.name
    {BODY}

def with_lab(text, start, limit, floor=0, separators=SEPARATORS):
    lab.id
    {BODY}

def wrong(text, start, limit, floor=0, separators=SEPARATORS):
    return limit


def next_start(text, end, chunk_overlap, *, snap_to_words=False):
    find_cut("", 0, 0)
    from course_lib.loader.recursive import next_start
    return next_start(text, end, chunk_overlap, snap_to_words=snap_to_words)
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a learner's notebooks, in which the test runs."""
    for name in ("data", "solutions"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "my").mkdir()
    monkeypatch.setenv("COURSE_ROOT", str(tmp_path))
    monkeypatch.chdir(tmp_path / "my")
    return tmp_path / "my"


@pytest.fixture
def notebook(mine: Path) -> dict[str, Any]:
    """What the cells of a notebook have defined."""
    file = mine / "notebook.py"
    file.write_text(NOTEBOOK, encoding="utf-8")
    linecache.checkcache()
    namespace: dict[str, Any] = {"__name__": "__main__", "__file__": str(file), "lab": Lab("01")}
    exec(compile(NOTEBOOK, str(file), "exec"), namespace)
    return namespace


def test_a_passed_function_is_kept_with_all_that_it_needs_and_runs_by_itself(
    mine: Path, notebook: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    lab = notebook["lab"]
    lab.check("1.1", notebook["find_cut"])
    assert "kept in my/system/loader.py: 1 of 47 functions are yours" in capsys.readouterr().out
    lab.check("1.2", notebook["next_start"])
    assert "kept in my/system/loader.py: 2 of 47" in capsys.readouterr().out
    first, second = read_sections(mine / "system")
    assert (first.name, first.lab, second.name) == ("find_cut", "01", "next_start")
    assert first.load()("ab cd. ef gh", 0, 8) == 7
    assert "with_open_file" not in first.text and "ONE = 1\n" in first.text
    # A name that another exercise defines is the library's, which `course mine` replaces.
    assert "from course_lib.loader.recursive import find_cut\n" in second.text
    assert (mine / "system" / "loader.py").read_text(encoding="utf-8").count("def find_cut") == 1
    assert system.rooms(mine / "system")["loader"][0] == ["find_cut", "next_start"]


def test_what_fails_or_cannot_be_written_down_leaves_what_is_kept(
    mine: Path, notebook: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    lab = notebook["lab"]
    lab.check("1.1", notebook["find_cut"])
    kept = (mine / "system" / "loader.py").read_bytes()
    with pytest.raises(CheckFailed):
        lab.check("1.1", notebook["wrong"])
    capsys.readouterr()
    for name, reason in {
        "with_open_file": "it uses OPEN",
        "with_lab": "it uses lab, which is there in a notebook only",
    }.items():
        lab.check("1.1", notebook[name])
        assert f"not kept in my/system: {reason}" in capsys.readouterr().out
    assert (mine / "system" / "loader.py").read_bytes() == kept


def test_nothing_is_kept_outside_of_the_learners_folder(
    mine: Path, notebook: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine.parent)
    notebook["lab"].check("1.1", notebook["find_cut"])
    assert not (mine / "system").exists()


FAULTY = """
# %% 1.1 find_cut · lab 01 · 2026-11-25
# in the place of course_lib.loader.recursive.find_cut

def find_cut(text, start, limit, floor=0, separators=()):
    if text == "divides":
        return 1 / 0
    while text == "hangs":
        pass
    return -1
"""
CALLS = """
from course_lib.loader import find_cut, split_text
from course_lib.loader.recursive import find_cut as copy

assert copy is find_cut
for text, floor in (("fine", 0), ("divides", 0), ("hangs", 0), ("divides", 0)):
    try:
        print(find_cut(text, 0, 3, floor))
    except Exception as error:
        print(type(error).__name__, error.args[0])
"""


HOLDING = """
import threading, time
from course_lib.loader import find_cut

class Held:
    def __del__(self):
        print("destroyed by", threading.current_thread().name, flush=True)

def hold():
    held = Held()
    find_cut("slow", 0, 3)

hold()
time.sleep(0.1)
print("end")
"""


def run(folder: Path, calls: str = CALLS, **environment: str) -> list[str]:
    variables = system.environment(folder, fallback=False, timeout=1) | environment
    done = subprocess.run(
        [sys.executable, "-c", calls], env={**os.environ, **variables}, capture_output=True,
        encoding="utf-8", check=False,
    )  # fmt: skip
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


def test_a_function_that_raises_or_hangs_is_named_and_the_librarys_may_take_over(
    tmp_path: Path,
) -> None:
    (tmp_path / "loader.py").write_text(FAULTY, encoding="utf-8")
    place = "/loader.py, line 7: return 1 / 0) raised ZeroDivisionError: division by zero"
    raised = "called as find_cut('divides', 0, 3, 0)"
    fine, divides, hangs, again = run(tmp_path)
    assert fine == "-1"
    assert divides.startswith("OwnFunctionError your find_cut (") and place in divides
    assert divides.endswith(raised) and again == divides
    assert "did not end within 1 s, called as find_cut('hangs', 0, 3, 0)" in hangs
    *values, said = run(tmp_path, COURSE_MINE_FALLBACK="1")
    assert values == ["-1", "3", "3", "3"]
    assert place in said and said.endswith("The course's find_cut takes over.")


def test_what_a_watched_thread_is_done_with_is_destroyed_at_once_and_there(tmp_path: Path) -> None:
    """Objects of OpenVINO that the watching thread destroyed as Python ended crashed it."""
    slow = FAULTY.replace("return -1", "__import__('time').sleep(0.6)")
    (tmp_path / "loader.py").write_text(slow, encoding="utf-8")
    assert run(tmp_path, HOLDING, COURSE_MINE_TIMEOUT="30") == ["destroyed by MainThread", "end"]


def test_what_cannot_take_its_place_ends_the_process(tmp_path: Path) -> None:
    file = tmp_path / "loader.py"
    file.write_text(FAULTY.replace("find_cut", "find_no_cut"), encoding="utf-8")
    assert "has no such function: delete that section" in run(tmp_path)[-1]
    file.write_bytes(b"\xff")
    assert run(tmp_path)[0].startswith(f"error: the functions in {tmp_path} cannot be used: ")


def test_the_hash_is_of_the_functions_and_not_of_their_dates(tmp_path: Path) -> None:
    file = tmp_path / "loader.py"
    hashes = []
    for text in (FAULTY, FAULTY.replace("2026", "2027"), FAULTY.replace("-1", "0")):
        file.write_text(text, encoding="utf-8")
        hashes.append(fingerprint(read_sections(tmp_path), ("loader",)))
    assert hashes[0] == hashes[1] != hashes[2]
    assert fingerprint(read_sections(tmp_path), ("embedder",)) == ""


def test_each_labs_recap_names_what_is_kept() -> None:
    for path in sorted((ROOT / "labs").glob("[0-9]*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        lines = "".join(line for cell in cells for line in cell["source"]).splitlines()
        said = "".join(line for line in lines if "part of your own system now" in line)
        for exercise in load(path.name[:2]).values():
            is_said = f"`{exercise.name}`" in said
            assert is_said == bool(exercise.library), f"{path.name}: {exercise.name}"
