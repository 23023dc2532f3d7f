"""Reading documents: a directory goes in, `Document` records come out, in the order of their names.

What cannot be read as text is left out with its reason, one file at a time: a stray image among a
thousand pages should neither stop a run nor go unsaid.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from course_lib.errors import InputError
from course_lib.files import files_below, read_file
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
        Called with each file that was left out and the reason; a folder that cannot be looked into
        has a slash at the end of its name.

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
    for path in _files(base, report):
        name = _name(path, base)
        if not name.lower().endswith(wanted):
            continue
        try:
            raw = read_file(path, max_bytes, None if path == base else inside)
            content = _text(raw)
            name.encode("utf-8")
            if "\\" in name:
                raise ValueError("has a backslash in its name")
        except (ValueError, OSError) as error:
            report(Skipped(_printable(name), _reason(error)))
            continue
        metadata = {"extension": path.suffix.lower(), "size": len(raw), "relative_path": name}
        documents.append(Document(path, name, content, metadata))
    return sorted(documents, key=lambda document: document.name)


def _files(base: Path, report: Callable[[Skipped], None]) -> Iterator[Path]:
    if not base.is_dir():
        yield base
        return

    def report_folder(error: OSError) -> None:
        folder = Path(error.filename)
        if folder == base:
            raise InputError(f"{base} {_reason(error)}", hint="Check the path and its permissions.")
        report(Skipped(_printable(_name(folder, base)) + "/", _reason(error)))

    for path in files_below(base, lambda name: not name.startswith("."), report_folder):
        if not path.name.startswith("."):
            yield path


def _name(path: Path, base: Path) -> str:
    return path.name if path == base else path.relative_to(base).as_posix()


def _printable(name: str) -> str:
    return name.encode("utf-8", "replace").decode("utf-8")


def _text(raw: bytes) -> str:
    """Return what a file says; raise ValueError with the reason to leave it out."""
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
