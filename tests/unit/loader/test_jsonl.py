"""JSON Lines: a file is whole, or it stays as it was."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.errors import InputError
from course_lib.loader import write_jsonl


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
