"""The file on disk: read to the byte, and written so that what was there is never lost.

A model sees text; the disk holds bytes. What is between them (line ends, the last line end, a byte
order mark, the mode) is taken from the file as it was, and never from the model. Only UTF-8 with
one kind of line end is edited.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from course_lib.errors import CourseError
from course_lib.files import replacing

MOST_BYTES = 1_000_000
_LEFT = "The file was left as it is."
_BOM = "\ufeff"


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
    end
        The end of each line.
    """

    root: Path
    name: str
    raw: bytes
    text: str
    end: str

    def with_text(self, text: str) -> bytes:
        r"""Return a new text as bytes, with the old one's line ends and byte order mark.

        Raises
        ------
        EditError
            If the text could not be read as a file to edit again: it holds NUL, or is too large.
        """
        # A file without a last line end stays one.
        if self.text and not self.text.endswith("\n"):
            text = text.removesuffix("\n")
        mark = _BOM if self.raw.startswith(_BOM.encode()) else ""
        raw = (mark + text.replace("\n", self.end)).encode("utf-8", "replace")
        if b"\0" in raw:
            raise EditError("the answer holds NUL: it is not text", hint=f"{_LEFT} Ask again.")
        if len(raw) > MOST_BYTES:
            hint = f"{_LEFT} The most is {MOST_BYTES:,}; ask for less."
            raise EditError(f"the answer has {len(raw):,} bytes", hint=hint)
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
    top = run_git(Path.cwd(), "rev-parse", "--show-toplevel")
    return Path(os.fsdecode(top).rstrip("\r\n")).resolve() if top else Path.cwd().resolve()


def read_original(path: Path, root: Path) -> Original:
    """Read a file that is to be edited.

    Raises
    ------
    EditError
        If it is not a regular file in the root (links followed), is in git's own folder, is larger
        than 1 MB, is not UTF-8, or has several kinds of line ends.
    """
    try:
        real = path.resolve(strict=True)
        status = real.stat()
        raw = real.read_bytes() if status.st_size <= MOST_BYTES and real.is_file() else b""
    except (OSError, RuntimeError) as error:
        raise EditError(f"{path} cannot be read: {error}", hint="Check the path.") from error
    base = root.resolve()
    if not real.is_relative_to(base):
        hint = "Run this in that file's repository, or set RAG_REPO_ROOT."
        raise EditError(f"{path} is outside the repository {base}", hint=hint)
    name = real.relative_to(base).as_posix()
    if ".git" in Path(name.casefold()).parts:
        raise EditError(f"{name} is git's own", hint="Edit files of the repository only.")
    if not real.is_file():
        raise EditError(f"{name} is not a regular file", hint="Edit one file at a time.")
    if status.st_size > MOST_BYTES:
        hint = f"The most is {MOST_BYTES:,}; edit a part."
        raise EditError(f"{name} has {status.st_size:,} bytes", hint=hint)
    try:
        text = raw.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        where = f"byte 0x{raw[error.start]:02x} at offset {error.start}"
        raise EditError(f"{name} is not UTF-8: {where}", hint="Save it as UTF-8.") from error
    if "\0" in text:
        raise EditError(f"{name} holds NUL: it is not text", hint="Only texts are edited.")
    # A form feed or U+2028 ends no line here, unlike in str.splitlines.
    ends = set(re.findall(r"\r\n|\r|\n", text)) or {"\n"}
    if len(ends) > 1:
        raise EditError(f"{name} has several kinds of line ends", hint="Save it with one kind.")
    (end,) = ends
    return Original(base, name, raw, text.replace(end, "\n"), end)


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
    if not run_git(folder, "ls-files", "-z", "--", f":(literal){name}"):
        raise EditError(f"{original.name} is not under git's control", hint=hint)
    # By content: flags and times may say that a file is as it was.
    committed = run_git(folder, "rev-parse", "--verify", "--quiet", f"HEAD:./{name}")
    hashing = ("hash-object", f"--path={name}", "--stdin")
    now = run_git(folder, *hashing, data=original.raw, settings=_without_filters(folder))
    if committed is None or committed != now:
        raise EditError(f"{original.name} has changes that are not committed", hint=hint)


def write_edited(original: Original, raw: bytes) -> None:
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
            raise OSError("a folder on the way to it is a link by now")
        status = path.stat()
        # Without set-user-ID: what a model wrote runs as whoever starts it.
        with replacing(path, status.st_mode & 0o777) as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
            with suppress(OSError, AttributeError):  # Windows has no owners
                os.fchown(file.fileno(), status.st_uid, status.st_gid)
            if path.read_bytes() != original.raw:
                why = f"{original.name} was changed by somebody else in the meantime"
                raise EditError(why, hint=f"{_LEFT} Run the command again.")
    except OSError as error:
        why = f"{original.name} cannot be written: {error.strerror or error}"
        raise EditError(why, hint=_LEFT) from error


def _without_filters(folder: Path) -> dict[str, str]:
    """Return the settings that turn off git's filters, which are programs of the repository's own.

    What git does itself, such as to line ends, stays on.
    """
    found = run_git(folder, "config", "--null", "--name-only", "--get-regexp", "^filter[.]") or b""
    names = {os.fsdecode(key).rpartition(".")[0] for key in found.split(b"\0") if key}
    off = {"clean": "", "process": "", "required": "false"}
    return {f"{name}.{key}": value for name in names for key, value in off.items()}


def run_git(
    folder: Path, *words: str, data: bytes = b"", settings: Mapping[str, str] | None = None
) -> bytes | None:
    """Return what git says, None where it fails or is not there.

    A repository's own configuration can name programs: none of them is run.
    """
    # Nothing is fetched: not even what a partial clone leaves out.
    own = {"GIT_ALLOW_PROTOCOL": "none", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    given = {"core.fsmonitor": "false", **(settings or {})}
    for number, (name, value) in enumerate(given.items()):
        own |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    own["GIT_CONFIG_COUNT"] = str(len(given))
    others = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-C", str(folder), *words]
    try:
        done = subprocess.run(
            command, input=data, env=others | own, capture_output=True, timeout=60, check=True
        )
        return done.stdout
    except (OSError, subprocess.SubprocessError):
        return None
