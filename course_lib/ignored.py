"""Which files of a folder are one's own: a folder goes in, its files come out.

What git ignores stays out, and what tools have installed or built. In a repository git says what it
ignores; elsewhere, and where there is no git, the folder's own `.gitignore` files do. What is below
a folder that stays out is not looked at.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from threading import Thread

from pathspec import GitIgnoreSpec

from course_lib.files import NOT_OURS, read_file
from course_lib.records import Skipped, without_surrogates

MOST_BYTES = 1_000_000
"""Bytes of the largest file of patterns that is read."""

MOST_NAMES = 5
"""Names that a sentence lists, at most."""

IGNORED = "is ignored "
"""How each reason begins."""

BY_NAME = f"{IGNORED}by name"


@dataclass(frozen=True, slots=True)
class Ignored(Skipped):
    """What is not one's own; any other file that is left out is a part of the source."""


def own_files(
    root: str | os.PathLike[str],
    on_error: Callable[[OSError], None],
    on_ignored: Callable[[Ignored], None] = lambda ignored: None,
    *,
    no_ignore: bool = False,
) -> Iterator[Path]:
    """Yield the files in a folder and those below it, without hidden and ignored ones.

    Ignored are folders of the names in `NOT_OURS`; in a repository, what git would ignore if it
    tracked nothing yet; elsewhere, what the `.gitignore` files of the folder and of those below it
    name. A repository within a folder has its own patterns alone. Links to folders are not
    followed.

    Parameters
    ----------
    root
        The folder. Whether it is itself ignored does not count.
    on_error
        Called where a folder, or a file with its patterns, cannot be read. Nothing that is in the
        folder is yielded then.
    on_ignored
        Called with what is ignored: with a folder, and not with what is in it.
    no_ignore
        Whether nothing is ignored.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, text in {"a.md": "", "b.md": "", ".gitignore": "b.*"}.items():
    ...     _ = (folder / name).write_text(text, encoding="utf-8")
    >>> [file.name for file in own_files(folder, print, lambda one: print(one.name, one.reason))]
    b.md is ignored by .gitignore
    ['a.md']
    """
    base = os.path.realpath(root)
    rules: dict[str, _Git | _Patterns] = {}
    with ExitStack() as stack:
        for folder, folders, names in os.walk(root, onerror=on_error):
            place = os.path.normpath(os.path.join(base, os.path.relpath(folder, root)))
            inside = [f"{one}/" for one in folders if not os.path.islink(os.path.join(place, one))]
            found = sorted(name for name in [*inside, *names] if not name.startswith("."))
            try:
                judge = None if no_ignore else _rules_in(place, rules.pop(folder, None), stack)
                reasons = _reasons(place, found, judge)
            except OSError as error:
                folders.clear()
                on_error(OSError(error.errno, error.strerror, folder))
                continue
            folders.clear()
            for name, reason in zip(found, reasons, strict=True):
                if reason:
                    shown = os.path.relpath(os.path.join(place, name), base).replace(os.sep, "/")
                    shown += "/" * name.endswith("/")
                    on_ignored(Ignored(without_surrogates(shown), reason))
                elif name.endswith("/"):
                    folders.append(name[:-1])
                    if judge:
                        rules[os.path.join(folder, name[:-1])] = judge
                else:
                    yield Path(folder, name)


def without_ignored(skipped: Iterable[Skipped]) -> tuple[list[Skipped], list[Ignored]]:
    """Return what is a part of the source and was left out, and what is ignored.

    Examples
    --------
    >>> without_ignored([Skipped("a.md", "is not UTF-8"), Ignored("venv/", BY_NAME)])[0]
    [Skipped(name='a.md', reason='is not UTF-8')]
    """
    given = list(skipped)
    ignored = [one for one in given if isinstance(one, Ignored)]
    return [one for one in given if not isinstance(one, Ignored)], ignored


def ignored_in_words(ignored: Iterable[Ignored]) -> str:
    """Return how many files and folders are ignored, and why; empty where there are none.

    Examples
    --------
    >>> found = [Ignored("a/venv/", BY_NAME), Ignored("b.log", "is ignored by .gitignore")]
    >>> ignored_in_words(found)
    '1 file by .gitignore (b.log); 1 folder by name (venv)'
    """

    def by_reason(one: Ignored) -> str:
        return one.reason

    parts = []
    for reason, group in groupby(sorted(ignored, key=by_reason), key=by_reason):
        names = [one.name for one in group]
        folders = sum(name.endswith("/") for name in names)
        kinds = ((len(names) - folders, "file"), (folders, "folder"))
        what = " and ".join(f"{n:,} {kind}{'s' * (n > 1)}" for n, kind in kinds if n)
        last = list(dict.fromkeys(name.rstrip("/").rpartition("/")[2] for name in names))
        listed = ", ".join(last[:MOST_NAMES]) + ", …" * (len(last) > MOST_NAMES)
        parts.append(f"{what} {reason.removeprefix(IGNORED)} ({listed})")
    return "; ".join(parts)


def _reasons(folder: str, names: Sequence[str], rules: _Git | _Patterns | None) -> list[str]:
    """Return for each name in a folder why it is left out; empty where it is not."""
    if rules is None:
        return [""] * len(names)
    files = rules.ignoring(folder, names)
    return [
        BY_NAME
        if name.endswith("/") and name[:-1] in NOT_OURS
        else f"{IGNORED}by {file}" * bool(file)
        for name, file in zip(names, files, strict=True)
    ]


def _rules_in(folder: str, above: _Git | _Patterns | None, stack: ExitStack) -> _Git | _Patterns:
    """Return what says which names in a folder are ignored.

    Parameters
    ----------
    folder
        With links resolved.
    above
        The rules of the folder that it is in; None where a walk begins.
    stack
        Ends the processes of git.

    Raises
    ------
    OSError
        If a file with patterns is there and cannot be read.
    """
    is_top = os.path.lexists(os.path.join(folder, ".git"))
    if above is None or is_top:
        try:
            git = stack.enter_context(_Git(folder))
            (ignores,) = git.ignoring(folder, ["."])
            if is_top or not ignores:  # who names a folder wants it
                return git
        except OSError:
            pass  # no git, or no repository of its
        above = _Patterns()
    return above if isinstance(above, _Git) else above.with_those_in(folder)


class _Git:
    """A process of git, which says of one path after the other whether it is ignored.

    It looks only at files with patterns, and runs no program that a repository's settings name.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        settings = ("safe.directory=*", "core.fsmonitor=false")
        words = ("check-ignore", "-z", "--verbose", "--non-matching", "--no-index", "--stdin")
        self.process = subprocess.Popen(
            ["git", *(word for one in settings for word in ("-c", one)), "-C", folder, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
        )

    def __enter__(self) -> _Git:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()

    def ignoring(self, folder: str, names: Iterable[str]) -> list[str]:
        """Return for each name in a folder the file of patterns that ignores it, or nothing.

        Raises
        ------
        OSError
            If git gives no answer.
        """
        below = "./" + os.path.relpath(folder, self.folder).replace(os.sep, "/")
        asked = b"".join(os.fsencode(f"{below}/{name.rstrip('/')}\0") for name in names)
        # It answers while it still reads: two full pipes would wait for each other.
        writer = Thread(target=self._send, args=[asked])
        writer.start()
        wanted, said = 4 * asked.count(b"\0"), []
        assert self.process.stdout
        while wanted > 0:
            if not (more := os.read(self.process.stdout.fileno(), 1 << 16)):
                raise OSError(errno.EIO, "git does not say what it ignores")
            said.append(more)
            wanted -= more.count(b"\0")
        writer.join()
        fields = os.fsdecode(b"".join(said)).split("\0")
        return [
            "" if pattern.startswith("!") else file if file[-11:] != "/.gitignore" else ".gitignore"
            for file, pattern in zip(fields[0::4], fields[2::4], strict=False)
        ]

    def _send(self, asked: bytes) -> None:
        assert self.process.stdin
        with suppress(OSError):  # it ended
            self.process.stdin.write(asked)
            self.process.stdin.flush()


@dataclass(frozen=True, slots=True)
class _Patterns:
    """What the `.gitignore` files of a folder and of those above it name; the last counts most."""

    files: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def ignoring(self, folder: str, names: Iterable[str]) -> list[str]:
        """Return for each name in a folder the file of patterns that ignores it, or nothing."""
        return [".gitignore" * self._ignores(f"{folder}{os.sep}{name}") for name in names]

    def _ignores(self, path: str) -> bool:
        for base, patterns in reversed(self.files):
            below = path[len(base) :].replace(os.sep, "/").lstrip("/")
            if (ignores := patterns.check_file(below).include) is not None:
                return ignores
        return False

    def with_those_in(self, folder: str) -> _Patterns:
        """Return these with the patterns of one more folder, if it has any.

        Raises
        ------
        OSError
            If they cannot be read.
        """
        file = os.path.join(folder, ".gitignore")
        # Like git, which follows no link here: it could lead out of the repository.
        if os.path.islink(file) or not os.path.isfile(file):
            return self
        try:
            text = read_file(Path(file), MOST_BYTES).decode("utf-8-sig", "surrogateescape")
            patterns = GitIgnoreSpec.from_lines(text.splitlines())
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise OSError(errno.EIO, f"{file}, which says what is ignored in it: {why}") from error
        return _Patterns((*self.files, (folder, patterns)))
