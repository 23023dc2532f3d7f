"""Writing a file: faults in the middle, and changes that git hides.

What a rewrite keeps and refuses is in tests/blackbox/test_edit.py.
"""

from pathlib import Path

import pytest

from course_lib.answers import edit_files
from course_lib.answers.edit import EditError
from course_lib.answers.edit_files import (
    check_committed,
    read_original,
    write_edited,
)
from tests.needs import needs
from tests.repositories import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with two committed files."""
    root = tmp_path / "my repo"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_bytes(b"x = 1\n")
    (root / "[b]*.py").write_bytes(b"y = 1\n")
    (root / ".gitignore").write_bytes(b"*.log\n")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


def test_a_file_that_cannot_be_replaced_is_left_and_so_is_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_bytes(b"two\n")
    original = read_original(tmp_path / "a.txt", tmp_path)

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(edit_files.os, "fsync", fail)
    with pytest.raises(EditError, match="No space left"):
        write_edited(original, b"2\n")
    assert (tmp_path / "a.txt").read_bytes() == b"two\n"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"two\n")
    original = read_original(tmp_path / "a.txt", tmp_path)
    (tmp_path / "a.txt").write_bytes(b"theirs\n")
    with pytest.raises(EditError, match="changed by somebody else"):
        write_edited(original, b"2\n")
    assert (tmp_path / "a.txt").read_bytes() == b"theirs\n"
    assert len(list(tmp_path.iterdir())) == 1


@needs("git")
def test_flags_that_hide_a_change_from_git_do_not_hide_it_here(repository: Path) -> None:
    git(repository, "update-index", "--assume-unchanged", "src/a.py")
    (repository / "src" / "a.py").write_bytes(b"x = 2\n")
    with pytest.raises(EditError, match="not committed"):
        check_committed(read_original(repository / "src" / "a.py", repository))
