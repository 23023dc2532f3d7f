"""JSON Lines: whole or not at all, and broken lines by their numbers."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.errors import InputError
from course_lib.loader import read_chunks, split_document, write_jsonl
from course_lib.loader.jsonl import read_lines
from course_lib.records import Document


def document(content: str) -> Document:
    return Document(Path("a.md"), "a.md", content)


@given(content=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300))
def test_records_survive_the_file(tmp_path_factory: pytest.TempPathFactory, content: str) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "chunks.jsonl"
    chunks = split_document(document(content), chunk_size=20, chunk_overlap=5)
    assert write_jsonl(path, (chunk.to_json() for chunk in chunks)) == len(chunks)
    assert list(read_chunks(path)) == chunks


@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, error: BaseException
) -> None:
    def lines() -> Iterator[str]:
        yield "new"
        raise error

    (tmp_path / "a.jsonl").write_text("old\n", encoding="utf-8")
    with pytest.raises(type(error)):
        write_jsonl(tmp_path / "a.jsonl", lines())
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    assert (tmp_path / "a.jsonl").read_text(encoding="utf-8") == "old\n"


def test_a_place_that_cannot_be_written_is_an_error_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "a.jsonl", tmp_path / "folder"):
        with pytest.raises(InputError, match="cannot be written"):
            write_jsonl(path, ["{}"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes in folders")
def test_a_device_or_a_pipe_is_refused_and_a_link_stays(tmp_path: Path) -> None:
    """As root, `/dev/stdout` would be replaced for the whole machine."""
    link, pipe = tmp_path / "link.jsonl", tmp_path / "pipe.jsonl"
    link.symlink_to(tmp_path / "file.jsonl")
    write_jsonl(link, ["{}"])
    assert link.is_symlink() and (tmp_path / "file.jsonl").read_bytes() == b"{}\n"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="cannot be written: it is a device or a pipe"):
        write_jsonl(pipe, ["{}"])
    assert pipe.is_fifo()


@pytest.mark.skipif(sys.platform == "win32", reason="has no such permission bits")
def test_the_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [])
    (tmp_path / "b").touch()
    assert (tmp_path / "a.jsonl").stat().st_mode == (tmp_path / "b").stat().st_mode


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    text = '"a\u2028b\x85c"\r\n'.encode()
    path.write_bytes(text + b'  \n"d"')
    assert list(read_lines(path)) == [(1, 0, text), (3, len(text) + 3, b'"d"')]
