"""The course as a repository for learners: what is in it, what is not, and that it works."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.settings import project_root
from course_lib.teaching.checks import load
from course_lib.teaching.mine.keep import all_exercises
from course_lib.teaching.notebooks.repository import release_repository
from course_lib.teaching.taught import by_module
from tests.needs import needs

ROOT = project_root()
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]+)")
LOADS_ALL = """
from course_lib.teaching.checks import load
from course_lib.teaching.lab.reference import reference
labs = [f"{number:02}" for number in range(1, 17)]
print(len([reference(lab, one) for lab in labs for one in load(lab).values()]))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release_repository(tmp_path_factory.mktemp("release") / "course")


@needs("git")
def test_a_released_repository_shows_no_answer(copy: Path) -> None:
    assert not (copy / "solutions").exists() and not list((copy / "tests").rglob("*.py"))
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "solutions").glob("*.py")]
    taught = by_module(one.library for one in all_exercises().values())
    assert sum(map(len, taught.values())) > 40
    for module, names in taught.items():
        text = (copy / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        assert not [name for name in names if f"def {name}(" in text], module
    sketches = [
        part.split("###")[0] for text in sources for part in text.split("BEGIN SOLUTION\n")[1:]
    ]
    copied = "\n".join(path.read_text(encoding="utf-8") for path in copy.rglob("*.py"))
    assert sketches and not [one for one in sketches if one in copied]


@needs("git")
def test_a_released_repository_has_no_page_for_instructors_and_no_link_to_what_is_left_out(
    copy: Path,
) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in copy.rglob("*.md")}
    assert len(pages) > 10
    assert [text for text in pages.values() if re.search(r"INSTRUCTORS\.md|CLASS\.md", text)] == []
    links = {(path, link) for path, text in pages.items() for link in LINK.findall(text)}
    dead = [(path, link) for path, link in links if not (path.parent / link).exists()]
    left_out = [
        (path.name, link)
        for path, link in dead
        if (ROOT / path.relative_to(copy).parent / link).exists()
    ]
    assert left_out == []


@needs("git")
def test_the_labs_of_a_released_repository_have_what_exercises_ask_for(copy: Path) -> None:
    environment = {"PYTHONPATH": str(copy), "COURSE_ROOT": str(copy), "PATH": ""}
    command = [sys.executable, "-c", LOADS_ALL]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    labs = [f"{number:02}" for number in range(1, 17)]
    assert int(done.stdout) == sum(len(load(lab)) for lab in labs) > 0


def test_without_git_a_release_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"(?s)git is not installed.*Install git"):
        release_repository(tmp_path / "course")
    assert list(tmp_path.iterdir()) == []


def test_a_released_repository_replaces_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="is there already"):
        release_repository(tmp_path)


@needs("git")
def test_a_class_that_was_committed_is_not_published(tmp_path: Path) -> None:
    """By its configuration, by its folders alone, what people leave beside it, and answer keys."""
    root = tmp_path / "course"
    kept = ("README.md", "labs/01_words.ipynb", "data/rates.csv", "tests/grading/x/submitted/a.md")
    private = (
        "autumn/submitted/ada/01_words/01_words.ipynb", "autumn/notes.md",
        "data/b/feedback/ada/01_words/01_words.html", "my/01_words.ipynb", "own/master.ipynb",
        "gradebook.db", "Roster.CSV", "marks/spring.xlsx", "grades.md", "infra/old/gradebook.db",
    )  # fmt: skip
    answers = {
        "labs/18_mine.ipynb": "# ### BEGIN SOLUTION", "key/02.py": "def cut(): ...",
    }  # fmt: skip
    private = (*private, *answers)
    for name in (*kept, *private, "autumn/nbgrader_config.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(answers.get(name, name), encoding="utf-8")
    for words in (["init", "-q"], ["add", "-f", *kept, *private]):
        subprocess.run(["git", "-C", str(root), *words], check=True)
    said = (
        "Roster.CSV, autumn, data/b, gradebook.db, grades.md, infra/old, key, "
        "labs/18_mine.ipynb, marks, my, own"
    )
    with pytest.raises(InputError, match=f"committed: {said}\n.*git rm -r --cached Roster"):
        release_repository(tmp_path / "copy", root)
    assert not (tmp_path / "copy").exists()
