"""The destination: files of a repository below a folder, and a note of which of them are ours.

The note keeps the next download from removing what no download wrote.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import BaseModel

from course_lib.errors import InputError
from course_lib.files import told_if_not_written
from course_lib.loader.github.names import OWN_FILES, is_inside, why_refused
from course_lib.settings import make_folder

NOTE, LOCK = OWN_FILES
_PART = ".github-download-part-"


class Note(BaseModel):
    """What a folder holds: path → hash, of all files in it that are the repository's.

    `pointers` has the hashes of the contents that only point to Git LFS. They are not kept, and not
    asked for again.
    """

    repo: str
    files: dict[str, str] = {}
    pointers: list[str] = []


class Destination:
    """A folder that holds one revision of one repository.

    Parameters
    ----------
    folder
        Made when missing.
    repo
        ``OWNER/NAME``.
    """

    def __init__(self, folder: Path, repo: str) -> None:
        self.folder = folder
        self.note = Note(repo=repo)

    @contextmanager
    def open(self, say: Callable[[str], None]) -> Iterator[Destination]:
        """Hold the folder alone; give it, with the note of what is in it.

        Raises
        ------
        InputError
            If the folder cannot be used, or holds what is not from this repository.
        """
        from filelock import FileLock, Timeout

        try:
            make_folder(self.folder)
            lock = FileLock(self.folder / LOCK)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                say(f"another download into {self.folder} is running: waiting for it to end")
                lock.acquire(poll_interval=0.1)
        except OSError as error:
            raise InputError(
                f"{self.folder} cannot be used: {error.strerror or error}",
                hint="Choose another destination; without one, COURSE_STATE says where it is.",
            ) from error
        try:
            self._read_note()
            yield self
        finally:
            # What this run, or an earlier one, left half-written.
            for part in self.folder.glob(f"{_PART}*"):
                with suppress(OSError):
                    part.unlink()
            lock.release()

    def read(self, path: str) -> bytes | None:
        """Return what the folder holds at a path; None where it has no file."""
        try:
            return (self.folder / path).read_bytes()
        except OSError:
            return None

    def write(self, path: str, content: bytes) -> None:
        """Put a file in its place, whole or not at all."""
        target = self.folder / path
        if not is_inside(self.folder, target.parent):
            raise OSError(None, "a link on the way leads out of the destination")
        target.parent.mkdir(parents=True, exist_ok=True)
        part = self.folder / f"{_PART}{secrets.token_hex(8)}"
        part.write_bytes(content)
        os.replace(part, target)

    def remove(self, path: str) -> None:
        """Delete a file that we wrote, and the folders that it leaves empty."""
        place = self.folder / path
        if not is_inside(self.folder, place.parent):
            return
        with suppress(OSError):
            place.unlink(missing_ok=True)
            for folder in place.parents:
                if folder == self.folder:
                    break
                folder.rmdir()

    def save(self, files: dict[str, str], pointers: Iterable[str]) -> None:
        """Note which files are ours, and which contents only point to Git LFS.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        self.note = Note(repo=self.note.repo, files=files, pointers=sorted(pointers))
        with told_if_not_written(self.folder, "Check the permissions and the free space."):
            self.write(NOTE, self.note.model_dump_json(indent=1).encode())

    def _read_note(self) -> None:
        try:
            text = (self.folder / NOTE).read_bytes()
        except FileNotFoundError:
            names = sorted(one.name for one in self.folder.iterdir())
            others = [one for one in names if one != LOCK and not one.startswith(_PART)]
            if others:
                raise InputError(
                    f"{self.folder} holds files that no download wrote, such as {others[0]}",
                    hint="Choose an empty folder, or one that does not exist yet.",
                ) from None
            return
        try:
            note = Note.model_validate_json(text)
            if any(map(why_refused, note.files)):
                raise ValueError("it names a file that we would not have written")
        except ValueError as error:
            raise InputError(
                f"{self.folder / NOTE} cannot be read: {error}",
                hint=f"Remove {self.folder} and download again.",
            ) from error
        if note.repo.lower() != self.note.repo.lower():
            raise InputError(
                f"{self.folder} holds {note.repo}, not {self.note.repo}",
                hint="Give each repository a destination of its own.",
            )
        self.note = note
