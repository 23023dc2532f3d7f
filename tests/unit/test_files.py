"""Files are read to a limit, and only from where they were looked at."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from course_lib.files import read_file


@pytest.mark.skipif(sys.platform != "linux", reason="a file of Linux")
def test_a_file_that_grows_while_it_is_read_has_its_limit(tmp_path: Path) -> None:
    """One of the system's tells no size, as one that grew since it was looked at."""
    with pytest.raises(ValueError, match="grew while it was read"):
        read_file(Path("/proc/self/smaps"), 100)
