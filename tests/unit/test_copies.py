"""`course start` and `course clean`: a learner's work is never touched."""

import json
import re
import shutil
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.store.databases import FreshDatabase
from course_lib.teaching.clean import clean
from course_lib.teaching.copies import start_lab
from tests.unit.command_line import Course

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "01_cut.ipynb").write_text("the lab", encoding="utf-8")
    (tmp_path / "labs" / "GLOSSARY.md").write_text("words", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("number", ["01", "1", " 01 ", "01_cut"])
def test_a_lab_is_copied_to_my(project: Path, number: str) -> None:
    path, is_new = start_lab(number, project)
    assert (path, is_new) == (project / "my" / "01_cut.ipynb", True)
    assert path.read_text(encoding="utf-8") == "the lab"


def test_a_copy_that_is_there_is_not_overwritten(project: Path) -> None:
    path, _ = start_lab("01", project)
    path.write_text("my answers", encoding="utf-8")
    assert start_lab("01", project) == (path, False)
    assert path.read_text(encoding="utf-8") == "my answers"


@pytest.mark.parametrize("number", ["99", "", "zz", "../01", "GLOSSARY"])
def test_a_lab_that_is_not_there_is_named_with_those_that_are(project: Path, number: str) -> None:
    with pytest.raises(InputError, match="There are: 01"):
        start_lab(number, project)
    assert not (project / "my").exists()


def test_the_links_of_every_copy_lead_to_files_and_to_other_labs_copies(tmp_path: Path) -> None:
    for name in ("labs", "README.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    start_lab("00", tmp_path)
    copies = list((tmp_path / "my").iterdir())
    assert {copy.name for copy in copies} == {lab.name for lab in (ROOT / "labs").glob("*.ipynb")}
    labs = 0
    for copy in copies:
        cells = json.loads(copy.read_text(encoding="utf-8"))["cells"]
        prose = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        for link in re.findall(r"\]\(([^)\s:#]+)(?:#[^)\s]*)?\)", prose):
            assert (copy.parent / link).is_file(), f"{copy.name}: {link}"
            labs += link.endswith(".ipynb")
            assert link.endswith(".md") or (copy.parent / link).parent == copy.parent
    assert labs > 5


def test_where_nothing_can_be_written_the_error_names_a_way_out(project: Path) -> None:
    (project / "pyproject.toml").write_text("", encoding="utf-8")
    for name in ("my", ".course"):  # no account can make a folder where a file is, root neither
        (project / name).write_text("", encoding="utf-8")
    course = Course({"COURSE_ROOT": str(project), "COURSE_STATE": "", "DATABASE_URL": ""})
    for call in ("start 01", "search night", f"ingest {ROOT / 'labs'}"):
        assert "COURSE_STATE" in course.fails(*call.split())


def test_clean_removes_what_was_made_and_leaves_my_and_the_environment(project: Path) -> None:
    start_lab("01", project)
    for made in (".course", "build/run", ".venv", ".mypy_cache"):
        (project / made).mkdir(parents=True)
    (project / ".coverage.1").write_text("", encoding="utf-8")
    assert set(clean(project)) == {".course", "build", ".mypy_cache", ".coverage.1"}
    assert sorted(path.name for path in project.iterdir()) == [".venv", "labs", "my"]


def test_without_a_checkout_the_courses_commands_say_so_and_the_others_work_here(
    database: FreshDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, here = tmp_path / "packages", tmp_path / "here"
    shutil.copytree(ROOT / "course_lib", installed / "course_lib")
    (here / "notes").mkdir(parents=True)
    (here / "notes" / "a.md").write_text("Backups are made at night.", encoding="utf-8")
    monkeypatch.chdir(here)
    own = {"PYTHONPATH": str(installed), "COURSE_ROOT": "", "COURSE_STATE": ""}
    course = Course({**own, "DATABASE_URL": database.url, "RAG_EMBED_BACKEND": "onnx"})
    for call in ("start 01", "doctor", "setup"):
        said = course.fails(*call.split())
        assert "is not a checkout of the course" in said and "`make setup`" in said
    assert course("ingest", "notes").returncode == 0
    assert "at night" in course("search", "when are backups made?").stdout
    assert [path.name for path in installed.iterdir()] == ["course_lib"]
    assert {path.name for path in here.iterdir()} == {"notes", ".course"}
