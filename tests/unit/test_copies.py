"""`course start` and `course clean`: a learner's work is never touched."""

import json
import re
import shutil
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.teaching.clean import clean
from course_lib.teaching.copies import start_lab
from tests.blackbox.course import Course
from tests.schemas import OwnSchema

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs" / "01_cut.ipynb").write_text("the lab", encoding="utf-8")
    (tmp_path / "labs" / "GLOSSARY.md").write_text("words", encoding="utf-8")
    return tmp_path


def test_a_lab_is_found_by_number_or_name_and_nothing_else_is(project: Path) -> None:
    for number in ("99", "", "zz", "../01", "GLOSSARY"):
        with pytest.raises(InputError, match="There are: 01"):
            start_lab(number, project)
    assert not (project / "my").exists()
    mine = project / "my" / "01_cut.ipynb"
    assert [start_lab(number, project) for number in ("01", "1", " 01 ", "01_cut")] == [
        (mine, True), (mine, False), (mine, False), (mine, False),
    ]  # fmt: skip


def test_the_links_of_every_copy_lead_to_files_and_to_other_labs_copies(tmp_path: Path) -> None:
    for name in ("labs", "infra", "README.md"):
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
            assert link.endswith((".md", ".svg")) or (copy.parent / link).parent == copy.parent
    assert labs > 5


def test_clean_removes_what_was_made_and_leaves_my_and_the_environment(project: Path) -> None:
    start_lab("01", project)
    for made in (".course", "build/run", ".venv", ".mypy_cache"):
        (project / made).mkdir(parents=True)
    (project / ".coverage.1").write_text("", encoding="utf-8")
    assert set(clean(project)) == {".course", "build", ".mypy_cache", ".coverage.1"}
    assert sorted(path.name for path in project.iterdir()) == [".venv", "labs", "my"]


def test_an_installed_package_without_a_checkout_works_where_it_is_called(
    database: OwnSchema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, here = tmp_path / "packages", tmp_path / "here"
    left = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "course_lib", installed / "course_lib", ignore=left)
    (here / "notes").mkdir(parents=True)
    (here / "notes" / "a.md").write_text("Backups are made at night.", encoding="utf-8")
    monkeypatch.chdir(here)
    own = {"PYTHONPATH": str(installed), "COURSE_ROOT": "", "COURSE_STATE": ""}
    own |= {"PYTHONDONTWRITEBYTECODE": "1"}
    course = Course({**own, "DATABASE_URL": database.url})
    said = course.in_a_process("start", "01").error()
    assert "is not a checkout of the course" in said and "`make setup`" in said
    course.in_a_process("ingest", "notes").ok()
    assert [path.name for path in installed.iterdir()] == ["course_lib"]
    assert {path.name for path in here.iterdir()} <= {"notes", ".course"}
