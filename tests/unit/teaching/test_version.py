"""What `course --version` says, and what a class keeps: the course's number and its commit."""

from pathlib import Path

from course_lib import __version__
from course_lib.teaching.version import course_version
from tests.needs import needs
from tests.repositories import git


@needs("git")
def test_a_version_names_the_commit_that_brings_this_course_back(tmp_path: Path) -> None:
    module = tmp_path / "course_lib" / "loader.py"
    module.parent.mkdir()
    module.write_text("one = 1\n", encoding="utf-8")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first", "--date", "2020-01-01T00:00:00Z")
    commit = git(tmp_path, "rev-parse", "--short=12", "HEAD").strip()
    day = git(tmp_path, "log", "-1", "--format=%cs").strip()
    released = f"{__version__}, commit {commit} of {day}"
    assert course_version(tmp_path) == released
    (tmp_path / "notes.txt").touch()  # what no grade depends on
    assert course_version(tmp_path) == released
    module.write_text("one = 2\n", encoding="utf-8")
    assert course_version(tmp_path) == f"{released} with changes"
    git(tmp_path, "commit", "-q", "-a", "-m", "second")
    assert commit not in course_version(tmp_path)
    git(tmp_path, "switch", "-q", "--detach", commit)
    assert course_version(tmp_path) == released


@needs("git")
def test_a_course_without_git_has_no_commit_even_within_another_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "another project")
    unpacked = tmp_path / "course"
    (unpacked / "course_lib").mkdir(parents=True)
    assert course_version(unpacked) == f"{__version__}, no commit known"
