"""What the tests of the embedded server share: folders and disks, and whose they are."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from course_lib.store.server import remove_server
from tests.faults import small_disks
from tests.faults.small_disks import Disk


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every account can enter."""
    folder = Path(tempfile.mkdtemp(prefix="course-test-"))
    folder.chmod(0o755)
    yield folder
    for state in sorted({path.parent for path in folder.rglob("server.lock")}):
        remove_server(state)
    shutil.rmtree(folder)


@pytest.fixture
def state(open_folder: Path) -> Path:
    return open_folder / "state"


@pytest.fixture
def root() -> None:
    if sys.platform == "win32" or os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture
def small_disk(open_folder: Path, root: None) -> Iterator[Disk]:
    """A disk of 48 MB: room for a data directory, and easily filled."""
    with contextlib.ExitStack() as mounted:
        try:
            disk = mounted.enter_context(small_disks.small_disk(open_folder / "disk", 48))
        except small_disks.NoSmallDiskError:
            pytest.skip("may not mount a small disk here")
        yield disk
        disk.empty()
        remove_server(disk.path / "state")
