"""Finding a project's lock files on disk, and what a checksum depends on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.xray import LockFiles, find_lock_files


def test_lock_files_are_found_in_all_folders_but_those_of_others(tmp_path: Path) -> None:
    for folder in ("", "api/", "node_modules/x/", ".venv/", "vendor/y/", "web/.cache/"):
        path = tmp_path / folder / "requirements.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\xef\xbb\xbfrich==14.1.0\n")  # as an editor on Windows saves it
    files = find_lock_files(tmp_path)
    assert sorted(files.texts) == ["api/requirements.txt", "requirements.txt"]
    assert files.packages("python") == {"rich": "14.1.0"}


def test_of_two_lock_files_the_newer_version_counts(tmp_path: Path) -> None:
    files = LockFiles({"a/requirements.txt": "x==1.10\ny==1", "b/requirements.txt": "x==1.9\nz==2"})
    assert files.packages("python") == {"x": "1.10", "y": "1", "z": "2"}


def test_a_lock_file_that_cannot_be_read_keeps_its_language_unknown(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_bytes(b"caf\xe9==1.0\n")
    (tmp_path / "go.mod").write_text("module a\n", encoding="utf-8")
    files = find_lock_files(tmp_path)
    assert files.languages() == ["go", "python"]
    with pytest.raises(InputError, match="requirements.txt is not UTF-8"):
        files.packages("python")
    assert files.packages("go") == {}


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_ends_the_scan(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("rich==14.1.0\n", encoding="utf-8")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    try:
        with pytest.raises(InputError, match="closed cannot be read"):
            find_lock_files(tmp_path)
    finally:
        closed.chmod(0o700)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights")
def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "requirements.txt").write_text("secret==1\n", encoding="utf-8")
    (inside / "go.mod").write_text("module a\n", encoding="utf-8")
    (inside / "requirements.txt").symlink_to(outside / "requirements.txt")
    (inside / "folder").symlink_to(outside, target_is_directory=True)
    files = find_lock_files(inside)
    assert sorted(files.texts) == ["go.mod"]
    assert files.not_read() == ["requirements.txt is not read: it is a link"]


def test_a_file_that_requirements_include_is_named_where_it_is_not_read() -> None:
    files = LockFiles(
        {
            "api/requirements.txt": "-r base.txt\n-r ../requirements/all.txt\n-c no.txt\nx==1",
            "requirements/all.txt": "--requirement=./more.txt  # beside it\n--require-hashes\n",
            "requirements/more.txt": "y==2\n-rhttps://example.com/all.txt\n",
            "go.mod": "module a\n",
        }
    )
    assert [sentence.split(",")[0] for sentence in files.not_read()] == [
        "api/requirements.txt includes base.txt",
        "requirements/more.txt includes https://example.com/all.txt",
    ]
    assert files.packages("python") == {"x": "1", "y": "2"}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_what_a_shell_of_windows_wrote_is_read(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "requirements.txt").write_text("rich==14.1.0\r\n", encoding=encoding)
    assert find_lock_files(tmp_path).packages("python") == {"rich": "14.1.0"}


NPM = '{"lockfileVersion": 3, "packages": {"node_modules/%s": {"version": "%s"}}}'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("package-lock.json", NPM % (r"\u0000", "1")),
        ("package-lock.json", NPM % (r"\ud800", "1")),
        ("package-lock.json", NPM % ("a" * 501, "1")),
        ("package-lock.json", NPM % ("a", r"\u0000")),
        ("Cargo.lock", '[[package]]\nname = "a\\u0000"\nversion = "1"\nsource = "registry+x"\n'),
        ("requirements.txt", "a" * 9000 + "==1.0\n"),
    ],
)
def test_names_that_no_table_can_hold_are_a_broken_file(name: str, text: str) -> None:
    files = LockFiles({name: text})
    (language,) = files.languages()
    with pytest.raises(InputError, match=f"{name} is not a .* that can be read"):
        files.packages(language)
