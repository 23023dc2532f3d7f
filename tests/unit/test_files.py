"""Files are read to a limit, and only from where they were looked at."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from course_lib.files import read_file


@contextmanager
def exchanging(folder: Path, other: Path) -> Iterator[None]:
    """Put a link to another folder in a folder's place and take it away, again and again."""
    ended = threading.Event()
    aside = folder.with_name("aside")

    def exchange() -> None:
        while not ended.is_set():
            folder.rename(aside)
            folder.symlink_to(other)
            time.sleep(0.0002)
            folder.unlink()
            aside.rename(folder)
            time.sleep(0.0002)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_folder_exchanged_for_a_link_is_not_read_through(tmp_path: Path) -> None:
    """Whoever shares the folder could have had any file of this machine indexed."""
    inside, outside = tmp_path / "root" / "a", tmp_path / "outside"
    for folder, text in ((inside, b"ours"), (outside, b"secret")):
        folder.mkdir(parents=True)
        (folder / "x.md").write_bytes(text)
    read = set()
    with exchanging(inside, outside):
        end = time.monotonic() + 30
        tried = 0
        while tried < 3_000 or (b"ours" not in read and time.monotonic() < end):
            tried += 1
            try:
                read.add(read_file(inside / "x.md", 100, os.path.realpath(tmp_path / "root")))
            except (ValueError, OSError) as error:
                read.add(str(error)[:9].encode())
    assert b"ours" in read and b"secret" not in read


@pytest.mark.skipif(sys.platform != "linux", reason="a file of Linux")
def test_a_file_that_grows_while_it_is_read_has_its_limit(tmp_path: Path) -> None:
    """One of the system's tells no size, as one that grew since it was looked at."""
    with pytest.raises(ValueError, match="grew while it was read"):
        read_file(Path("/proc/self/smaps"), 100)
