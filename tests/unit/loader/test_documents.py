"""Reading documents: what comes in as it is, and what is left out with a reason."""

import os
import sys
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.loader import read_documents
from course_lib.records import Document, Skipped


def read(root: Path, **options: object) -> tuple[list[Document], dict[str, str]]:
    skipped: list[Skipped] = []
    documents = read_documents(root, on_skip=skipped.append, **options)  # type: ignore[arg-type]
    return documents, {file.name: file.reason for file in skipped}


def test_a_file_of_a_hundred_megabytes_is_left_out_unread(tmp_path: Path) -> None:
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(100_000_000)
    documents, skipped = read(tmp_path)
    assert documents == []
    assert skipped == {"huge.txt": "has 100.0 MB; the limit is 20.0 MB"}


def test_an_impossible_path_is_an_error_and_no_traceback() -> None:
    with pytest.raises(InputError):
        read_documents("nul\0byte")


def test_a_pointer_to_git_lfs_is_left_out_with_its_reason(tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0f\nsize 9\n"
    about = f"# Large files\n\n```\n{pointer}```\n"
    for name, text in {
        "model.yaml": pointer,
        "data.txt": pointer.replace("\n", "\r\n"),
        "about.md": about,
        "long.md": pointer + "x" * 2_000,
    }.items():
        (tmp_path / name).write_bytes(text.encode())
    documents, skipped = read(tmp_path, extensions=(".md", ".txt", ".yaml"))
    assert [document.name for document in documents] == ["about.md", "long.md"]
    reason = "is a pointer to Git LFS, where the file itself is"
    assert skipped == {"model.yaml": reason, "data.txt": reason}


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.md").write_text("x", encoding="utf-8")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "one.md").symlink_to("real/a.md")
    assert [document.name for document in read(tmp_path / "link")[0]] == ["a.md"]
    assert [document.name for document in read(tmp_path / "one.md")[0]] == ["one.md"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems refuse such names")
def test_a_name_that_is_no_unicode_is_left_out(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.md")).write_text("x", encoding="utf-8")
    documents, skipped = read(tmp_path)
    assert documents == []
    assert skipped == {"bad?.md": "has a name that is not valid Unicode"}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in folders")
def test_a_named_pipe_is_left_out_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert read(tmp_path) == ([], {"pipe.md": "is not a regular file"})
