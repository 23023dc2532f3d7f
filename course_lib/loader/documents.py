"""Reading documents: a directory goes in, `Document` records come out, in the order of their names.

What cannot be read as text is left out with its reason, one file at a time: a stray image among a
thousand pages is no reason to stop, and no reason to be silent either.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from course_lib.errors import InputError
from course_lib.records import Document, Skipped

EXTENSIONS = (".md", ".txt")
MAX_BYTES = 20_000_000


def read_documents(
    root: str | os.PathLike[str],
    extensions: Sequence[str] = EXTENSIONS,
    *,
    max_bytes: int = MAX_BYTES,
    on_skip: Callable[[Skipped], None] | None = None,
) -> list[Document]:
    """Read all documents below a directory.

    Files and folders whose names begin with a dot are not looked at. Links are followed to files
    inside the root, and nowhere else.

    Parameters
    ----------
    root
        A directory, or one file.
    extensions
        Which files to read, by the ending of their names, with the dot, in any case.
    max_bytes
        Larger files are left out.
    on_skip
        Called with each file that was left out and the reason.

    Returns
    -------
    list of Document
        Sorted by name. `content` keeps its line endings; a byte order mark is taken off.

    Raises
    ------
    InputError
        If there is no such directory or file.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.md").write_bytes(b"# Title")
    >>> [(document.name, document.content) for document in read_documents(folder)]
    [('a.md', '# Title')]
    """
    base = Path(root)
    if not base.exists():
        raise InputError(
            f"{base} does not exist", hint="Check the path; it is relative to the current folder."
        )
    report = on_skip or (lambda skipped: None)
    wanted = tuple(extension.lower() for extension in extensions)
    documents = []
    for path in _files(base):
        name = path.name if base.is_file() else path.relative_to(base).as_posix()
        if not name.lower().endswith(wanted):
            continue
        try:
            content, size = _read_text(path, base, max_bytes)
            name.encode("utf-8")
        except (ValueError, OSError) as error:
            report(Skipped(name.encode("utf-8", "replace").decode("utf-8"), _reason(error)))
            continue
        metadata = {"extension": path.suffix.lower(), "size": size, "relative_path": name}
        documents.append(Document(path, name, content, metadata))
    return sorted(documents, key=lambda document: document.name)


def _files(base: Path) -> Iterator[Path]:
    if base.is_file():
        yield base
        return
    for folder, folders, files in os.walk(base):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if not name.startswith("."):
                yield Path(folder, name)


def _read_text(path: Path, base: Path, max_bytes: int) -> tuple[str, int]:
    """Return the text and its size in bytes; raise ValueError with the reason to leave it out."""
    if path.is_symlink() and base.is_dir() and not path.resolve().is_relative_to(base.resolve()):
        raise ValueError("is a link that leads out of the directory")
    if not path.is_file():
        raise ValueError("is not a regular file")
    size = path.stat().st_size
    if size > max_bytes:
        raise ValueError(f"has {size / 1e6:.1f} MB; the limit is {max_bytes / 1e6:.1f} MB")
    raw = path.read_bytes()
    nul = raw.find(b"\0")
    if nul >= 0:
        raise ValueError(f"has a NUL byte at offset {nul}: not a text, or not in UTF-8")
    return raw.decode("utf-8-sig"), size


def _reason(error: ValueError | OSError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"is not UTF-8: byte 0x{error.object[error.start]:02x} at offset {error.start}"
    if isinstance(error, UnicodeEncodeError):
        return "has a name that is not valid Unicode"
    if isinstance(error, OSError):
        return f"cannot be read: {error.strerror or error}"
    return str(error)
