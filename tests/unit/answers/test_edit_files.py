"""A file on disk is read and written so that nothing of it changes but what is meant to."""

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from course_lib.answers import edit_files
from course_lib.answers.edit import EditError
from course_lib.answers.edit_files import (
    check_committed,
    read_original,
    repository_root,
    write_atomically,
)


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "core.autocrlf=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    subprocess.run(command, check=True, capture_output=True)


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


def written(folder: Path, raw: bytes, change: Callable[[str], str], name: str = "a.txt") -> bytes:
    (folder / name).write_bytes(raw)
    original = read_original(folder / name, folder)
    write_atomically(original, original.with_text(change(original.text)))
    return (folder / name).read_bytes()


def rename(text: str) -> str:
    """Change one line, as a model does, which sees plain line ends and gives a last one."""
    assert "\r" not in text
    text = text.replace("two", "2")
    return text if text.endswith("\n") else text + "\n"


@pytest.mark.parametrize(
    "raw",
    [
        b"one\ntwo\nthree\n",
        b"one\r\ntwo\r\nthree\r\n",
        b"one\rtwo\rthree\r",
        b"one\ntwo\nthree",
        b"one\r\ntwo\r\nthree",
        b"one\ntwo\nthree\n\n\n",
        b"one\r\ntwo\nthree\r\nfour\n",
        b"two",
        b"\xef\xbb\xbfone\ntwo\n",
        "one\ntwo é\n".encode("utf-16"),
        b"\xfe\xff" + "one\r\ntwo\r\n".encode("utf-16-be"),
        "one\x0cstill one\u2028still\ntwo\n".encode(),
    ],
)
def test_line_ends_encoding_and_the_last_line_end_stay(tmp_path: Path, raw: bytes) -> None:
    two, new = b"two", b"2"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        order = "utf-16-le" if raw.startswith(b"\xff\xfe") else "utf-16-be"
        two, new = "two".encode(order), "2".encode(order)
    assert written(tmp_path, raw, rename) == raw.replace(two, new)


def test_a_new_line_ends_like_most_others(tmp_path: Path) -> None:
    raw = b"one\r\ntwo\r\nthree\n"
    assert written(tmp_path, raw, lambda text: "zero\n" + text) == b"zero\r\n" + raw


def test_an_empty_file_can_get_lines(tmp_path: Path) -> None:
    assert written(tmp_path, b"", lambda text: "new\n") == b"new\n"


def test_python_says_its_encoding_itself(tmp_path: Path) -> None:
    raw = "# coding: latin-1\nx = 'é two'\n".encode("latin-1")
    assert written(tmp_path, raw, rename, "a.py") == raw.replace(b"two", b"2")
    with pytest.raises(EditError, match="is in iso-8859-1, which has no"):
        written(tmp_path, raw, lambda text: text + "# 日本\n", "a.py")
    assert (tmp_path / "a.py").read_bytes() == raw


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_the_mode_stays_and_no_temporary_file_is_left(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_bytes(b"two\n")
    (tmp_path / "run.sh").chmod(0o755)
    original = read_original(tmp_path / "run.sh", tmp_path)
    write_atomically(original, b"2\n")
    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["run.sh"]


def test_a_file_that_cannot_be_replaced_is_left_and_so_is_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_bytes(b"two\n")
    original = read_original(tmp_path / "a.txt", tmp_path)

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(edit_files.os, "fsync", fail)
    with pytest.raises(EditError, match="No space left"):
        write_atomically(original, b"2\n")
    assert (tmp_path / "a.txt").read_bytes() == b"two\n"
    assert len(list(tmp_path.iterdir())) == 1


def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"two\n")
    original = read_original(tmp_path / "a.txt", tmp_path)
    (tmp_path / "a.txt").write_bytes(b"theirs\n")
    with pytest.raises(EditError, match="changed by somebody else"):
        write_atomically(original, b"2\n")
    assert (tmp_path / "a.txt").read_bytes() == b"theirs\n"
    assert len(list(tmp_path.iterdir())) == 1


def test_only_texts_inside_the_root_are_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    for name in ("outside.txt", "root/.git/config", "root/nul", "root/latin.txt"):
        (tmp_path / name).write_bytes(b"x\n")
    (root / "nul").write_bytes(b"a\0b")
    (root / "latin.txt").write_bytes(b"caf\xe9")
    for path, why in [
        (tmp_path / "outside.txt", "outside the repository"),
        (root / ".." / "outside.txt", "outside the repository"),
        (root / ".git" / "config", "git's own"),
        (root / "nowhere", "cannot be read"),
        (root, "not a regular file"),
        (root / "nul", "holds NUL"),
        (root / "latin.txt", "is not utf-8: byte 0xe9 at offset 3"),
    ]:
        with pytest.raises(EditError, match=why):
            read_original(path, root)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
def test_a_link_is_followed_inside_the_root_and_not_out_of_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.txt").write_bytes(b"x\n")
    (root / "out").symlink_to(tmp_path / "outside.txt")
    with pytest.raises(EditError, match="outside the repository"):
        read_original(root / "out", root)
    (root / "loop").symlink_to(root / "loop")
    with pytest.raises(EditError, match="cannot be read"):
        read_original(root / "loop", root)
    (root / "a.txt").write_bytes(b"two\n")
    (root / "in").symlink_to(root / "a.txt")
    original = read_original(root / "in", root)
    write_atomically(original, b"2\n")
    assert (root / "in").is_symlink() and (root / "a.txt").read_bytes() == b"2\n"
    assert original.name == "a.txt"


def test_a_committed_file_may_be_written(repository: Path) -> None:
    for name in ("src/a.py", "[b]*.py"):
        check_committed(read_original(repository / name, repository))


def test_changes_that_git_could_not_bring_back_are_refused(
    repository: Path, tmp_path: Path
) -> None:
    file = repository / "src" / "a.py"

    def refused(path: Path) -> str:
        with pytest.raises(EditError) as caught:
            check_committed(read_original(path, path.parent))
        assert "--force" in caught.value.hint
        return str(caught.value.args[0])

    file.write_bytes(b"x = 2\n")
    assert "not committed" in refused(file)
    git(repository, "add", "-A")
    assert "not committed" in refused(file)
    file.write_bytes(b"x = 1\n")
    assert "not committed" in refused(file)  # staged as 2
    git(repository, "reset", "-q", "--hard")
    (repository / "new.py").write_bytes(b"")
    assert "not under git's control" in refused(repository / "new.py")
    (repository / "a.log").write_bytes(b"")
    assert "not under git's control" in refused(repository / "a.log")
    (tmp_path / "alone.txt").write_bytes(b"")
    assert "not under git's control" in refused(tmp_path / "alone.txt")


def test_flags_that_hide_a_change_from_git_do_not_hide_it_here(repository: Path) -> None:
    git(repository, "update-index", "--assume-unchanged", "src/a.py")
    (repository / "src" / "a.py").write_bytes(b"x = 2\n")
    with pytest.raises(EditError, match="not committed"):
        check_committed(read_original(repository / "src" / "a.py", repository))


def test_a_file_with_other_line_ends_than_git_stores_is_clean(repository: Path) -> None:
    (repository / ".gitattributes").write_bytes(b"*.txt text eol=crlf\n")
    (repository / "a.txt").write_bytes(b"one\r\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "second")
    check_committed(read_original(repository / "a.txt", repository))


def test_the_root_is_the_given_one_or_gits_or_the_current_folder(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "src")
    assert repository_root() == repository.resolve()
    assert repository_root(str(tmp_path)) == tmp_path.resolve()
    with pytest.raises(EditError, match="is not a folder"):
        repository_root(str(tmp_path / "nowhere"))
