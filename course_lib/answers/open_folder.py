"""A folder that is held open: its files are read and written in it, whatever its path leads to now.

Between a look at a path and its use, somebody can put a link in its place. A handle stays with the
folder that was looked at. Windows has no such handles: there, the path is looked at once more.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# Without a wait: what was a file may be a pipe by now, to which nobody writes.
FILE = NO_LINK | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """A folder, and what can be done with its files; none of them is found through a link.

    Attributes
    ----------
    path
        Where it was when it was opened.
    handle
        The open folder; None on Windows.
    """

    path: Path
    handle: int | None

    def read(self, name: str, most: int) -> bytes:
        """Return a file's first bytes."""
        with open(self._open(name, os.O_RDONLY), "rb") as file:
            return file.read(most)

    def write(self, name: str, raw: bytes, *, like: str) -> None:
        """Write a new file to the disk, with the mode and the owner of another."""
        with open(self._open(like, os.O_RDONLY), "rb") as file:
            status = os.fstat(file.fileno())
        with open(self._open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
            if sys.platform != "win32":
                with suppress(OSError):
                    os.fchown(file.fileno(), status.st_uid, status.st_gid)
                # Without set-user-ID: what a model wrote runs as whoever starts it.
                os.fchmod(file.fileno(), status.st_mode & 0o777)

    def replace(self, name: str, other: str) -> None:
        """Put a file in the place of another."""
        os.replace(self._at(name), self._at(other), src_dir_fd=self.handle, dst_dir_fd=self.handle)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        with suppress(OSError):
            os.unlink(self._at(name), dir_fd=self.handle)

    def _open(self, name: str, flags: int) -> int:
        return os.open(self._at(name), flags | FILE, 0o600, dir_fd=self.handle)

    def _at(self, name: str) -> str:
        return name if self.handle is not None else str(self.path / name)


@contextmanager
def open_folder_of(root: Path, name: str) -> Iterator[OpenFolder]:
    """Open the folder of a file.

    Parameters
    ----------
    root
        A folder above it, links resolved.
    name
        The file's path relative to the root, with forward slashes.

    Raises
    ------
    OSError
        If a folder on the way is a link, or is not there.

    Examples
    --------
    >>> with open_folder_of(Path(__file__).parent, "prompts.py") as folder:
    ...     len(folder.read("prompts.py", 3))
    3
    """
    path = (root / name).parent
    if os.open not in os.supports_dir_fd:
        if path.resolve(strict=True) != path:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        yield OpenFolder(path, None)
        return
    with ExitStack() as opened:
        handle = None
        for part in (str(root), *PurePosixPath(name).parent.parts):
            handle = os.open(part, os.O_RDONLY | os.O_DIRECTORY | NO_LINK, dir_fd=handle)
            opened.callback(os.close, handle)
        yield OpenFolder(path, handle)
