"""What is where in a repository: a folder goes in, the text of STRUCTURE.md comes out.

A question such as "where are the budgets computed?" has its answer in no single file. This page has
it: the tree of folders, and for each file the line that it says about itself. It is indexed as
chunks of the kind ``structure``, one a folder.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from course_lib.answers.first_lines import first_line, shortened
from course_lib.errors import InputError
from course_lib.files import files_below, read_file

NAME = "STRUCTURE.md"
MOST_BYTES = 2_000_000
"""Larger files are listed with their size and not read."""

_NOT_OURS = {"__pycache__", "node_modules", "venv", "site-packages", "vendor", "build", "dist"}
_LANGUAGES = {
    ".py": "Python", ".pyi": "Python", ".ipynb": "notebook", ".md": "Markdown", ".go": "Go",
    ".yaml": "YAML", ".yml": "YAML", ".sh": "shell", ".bash": "shell", ".json": "JSON",
    ".toml": "TOML", ".js": "JavaScript", ".ts": "TypeScript", ".tsx": "TypeScript",
    ".html": "HTML", ".css": "CSS", ".txt": "text", ".java": "Java", ".rs": "Rust", ".sql": "SQL",
    ".proto": "Protocol Buffers", ".c": "C", ".h": "C", ".cpp": "C++", ".tf": "Terraform",
}  # fmt: skip


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
        A folder. In a git repository git says which files there are: those that it tracks, and new
        ones that it does not ignore. Elsewhere all are there but hidden ones and what tools make.
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
    >>> _ = (folder / "cut.py").write_text("# Cut texts.", encoding="utf-8")
    >>> print(structure_text(folder, "demo"))
    # Structure of demo
    <BLANKLINE>
    1 file in 1 folder, 1 line: 1 Python.
    <BLANKLINE>
    ## Folders
    <BLANKLINE>
    - `./` (1 file)
    <BLANKLINE>
    ## `./`
    <BLANKLINE>
    - `cut.py`: Cut texts. (1 line)
    <BLANKLINE>
    """
    base = Path(root)
    if not base.is_dir():
        raise InputError(f"{base} is not a folder", hint="Check the path.")
    files = [_read(base, path) for path in list_files(base)]
    if not files:
        raise InputError(f"there are no files in {base}", hint="Check the path.")
    return render(shortened(name or base.resolve().name), files)


def list_files(root: Path) -> list[str]:
    """Return the paths of a repository's files, relative to its root, in their order.

    The page itself is none of them, wherever it is.
    """
    found = _known_to_git(root)
    paths = _walked(root) if found is None else found
    return sorted(path for path in set(paths) if PurePosixPath(path).name.lower() != NAME.lower())


def render(name: str, files: Sequence[FileLine]) -> str:
    """Return the page for some files.

    Parameters
    ----------
    name
        What to call the repository.
    files
        Its files.
    """
    folders: defaultdict[str, list[FileLine]] = defaultdict(list)
    for file in files:
        folders[_folder(file.path)].append(file)
    lines = sum(file.lines or 0 for file in files)
    kinds = Counter(_language(file.path) for file in files)
    listed = ", ".join(f"{count} {kind}" for kind, count in _most_first(kinds))
    parts = [
        f"# Structure of {name}",
        f"{_counted(len(files), 'file')} in {_counted(len(folders), 'folder')}, "
        f"{_counted(lines, 'line')}: {listed}.",
        "## Folders",
        "\n".join(_tree(folders)),
    ]
    for folder in sorted(folders):
        parts += [f"## `{_printable(folder)}`", "\n".join(map(_entry, folders[folder]))]
    return "\n\n".join(parts) + "\n"


def _tree(folders: Mapping[str, Sequence[FileLine]]) -> Iterable[str]:
    """Return a line a folder, deeper ones further in; a folder without files is named as well."""
    everything = set(folders)
    for folder in folders:
        everything |= {f"{parent}/" for parent in PurePosixPath(folder).parents if parent.name}
    for folder in sorted(everything, key=lambda path: path.strip("./").split("/")):
        depth = folder.count("/") - 1
        files = folders.get(folder, ())
        about = next((f": {one.says}" for one in files if one.says and _speaks(one.path)), "")
        yield f"{'  ' * depth}- `{_printable(folder)}` ({_counted(len(files), 'file')}){about}"


def _speaks(path: str) -> bool:
    """Return whether what a file says is about its folder as well."""
    return PurePosixPath(path).name in {"__init__.py", "README.md", "doc.go"}


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


def _known_to_git(root: Path) -> list[str] | None:
    """Return the files that git knows below a folder; None where there is no git or repository."""
    # What a repository's own configuration names is not run.
    command = ["git", "-c", "core.fsmonitor=false", "-C", str(root), "ls-files", "-z"]
    command += ["--cached", "--others", "--exclude-standard"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(command, capture_output=True, check=True, env=environment, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    paths = [os.fsdecode(raw) for raw in done.stdout.split(b"\0") if raw]
    # Deleted, but not yet in a commit; or a repository within this one.
    return [path for path in paths if (root / path).is_symlink() or (root / path).is_file()] or None


def _walked(root: Path) -> list[str]:
    def enter(name: str) -> bool:
        return not name.startswith(".") and name not in _NOT_OURS

    files = files_below(root, enter, lambda error: None)
    return [file.relative_to(root).as_posix() for file in files if not file.name.startswith(".")]


def _folder(path: str) -> str:
    parent = PurePosixPath(path).parent
    return f"{parent}/"


def _language(path: str) -> str:
    return _LANGUAGES.get(PurePosixPath(path).suffix.lower(), "other")


def _most_first(kinds: Counter[str]) -> list[tuple[str, int]]:
    """Return kinds by falling count, the unnamed ones last."""
    return sorted(kinds.items(), key=lambda item: (item[0] == "other", -item[1], item[0]))


def _printable(name: str) -> str:
    """Return a name that ends neither its line nor the quotes around it."""
    return "".join(c if c.isprintable() and c != "`" else "�" for c in name)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
