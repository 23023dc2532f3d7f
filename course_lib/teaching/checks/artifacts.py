"""Calls of lab 11's step that writes a file: an old file is there, and attempts are stopped.

Only functions of Python's C code change files. So after each of their calls, the file is looked at.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import get_ident
from typing import Any
from unittest.mock import patch

OLD = "old"
"""What is in the file before, where there is one."""
RENAMING = "the rename"
"""Where an attempt can end that has made all its lines."""


def writing(
    answer: Any,
    lines: Mapping[str, Sequence[str]],
    shard: str,
    old: bool = False,
    fails: str = "",
    beside: bool = False,
    windows: bool = False,
) -> dict[str, Any]:
    """Call a function as `write_shard`, and return what it did.

    Parameters
    ----------
    answer
        The function.
    lines, shard
        Its arguments.
    old
        Whether the file is there already.
    fails
        The name whose lines end with an error in a first attempt, or `RENAMING`; then there is a
        second one, of another process. It also finds what was beside the file at the error: a kill
        leaves that, since it runs no `except`.
    beside
        Whether another shard's file is written into the folder at the same time, and another file
        is there.
    windows
        Whether lines end as on Windows where nothing else is said.

    Examples
    --------
    >>> from course_lib.loader.shards import write_shard
    >>> done = writing(write_shard, {"b.md": ["Figs."], "a.md": ["Apples."]}, "0/2", old=True)
    >>> done["file"], done["names whose lines were made"], done["the old file itself"]
    (['Figs.'], ['b.md'], 'as it was')
    >>> done["file at any moment"], done["the new file"]
    ('the old or the whole new one', 'made beside it')
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        path, kept = folder / "shard.0", folder / "kept"
        other, notes = folder / "shard.1", folder / "notes.part"
        if old:
            path.write_text(f"{OLD}\n", encoding="utf-8", newline="\n")
            os.link(path, kept)  # what is written into the file itself is seen here
        if beside:
            notes.write_text("notes\n", encoding="utf-8", newline="\n")
        known = (path, kept, other, notes)
        made: list[str] = []
        seen: list[Any] = []
        left: dict[Path, bytes] = {}
        elsewhere = False

        def stop() -> None:
            left.update(files_of(folder, known))
            raise OSError("the disk is full")

        def making(name: str, error: str) -> Iterator[str]:
            made.append(name)
            yield from lines[name]
            if name == error:
                stop()

        def attempt(error: str) -> Any:
            def look(_: Any, event: str, function: Any) -> None:
                nonlocal elsewhere
                if event == "c_return" and seen[-1:] != [now := lines_of(path)]:
                    seen.append(now)
                if event == "c_call" and function in (os.rename, os.replace):
                    elsewhere = elsewhere or not files_of(folder, known)
                    if beside:
                        answer(other, {"z.md": ["Others."]}, "0/1")
                    if error == RENAMING:
                        stop()

            before = sys.getprofile()
            with another_machine(os.getpid() + (not error), "\r\n" if windows else "\n"):
                sys.setprofile(look)
                try:
                    return answer(path, {name: making(name, error) for name in lines}, shard)
                finally:
                    sys.setprofile(before)

        done: dict[str, Any] = {"other files": []}
        if fails:
            try:
                attempt(fails)
                done["the first attempt"] = "no exception"
            except OSError:
                done["the first attempt"] = "the error went on"
            done["file after the first attempt"] = lines_of(path)
            made.clear()
            put_back(left)
        done["returned"] = attempt("")
        done["file"] = lines_of(path)
        done["names whose lines were made"] = list(dict.fromkeys(made))
        if old:
            others = [one for one in seen if one not in ([OLD], done["file"])]
            done["file at any moment"] = others[0] if others else "the old or the whole new one"
            done["the new file"] = "made in another folder" if elsewhere else "made beside it"
            done["the old file itself"] = "as it was" if lines_of(kept) == [OLD] else lines_of(kept)
        if beside:
            done |= {"the other shard's file": lines_of(other), notes.name: lines_of(notes)}
        done["other files"] = sorted(one.name for one in folder.iterdir() if one not in known)
        return done


@contextmanager
def another_machine(process: int, ends: str) -> Iterator[None]:
    """Have another process id, and write ASCII and these ends of lines where nothing is said."""
    plain, number, here = io.open, os.getpid, get_ident()

    def getpid() -> int:  # a notebook prints in another thread, which asks for it, too
        return process if get_ident() == here else number()

    def opened(file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None,
               errors: Any = None, newline: Any = None, **named: Any) -> Any:  # fmt: skip
        if "b" not in mode:
            encoding = "ascii" if encoding in (None, "locale") else encoding
            newline = ends if newline is None and "r" not in mode else newline
        return plain(file, mode, buffering, encoding, errors, newline, **named)

    with (
        patch("os.getpid", getpid),
        patch("os.fsync", lambda _: None),  # right, but slow
        patch("io.text_encoding", lambda encoding, *_: encoding or "locale"),
        patch("io.open", opened),
        patch("builtins.open", opened),
    ):
        yield


def files_of(folder: Path, known: Collection[Path]) -> dict[Path, bytes]:
    """Return the files of a folder and of those in it, without the known ones."""
    there = (one for one in folder.rglob("*") if one not in known and one.is_file())
    return {one: one.read_bytes() for one in there}


def put_back(files: Mapping[Path, bytes]) -> None:
    """Write those files that are not there any more."""
    for path, what in files.items():
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(what)


def lines_of(path: Path) -> list[str] | str:
    """Return the lines of a file, and say if the last one has no end."""
    if not path.exists():
        return "no file"
    *lines, rest = path.read_bytes().decode("utf-8", "replace").split("\n")
    return [*lines, f"{rest} (without a line feed at the end)"] if rest else lines
