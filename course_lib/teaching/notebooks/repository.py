"""The course as a repository for learners: no solutions, no tests, and answers packed away.

Labs need the functions that their exercises ask for, so that they run to their end whatever a
learner has done. The library of the copy has these functions as compressed text, which nobody reads
by accident. That is not a secret: who wants to can unpack them.
"""

from __future__ import annotations

import ast
import base64
import shutil
import subprocess
import zlib
from collections import defaultdict
from pathlib import Path

from course_lib.errors import InputError
from course_lib.settings import project_root
from course_lib.teaching.lab.reference import PACKED
from course_lib.teaching.mine.keep import all_exercises

GUIDE = "labs/INSTRUCTORS.md"
LEFT_OUT = (
    *("solutions/", "tests/", "infra/course/"),
    *(GUIDE, ".ci/", ".github/", ".pre-commit-config.yaml"),
)
"""What learners do not get; the READMEs below tests/ stay, because pages link to them."""

_NOTE = """\
> This copy of the course is for learners. It holds no solutions and no tests, and the functions
> that exercises ask for are packed in the library. `make run`, `make test` and `make build` need
> the whole course.

"""


def release_repository(target: Path, root: Path | None = None) -> Path:
    """Write the course without its answers into a new folder and return it.

    Parameters
    ----------
    target
        The folder; it must not exist, or be empty.
    root
        The course; None takes the checkout that this package belongs to.

    Raises
    ------
    InputError
        The folder holds something, or the course is not a checkout of git.
    """
    root = root or project_root()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} is there already", hint="Name a new folder.")
    sources = sorted((root / "solutions").glob("[0-9][0-9]_*.py"))
    answers = taught_functions()
    for name in _tracked(root):
        if name.startswith(LEFT_OUT) and not (name.startswith("tests/") and _is_readme(name)):
            continue
        file, copy = root / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)
        if name in answers:
            text = packed_functions(file.read_text(encoding="utf-8"), answers[name])
            copy.write_text(text, encoding="utf-8", newline="\n")
        elif name.endswith(".md"):
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if Path(GUIDE).name not in line]
            copy.write_text("".join(kept), encoding="utf-8", newline="\n")
    readme = target / "README.md"
    title, rest = readme.read_text(encoding="utf-8").split("\n\n", 1)
    readme.write_text(f"{title}\n\n{_NOTE}{rest}", encoding="utf-8", newline="\n")
    for source in sources:
        copy = target / PACKED / f"{source.stem}.packed"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(packed(source.read_text(encoding="utf-8")), encoding="utf-8")
    return target


def taught_functions() -> dict[str, set[str]]:
    """Return which functions exercises take out of the library, by the file that holds them."""
    found = defaultdict(set)
    for exercise in all_exercises().values():
        module, _, name = str(exercise.library).partition(":")
        found[f"{module.replace('.', '/')}.py"].add(name)
    return dict(found)


def packed_functions(source: str, names: set[str]) -> str:
    r"""Return a module's source with some of its functions packed.

    Examples
    --------
    >>> source = "# The trick: add twice.\ndef double(x):\n    return x + x\n"
    >>> "x + x" in packed_functions(source, {"double"})
    False
    """
    lines = source.splitlines(keepends=True)
    found = [node for node in ast.parse(source).body if getattr(node, "name", "") in names]
    for node in reversed(found):
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
        while first and lines[first - 1].startswith("#"):
            first -= 1
        text = "".join(lines[first : node.end_lineno])
        lines[first : node.end_lineno] = [
            f"# {node.name} is packed, because an exercise asks for it.\n",
            "import base64, zlib\n",
            f'exec(zlib.decompress(base64.b85decode("{packed(text)}")))\n',
        ]
    return "".join(lines)


def packed(text: str) -> str:
    """Return a text in letters and signs that nobody reads by accident."""
    return base64.b85encode(zlib.compress(text.encode(), 9)).decode()


def _tracked(root: Path) -> list[str]:
    command = ["git", "-C", str(root), "ls-files", "-z"]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError:
        raise InputError(
            "git is not installed, and it says what belongs to the course",
            hint="Install git, such as by apt install git.",
        ) from None
    if done.returncode:
        raise InputError(
            f"{root} is not a checkout of git, which says what belongs to the course",
            hint="Clone the course, and release from there.",
        )
    return [name for name in done.stdout.split("\0") if name and (root / name).is_file()]


def _is_readme(name: str) -> bool:
    return name.rpartition("/")[2] == "README.md"
