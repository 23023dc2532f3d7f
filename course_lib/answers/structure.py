"""What is where in a repository: a folder goes in, the text of STRUCTURE.md comes out.

A question such as "where are the budgets computed?" has its answer in no single file. This page has
it: the tree of folders, each file with its size, and the heading or docstring of those in Markdown
and Python. It is indexed as chunks of the kind ``structure``, one a folder.
"""

from __future__ import annotations

import ast
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from course_lib.errors import InputError
from course_lib.files import read_file
from course_lib.ignored import own_files

NAME = "STRUCTURE.md"
MOST_CHARACTERS = 120
"""Characters that a file says about itself, at most: they are to be beside its name."""

MOST_BYTES = 2_000_000
"""Larger files are listed with their size and not read."""


@dataclass(frozen=True, slots=True)
class FileLine:
    """A file as it is in the page.

    Attributes
    ----------
    path
        Relative to the root, with forward slashes.
    lines
        How many it has; None for what is not text.
    size
        Bytes.
    says
        What it says about itself, in one line; empty where that is nothing.
    """

    path: str
    lines: int | None
    size: int
    says: str = ""


def structure_text(root: str | os.PathLike[str], name: str | None = None) -> str:
    """Return the page that says what is where in a repository.

    Parameters
    ----------
    root
        A folder. The page has those of its files that `course ingest` would look at.
    name
        What to call the repository; None takes the folder's name.

    Returns
    -------
    str
        Markdown: the counts, the tree of folders, and a section a folder with a line a file. The
        same files give the same page.

    Raises
    ------
    InputError
        If there is no such folder, or no file in it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "cut.md").write_text("# Cut texts.", encoding="utf-8")
    >>> print(structure_text(folder, "demo"))
    # Structure of demo
    <BLANKLINE>
    1 file in 1 folder, 1 line.
    <BLANKLINE>
    ## Folders
    <BLANKLINE>
    - `./` (1 file)
    <BLANKLINE>
    ## `./`
    <BLANKLINE>
    - `cut.md`: Cut texts. (1 line)
    <BLANKLINE>
    """
    base = Path(root)
    if not base.is_dir():
        raise InputError(f"{base} is not a folder", hint="Check the path.")
    files = [_read(base, path) for path in list_files(base)]
    if not files:
        raise InputError(f"there are no files in {base}", hint="Check the path.")
    folders: defaultdict[str, list[FileLine]] = defaultdict(list)
    for file in files:
        folders[f"{PurePosixPath(file.path).parent}/"].append(file)
    lines = _counted(sum(file.lines or 0 for file in files), "line")
    parts = [
        f"# Structure of {shortened(name or base.resolve().name)}",
        f"{_counted(len(files), 'file')} in {_counted(len(folders), 'folder')}, {lines}.",
        "## Folders",
        "\n".join(_tree(folders)),
    ]
    for folder in sorted(folders):
        parts += [f"## `{_printable(folder)}`", "\n".join(map(_entry, folders[folder]))]
    return "\n\n".join(parts) + "\n"


def list_files(root: Path) -> list[str]:
    """Return the paths of a repository's files, relative to its root, in their order.

    The page itself is not one of them, wherever it is.
    """
    paths = [file.relative_to(root).as_posix() for file in own_files(root, lambda error: None)]
    return sorted(path for path in paths if PurePosixPath(path).name.lower() != NAME.lower())


def first_line(name: str, text: str) -> str:
    r"""Return what a file says about itself in its first heading or docstring.

    Parameters
    ----------
    name
        Its name or path: Markdown ends in ``.md``, Python in ``.py``.
    text
        Its text.

    Returns
    -------
    str
        One line, at most `MOST_CHARACTERS` long; empty where the file says nothing.

    Examples
    --------
    >>> first_line("a.py", "#!/usr/bin/env python\n'''Cut texts.\n\nAt sentences.'''\n")
    'Cut texts.'
    >>> first_line("a.md", "Before it.\n\n# The *guide* #\n\nText.")
    'The *guide*'
    >>> first_line("a.json", '{"a": 1}')
    ''
    """
    suffix = PurePosixPath(name.lower()).suffix
    if suffix == ".md":
        heading = re.search(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*$", text, re.MULTILINE)
        return shortened(heading[1]) if heading else ""
    try:
        docstring = ast.get_docstring(ast.parse(text)) if suffix == ".py" else ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    paragraph = " ".join((docstring or "").split("\n\n")[0].split())
    return shortened(re.split(r"(?<=[.!?])\s", paragraph)[0])


def shortened(line: str, most: int = MOST_CHARACTERS) -> str:
    """Return a line without control characters and runs of blanks, cut at a word if it is long.

    Examples
    --------
    >>> shortened("one  two three", 9)
    'one two …'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in line).split())
    if len(line) <= most:
        return line
    return line[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + " …"


def _tree(folders: Mapping[str, Sequence[FileLine]]) -> Iterable[str]:
    """Return a line a folder, deeper ones further in; a folder without files is named as well."""
    everything = set(folders)
    for folder in folders:
        everything |= {f"{parent}/" for parent in PurePosixPath(folder).parents if parent.name}
    for folder in sorted(everything, key=lambda path: path.strip("./").split("/")):
        depth = folder.count("/") - 1
        files = folders.get(folder, ())
        # What a package or a page about a folder says, it says of the folder as well.
        speak = (one for one in files if one.path.endswith(("__init__.py", "README.md")))
        about = next((f": {one.says}" for one in speak if one.says), "")
        yield f"{'  ' * depth}- `{_printable(folder)}` ({_counted(len(files), 'file')}){about}"


def _entry(file: FileLine) -> str:
    size = f"{file.size:,} bytes" if file.lines is None else _counted(file.lines, "line")
    says = f": {file.says}" if file.says else ""
    return f"- `{_printable(PurePosixPath(file.path).name)}`{says} ({size})"


def _read(root: Path, path: str) -> FileLine:
    file = root / path
    try:
        if file.is_symlink():
            return FileLine(path, None, 0, shortened(f"a link to {os.readlink(file)}"))
        size = file.stat().st_size
        raw = read_file(file, MOST_BYTES)
        if b"\0" in raw:
            raise ValueError("is not text")
        text = raw.decode("utf-8-sig")
    except ValueError:
        return FileLine(path, None, size)
    except OSError as error:
        return FileLine(path, None, 0, shortened(f"cannot be read: {error.strerror}"))
    return FileLine(path, len(text.splitlines()), size, first_line(path, text))


def _printable(name: str) -> str:
    """Return a name that ends neither its line nor the quotes around it."""
    return "".join(c if c.isprintable() and c != "`" else "�" for c in name)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
