"""The destination: files of a repository below a folder, and a note of what they are.

The note says which commit the folder holds and which files in it are ours, so that the next
download takes only what changed, and removes nothing that it did not write.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from course_lib.errors import InputError
from course_lib.loader.github.names import OWN_FILES, is_inside, why_refused
from course_lib.loader.github.tree import blob_sha
from course_lib.records import Skipped
from course_lib.settings import make_folder

NOTE, LOCK = OWN_FILES
_PART = ".github-download-part-"


@dataclass(frozen=True, slots=True)
class Note:
    """What a folder holds.

    Attributes
    ----------
    version
        Of the note's own form.
    repo, ref, commit, web, etag
        Where it is from; see `Revision`.
    selection
        What was asked for: extensions and paths.
    files
        Path → hash, of all files in the folder that are ours.
    skipped, failed
        What was left out, and what could not be had.
    is_complete
        Whether the folder holds all that was asked for.
    """

    repo: str
    version: Literal[1] = 1
    ref: str = ""
    commit: str = ""
    web: str = ""
    etag: str = ""
    selection: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    files: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    failed: tuple[Skipped, ...] = ()
    is_complete: bool = False


_NOTE = TypeAdapter(Note)


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
        self.repo = repo

    @contextmanager
    def open(self, say: Callable[[str], None]) -> Iterator[tuple[Destination, Note]]:
        """Hold the folder alone; give it, and the note of what is in it.

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
            note = self._read_note()
            self._sweep()
            yield self, note
        finally:
            self._sweep()
            lock.release()

    def has(self, path: str, sha: str) -> bool:
        """Return whether the folder holds this very content at a path."""
        try:
            return blob_sha(self.read(path)) == sha
        except OSError:
            return False

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        return self._place(path).read_bytes()

    def write(self, path: str, content: bytes) -> None:
        """Put a file in its place, whole or not at all."""
        target = self._place(path)
        if not is_inside(self.folder, target.parent):
            raise OSError(None, "a link on the way leads out of the destination")
        target.parent.mkdir(parents=True, exist_ok=True)
        self._put(target, content)

    def remove(self, path: str) -> None:
        """Delete a file that we wrote, and the folders that it leaves empty."""
        place = self._place(path)
        if not is_inside(self.folder, place.parent):
            return
        with suppress(OSError):
            place.unlink(missing_ok=True)
        for folder in place.parents:
            if folder == self.folder:
                break
            try:
                folder.rmdir()
            except OSError:
                break

    def save(self, note: Note) -> None:
        """Write the note.

        Raises
        ------
        InputError
            If it cannot be written.
        """
        try:
            self._put(self.folder / NOTE, _NOTE.dump_json(note, indent=1) + b"\n")
        except OSError as error:
            raise InputError(
                f"{self.folder} cannot be written: {error.strerror or error}",
                hint="Check the permissions and the free space.",
            ) from error

    def _put(self, target: Path, content: bytes) -> None:
        part = self.folder / f"{_PART}{secrets.token_hex(8)}"
        part.write_bytes(content)
        os.replace(part, target)

    def _place(self, path: str) -> Path:
        return self.folder.joinpath(*path.split("/"))

    def _read_note(self) -> Note:
        try:
            text = (self.folder / NOTE).read_bytes()
        except FileNotFoundError:
            others = sorted(one.name for one in self.folder.iterdir() if not _is_own(one.name))
            if others:
                raise InputError(
                    f"{self.folder} holds files that no download wrote, such as {others[0]}",
                    hint="Choose an empty folder, or one that does not exist yet.",
                ) from None
            return Note(self.repo)
        try:
            note = _NOTE.validate_json(text)
            if any(map(why_refused, note.files)):
                raise ValueError("it names a file that we would not have written")
        except ValueError as error:
            raise InputError(
                f"{self.folder / NOTE} cannot be read: {error}",
                hint=f"Remove {self.folder} and download again.",
            ) from error
        if note.repo.lower() != self.repo.lower():
            raise InputError(
                f"{self.folder} holds {note.repo}, not {self.repo}",
                hint="Give each repository a destination of its own.",
            )
        return note

    def _sweep(self) -> None:
        """Remove what an earlier run left half-written."""
        for part in self.folder.glob(f"{_PART}*"):
            with suppress(OSError):
                part.unlink()


def _is_own(name: str) -> bool:
    return name in OWN_FILES or name.startswith(_PART)
