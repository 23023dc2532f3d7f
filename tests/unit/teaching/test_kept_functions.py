"""A learner's own system: what is kept of a notebook, and what runs in the library's places."""

import json
import linecache
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import course_lib
from course_lib.errors import InputError
from course_lib.teaching import CheckFailed, Lab
from course_lib.teaching.checks import load
from course_lib.teaching.lab import explaining
from course_lib.teaching.mine.overlay import environment, with_answer
from course_lib.teaching.mine.sections import fingerprint, read_sections
from course_lib.teaching.mine.system import rooms
from course_lib.teaching.taught import pack_answers

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


def split_text(text, *sizes, **options):
    find_cut("", 0, 0)
    from course_lib.loader.recursive import split_text
    return split_text(text, *sizes, **options)
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


def test_what_explains_the_exercise_is_shown_once_its_check_has_passed(
    notebook: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(explaining, "notebook_shell", lambda: object())
    monkeypatch.setattr("IPython.display.display", shown.append)
    with pytest.raises(CheckFailed):
        notebook["lab"].check("1.2", notebook["wrong"])
    assert shown == []
    notebook["lab"].check("1.2", notebook["find_cut"])
    (text,) = [one.data for one in shown]
    assert text == explaining.explanation("1.2") and "mistake to remember" in text


def test_a_passed_function_is_kept_with_all_that_it_needs_and_runs_by_itself(
    mine: Path, notebook: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    lab = notebook["lab"]
    lab.check("1.2", notebook["find_cut"])
    assert "kept in my/system/loader.py: 1 of 52 functions are yours" in capsys.readouterr().out
    lab.check("1.3", notebook["split_text"])
    assert "kept in my/system/loader.py: 2 of 52" in capsys.readouterr().out
    first, second = read_sections(mine / "system")
    assert (first.name, first.exercise, second.name) == ("find_cut", "1.2", "split_text")
    assert first.load()("ab cd. ef gh", 0, 8) == 7
    assert "with_open_file" not in first.text and "ONE = 1\n" in first.text
    # A name that another exercise defines is the library's, which `course mine` replaces.
    assert "from course_lib.loader.recursive import find_cut\n" in second.text
    assert (mine / "system" / "loader.py").read_text(encoding="utf-8").count("def find_cut") == 1
    assert rooms(mine / "system")["loader"][0] == ["find_cut", "split_text"]


def test_what_fails_or_cannot_be_written_down_leaves_what_is_kept(
    mine: Path, notebook: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    lab = notebook["lab"]
    lab.check("1.2", notebook["find_cut"])
    kept = (mine / "system" / "loader.py").read_bytes()
    with pytest.raises(CheckFailed):
        lab.check("1.2", notebook["wrong"])
    capsys.readouterr()
    for name, reason in {
        "with_open_file": "it uses OPEN",
        "with_lab": "it uses lab, which is there in a notebook only",
    }.items():
        lab.check("1.2", notebook[name])
        assert f"not kept in my/system: {reason}" in capsys.readouterr().out
    assert (mine / "system" / "loader.py").read_bytes() == kept


def test_nothing_is_kept_of_a_lab_outside_of_the_learners_folder(
    mine: Path, notebook: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine.parent)
    Lab("01").check("1.2", notebook["find_cut"])
    assert not (mine / "system").exists()


def test_an_answer_is_kept_though_a_cell_has_changed_the_folder(
    mine: Path, notebook: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine.parent)
    notebook["lab"].check("1.2", notebook["find_cut"])
    assert (mine / "system" / "loader.py").exists()


OWN = """
# %% 1.2 find_cut · lab 01 · 2026-11-25
# in the place of course_lib.loader.recursive.find_cut

from course_lib.loader.recursive import next_start, split_text


def find_cut(text, start, limit, floor=0, separators=()):
    return 1 / 0 if text == "divides" else -1
"""


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """The folder of what a learner has kept: one function."""
    folder = tmp_path / "my" / "system"
    folder.mkdir(parents=True)
    (folder / "loader.py").write_text(OWN, encoding="utf-8")
    return folder


def test_the_copy_is_made_again_where_the_library_or_the_list_of_functions_differs(
    system: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copies() -> set[str]:
        environment(system)
        return {path.name for path in (tmp_path / "my" / ".overlay").iterdir()}

    first = copies()
    assert len(first) == 1 and copies() == first
    kept = system / "loader.py"
    kept.write_text(OWN + OWN.replace("1.2 find_cut", "1.3 split_text"), encoding="utf-8")
    assert copies() == first, "the second section's heading contradicts itself"
    kept.write_text(OWN + OWN.replace("1.2", "1.3").replace("find_cut", "split_text"), "utf-8")
    second = copies() - first
    assert len(second) == 1
    library = tmp_path / "course_lib"
    shutil.copytree(Path(course_lib.__file__).parent, library)
    monkeypatch.setattr(course_lib, "__file__", str(library / "__init__.py"))
    assert copies() == first | second
    with (library / "errors.py").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert len(copies() - first - second) == 1
    old = tmp_path / "my" / ".overlay" / first.pop()
    os.utime(old, (0, 0))
    assert old.name not in copies()


def test_commands_that_begin_at_once_make_one_copy(system: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor() as threads:
        found = list(threads.map(lambda _: environment(system), range(4)))
    assert all(one == found[0] for one in found)
    assert len(list((tmp_path / "my" / ".overlay").iterdir())) == 1


def test_what_cannot_take_its_place_is_named(system: Path) -> None:
    file = system / "loader.py"
    file.write_text(OWN.replace("find_cut", "find_no_cut"), encoding="utf-8")
    with pytest.raises(InputError, match=r"keeps find_no_cut for .* has none of that name"):
        environment(system)
    file.write_bytes(b"\xff")
    with pytest.raises(InputError, match="cannot be used: 'utf-8' codec"):
        environment(system)


def test_a_packed_function_of_a_repository_for_learners_is_replaced_too(system: Path) -> None:
    (answer,) = read_sections(system)
    module = "import re\n\n\ndef find_cut(text):\n    return 2 + 3\n\n\nLAST = 1\n"
    packed = system / "recursive.txt"
    packed.write_text(module, encoding="utf-8")
    pack_answers(packed, ["find_cut"])
    text = packed.read_text(encoding="utf-8")
    assert "2 + 3" not in text and with_answer(text, answer) == with_answer(module, answer)


def test_the_hash_is_of_the_functions_and_not_of_their_dates(tmp_path: Path) -> None:
    file = tmp_path / "loader.py"
    hashes = []
    for text in (OWN, OWN.replace("2026", "2027"), OWN.replace("-1", "0")):
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
