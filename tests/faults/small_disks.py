"""Small disks in memory that can be filled: a size goes in, a folder with that room comes out."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


class NoSmallDiskError(Exception):
    """A disk cannot be mounted here: that takes Linux and root's rights."""


@dataclass
class Disk:
    """A small disk that can be filled."""

    path: Path

    def fill(self, spare: int = 0) -> None:
        """Fill it up to so many bytes."""
        with (self.path / "filler").open("ab", buffering=0) as filler:
            with contextlib.suppress(OSError):
                while filler.write(bytes(65_536)):
                    pass
            with contextlib.suppress(OSError):
                while filler.write(bytes(512)):
                    pass
            filler.truncate(max(0, filler.tell() - spare))

    def empty(self) -> None:
        """Give the room back."""
        (self.path / "filler").unlink(missing_ok=True)


@contextlib.contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[Disk]:
    """Mount a disk of that size.

    Raises
    ------
    NoSmallDiskError
        If that is not permitted here.
    """
    path.mkdir()
    options = f"size={megabytes}m,mode=755"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    except OSError as error:
        raise NoSmallDiskError(str(error)) from error
    if sys.platform != "linux" or done.returncode:
        raise NoSmallDiskError(done.stderr.strip())
    try:
        yield Disk(path)
    finally:
        (path / "filler").unlink(missing_ok=True)
        subprocess.run(["umount", "--lazy", str(path)], check=True)
