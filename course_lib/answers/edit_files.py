"""The file on disk: read to the byte, and written so that what was there is never lost.

A model sees text; the disk holds bytes. What is between them — encoding, line ends, the last line
end, mode — is taken from the file as it was, and never from the model.
"""

from __future__ import annotations

import codecs
import difflib
import io
import os
import re
import stat
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from course_lib.errors import CourseError

MOST_BYTES = 1_000_000
_LEFT = "The file was left as it is."
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class EditError(CourseError):
    """The answer is not an edited file, or the file may not be changed; it was left as it is."""


@dataclass(frozen=True, slots=True)
class Original:
    r"""A file as it was read.

    Attributes
    ----------
    root
        The repository's folder, links followed.
    name
        Its path relative to the repository's root, with forward slashes.
    raw
        Its bytes.
    text
        Its text, with ``\n`` for every line end.
    mark
        The byte order mark before the text, if there is one.
    encoding
        As Python calls it.
    line_ends
        Each in turn.
    """

    root: Path
    name: str
    raw: bytes
    text: str
    mark: bytes
    encoding: str
    line_ends: tuple[str, ...]

    def with_text(self, text: str) -> bytes:
        r"""Return a new text as bytes: lines that stay keep their ends, new ones get the usual one.

        Raises
        ------
        EditError
            If the text has a character that the file's encoding lacks, or is none that could be
            read as a file to edit again: it holds NUL, or is too large.
        """
        if "\0" in text:
            raise EditError("the answer holds NUL: it is not text", hint=f"{_LEFT} Ask again.")
        usual = Counter(self.line_ends).most_common(1)
        end = usual[0][0] if usual else "\n"
        old, lines = self.text.split("\n"), text.split("\n")
        ends = [end] * len(lines)
        # With one kind of line end, as nearly everywhere, there is nothing to look up.
        if len(set(self.line_ends)) > 1:
            matcher = difflib.SequenceMatcher(None, old, lines, autojunk=False)
            for _, was, until, start, stop in matcher.get_opcodes():
                if until - was == stop - start:  # lines that stay, or each replaced by another
                    ends[start:stop] = [*self.line_ends, end][was:until]
        # A file without a last line end stays one, and the other way round.
        if text.endswith("\n"):
            lines.pop()
        if self.text and not self.text.endswith("\n"):
            ends[len(lines) - 1] = ""
        joined = "".join(line + after for line, after in zip(lines, ends, strict=False))
        try:
            raw = self.mark + joined.encode(self.encoding)
        except UnicodeEncodeError as error:
            character = error.object[error.start]
            raise EditError(
                f"{self.name} is in {self.encoding}, which has no {character!r}",
                hint=f"{_LEFT} Save it as UTF-8 first.",
            ) from error
        if len(raw) > MOST_BYTES:
            raise EditError(
                f"the answer has {len(raw):,} bytes",
                hint=f"{_LEFT} The most is {MOST_BYTES:,}; ask for less.",
            )
        return raw


def repository_root(given: str | None = None) -> Path:
    """Return the folder outside which nothing is changed.

    Parameters
    ----------
    given
        RAG_REPO_ROOT. Without it, the root of the git repository that the current folder is in; and
        without that one, the current folder.

    Raises
    ------
    EditError
        If the given one is not a folder.
    """
    if given:
        root = Path(given).expanduser()
        if not root.is_dir():
            raise EditError(f"{root} is not a folder", hint="Correct RAG_REPO_ROOT, or unset it.")
        return root.resolve()
    top = _git(Path.cwd(), "rev-parse", "--show-toplevel")
    return Path(os.fsdecode(top).rstrip("\r\n")).resolve() if top else Path.cwd().resolve()


def read_original(path: Path, root: Path) -> Original:
    """Read a file that is to be edited.

    Raises
    ------
    EditError
        If it is not a regular file in the root (links followed), is in git's own folder, is larger
        than 1 MB, or is not text.
    """
    try:
        real = path.resolve(strict=True)
        status = real.stat()
    except (OSError, RuntimeError) as error:
        raise EditError(f"{path} cannot be read: {error}", hint="Check the path.") from error
    base = root.resolve()
    if not real.is_relative_to(base):
        raise EditError(
            f"{path} is outside the repository {base}",
            hint="Run this in that file's repository, or set RAG_REPO_ROOT.",
        )
    name = real.relative_to(base).as_posix()
    if ".git" in Path(name.casefold()).parts:
        raise EditError(f"{name} is git's own", hint="Edit files of the repository only.")
    if not stat.S_ISREG(status.st_mode):
        raise EditError(f"{name} is not a regular file", hint="Edit one file at a time.")
    if status.st_size > MOST_BYTES:
        raise EditError(
            f"{name} has {status.st_size:,} bytes", hint=f"The most is {MOST_BYTES:,}; edit a part."
        )
    try:
        raw = real.read_bytes()
    except OSError as error:
        raise EditError(f"{name} cannot be read: {error.strerror}", hint="Check it.") from error
    mark, encoding = _encoding(name, raw)
    try:
        decoded = raw[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise EditError(
            f"{name} is not {encoding}: byte 0x{error.object[error.start]:02x} at offset "
            f"{error.start}",
            hint="Only texts are edited. Save it as UTF-8.",
        ) from error
    if "\0" in decoded:
        raise EditError(f"{name} holds NUL: it is not text", hint="Only texts are edited.")
    # A form feed or U+2028 ends no line here, unlike in str.splitlines.
    parts = re.split(r"(\r\n|\r|\n)", decoded)
    return Original(base, name, raw, "\n".join(parts[::2]), mark, encoding, tuple(parts[1::2]))


def check_committed(original: Original) -> None:
    """Refuse a file whose present state git could not bring back.

    Raises
    ------
    EditError
        If it has changes that are in no commit, git does not know or ignores it, or there is no
        git repository.
    """
    hint = "Commit it first, or use --force."
    path = original.root / original.name
    folder, name = path.parent, path.name
    if not _git(folder, "ls-files", "-z", "--", f":(literal){name}"):
        raise EditError(f"{original.name} is not under git's control", hint=hint)
    # By content: flags and times may say that a file is as it was.
    committed = _git(folder, "rev-parse", "--verify", "--quiet", f"HEAD:./{name}")
    hashing = ("hash-object", f"--path={name}", "--stdin")
    now = _git(folder, *hashing, data=original.raw, settings=_without_filters(folder))
    if committed is None or committed != now:
        raise EditError(f"{original.name} has changes that are not committed", hint=hint)


def write_atomically(original: Original, raw: bytes) -> None:
    """Put the new bytes where the file was: all of them or none, with its mode and owner.

    Raises
    ------
    EditError
        If it cannot be written, somebody changed it since it was read, or a folder on the way to it
        became a link since.
    """
    path = original.root / original.name
    try:
        if path.resolve(strict=True) != path:
            why = "a folder on the way to it is a link by now"
            raise EditError(f"{original.name} cannot be written: {why}", hint=_LEFT)
        status = path.stat()
        handle, new = tempfile.mkstemp(prefix=".", dir=path.parent)
        try:
            with open(handle, "wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            if sys.platform != "win32":
                with suppress(OSError):
                    os.chown(new, status.st_uid, status.st_gid)
                # Without set-user-ID: what a model wrote runs as whoever starts it.
                os.chmod(new, status.st_mode & 0o777)  # noqa: PTH101
            if path.read_bytes() != original.raw:
                raise EditError(
                    f"{original.name} was changed by somebody else in the meantime",
                    hint=f"{_LEFT} Run the command again.",
                )
            os.replace(new, path)
        finally:
            Path(new).unlink(missing_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        raise EditError(f"{original.name} cannot be written: {why}", hint=_LEFT) from error


def _encoding(name: str, raw: bytes) -> tuple[bytes, str]:
    """Return a file's byte order mark, empty where it has none, and its encoding."""
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            return mark, encoding
    if name.endswith((".py", ".pyi")):
        with suppress(SyntaxError):
            return b"", tokenize.detect_encoding(io.BytesIO(raw).readline)[0]
    return b"", "utf-8"


def _without_filters(folder: Path) -> dict[str, str]:
    """Return the settings that turn off git's filters, which are programs of the repository's own.

    What git does itself, such as to line ends, stays on.
    """
    found = _git(folder, "config", "--null", "--name-only", "--get-regexp", "^filter[.]") or b""
    names = {os.fsdecode(key).rpartition(".")[0] for key in found.split(b"\0") if key}
    return {
        f"{name}.{setting}": value
        for name in names
        for setting, value in {"clean": "", "process": "", "required": "false"}.items()
    }


def _git(
    folder: Path,
    *arguments: str,
    data: bytes | None = None,
    settings: Mapping[str, str] | None = None,
) -> bytes | None:
    """Return what git says, None where it fails or is not there.

    A repository's own configuration can name programs: none of them is run.
    """
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    given = {"core.fsmonitor": "false", **(settings or {})}
    environment |= {"GIT_CONFIG_COUNT": str(len(given))}
    for number, (name, value) in enumerate(given.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    # Nothing is fetched: not even what a partial clone leaves out.
    environment |= {"GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            input=data,
            stdin=subprocess.DEVNULL if data is None else None,
            capture_output=True,
            env=environment,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
