"""Reading documents: a directory goes in, `Document` records come out, in the order of their names.

What cannot be read as text is left out with its reason, one file at a time: a stray image among a
thousand pages should neither stop a run nor go unsaid.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from course_lib.errors import InputError
from course_lib.files import read_file
from course_lib.ignored import own_files
from course_lib.records import Document, Skipped, without_surrogates

EXTENSIONS = (".md", ".txt")
MAX_BYTES = 20_000_000
POINTER = "is a pointer to Git LFS, where the file itself is"
"""Why a file is left out that stands for a large one which is stored elsewhere."""

_LFS_MARK = b"version https://git-lfs.github.com/spec/"
_MOST_POINTER_BYTES = 1023


def read_documents(
    root: str | os.PathLike[str],
    extensions: Sequence[str] = EXTENSIONS,
    *,
    max_bytes: int = MAX_BYTES,
    on_skip: Callable[[Skipped], None] | None = None,
    no_ignore: bool = False,
) -> list[Document]:
    """Read all documents below a directory.

    Files and folders whose names begin with a dot are not looked at, and those that `own_files`
    ignores are left out. Links are followed to files inside the root, and nowhere else.

    Parameters
    ----------
    root
        A directory, or one file.
    extensions
        Which files of a directory to read, by the ending of their names, with the dot, in any case.
        One file is read whatever its name ends in.
    max_bytes
        Larger files are left out.
    on_skip
        Called with each file that was left out and the reason; a folder that cannot be looked into
        has a slash at the end of its name. What is ignored comes as `Ignored`.
    no_ignore
        Whether to read what would be ignored as well.

    Returns
    -------
    list of Document
        Sorted by name. `content` keeps its line endings; a byte order mark is taken off.

    Raises
    ------
    InputError
        If there is no such directory or file, or it cannot be looked into.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.md").write_bytes(b"# Title")
    >>> [(document.name, document.content) for document in read_documents(folder)]
    [('a.md', '# Title')]
    """
    base = Path(root)
    try:
        base.stat()
        inside = os.path.realpath(base)  # unlike Path.resolve, it takes a link that leads to itself
    except (OSError, ValueError) as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else _reason(error)
        raise InputError(
            f"{base} {reason}", hint="Check the path; it is relative to the current folder."
        ) from error
    report = on_skip or (lambda skipped: None)
    wanted = tuple(extension.lower() for extension in extensions)
    documents = []
    for path in _files(base, report, no_ignore):
        name = _name(path, base)
        if path != base and not name.lower().endswith(wanted):
            continue
        try:
            raw = read_file(path, max_bytes, None if path == base else inside)
            content = _text(raw)
            name.encode("utf-8")
            if "\\" in name:
                raise ValueError("has a backslash in its name")
        except (ValueError, OSError) as error:
            report(Skipped(without_surrogates(name), _reason(error)))
            continue
        metadata = {"extension": path.suffix.lower(), "size": len(raw), "relative_path": name}
        documents.append(Document(path, name, content, metadata))
    return sorted(documents, key=lambda document: document.name)


def is_pointer(raw: bytes) -> bool:
    r"""Tell whether a file's content is what Git LFS leaves in a repository in place of the file.

    Examples
    --------
    >>> is_pointer(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    True
    >>> is_pointer(b"The first line is: version https://git-lfs.github.com/spec/v1")
    False
    """
    return raw.startswith(_LFS_MARK) and len(raw) <= _MOST_POINTER_BYTES


def _files(base: Path, report: Callable[[Skipped], None], no_ignore: bool) -> Iterator[Path]:
    if not base.is_dir():
        yield base
        return

    def report_folder(error: OSError) -> None:
        folder = Path(error.filename)
        if folder == base:
            raise InputError(f"{base} {_reason(error)}", hint="Check the path and its permissions.")
        report(Skipped(without_surrogates(_name(folder, base)) + "/", _reason(error)))

    yield from own_files(base, report_folder, report, no_ignore=no_ignore)


def _name(path: Path, base: Path) -> str:
    return path.name if path == base else path.relative_to(base).as_posix()


def _text(raw: bytes) -> str:
    """Return what a file says; raise ValueError with the reason to leave it out."""
    if is_pointer(raw):
        raise ValueError(POINTER)
    nul = raw.find(b"\0")
    if nul >= 0:
        raise ValueError(f"has a NUL byte at offset {nul}: not a text, or not in UTF-8")
    return raw.decode("utf-8-sig")


def _reason(error: ValueError | OSError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"is not UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start}"
    if isinstance(error, UnicodeEncodeError):
        return "has a name that is not valid Unicode"
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    return str(error)
