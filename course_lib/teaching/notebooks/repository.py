"""The course as a repository for learners: no solutions, no tests, and answers packed away.

Labs need the answers that their exercises ask for, so that they run to their end whatever a
learner has done. The library of the copy has these answers as compressed text, which nobody reads
by accident. That is not a secret: who wants to can unpack them.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from course_lib.errors import InputError
from course_lib.settings import project_root
from course_lib.teaching.lab.reference import PACKED
from course_lib.teaching.mine.keep import all_exercises
from course_lib.teaching.taught import by_module, pack_answers, packed

GUIDES = ("labs/INSTRUCTORS.md", "labs/CLASS.md", "infra/site/jupyterhub.md")
"""The pages for instructors; a line of another page that leads to one is left out with it."""

LEFT_OUT = (
    *("solutions/", "tests/", "infra/course/"),
    *(*GUIDES, ".ci/", ".github/", ".pre-commit-config.yaml"),
)
"""What learners do not get; the READMEs below tests/ stay, because pages link to them."""

OF_A_CLASS = frozenset({"nbgrader_config.py", "gradebook.db"})
"""Files that a class's folder has."""

STEPS = frozenset({"submitted", "autograded", "feedback", "gradebook-copies"})
"""Folders of a class's, by which it is known where those files are not in git."""

TOP = frozenset(
    {
        *("labs", "data", "infra", "course_lib", "tests", ".binder", ".devcontainer"),
        *("README.md", "LICENSE", "Makefile", "environment.yml", "pyproject.toml"),
        *("requirements.lock", ".gitignore", ".dockerignore", ".env.example"),
    }
)
"""What learners get of the top level. Whatever else is there is of a class or a person."""

ANSWERS = re.compile("### BEGIN (?:SOLUTION|HIDDEN TESTS)|=== BEGIN MARK SCHEME ===")
"""What a notebook of an instructor's has, also as a script, and a learner's has not."""

_NOTE = """\
> This copy of the course is for learners. It holds no solutions and no tests, and the answers
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
        The folder holds something, the course is not a checkout of git, or something of a class
        or of a learner's was committed; nothing is written then.
    """
    root = root or project_root()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} is there already", hint="Name a new folder.")
    sources = sorted((root / "solutions").glob("[0-9][0-9]_*.py"))
    names = [name for name in _tracked(root) if _is_for_learners(name)]
    if found := private(root, names):
        raise InputError(
            f"not for learners, and committed: {', '.join(found)}",
            hint=f"Take them out of git: git rm -r --cached {shlex.join(found)}\n"
            "If one is a part of your course, add it to TOP in "
            "course_lib/teaching/notebooks/repository.py.",
        )
    for name in names:
        file, copy = root / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)
        if name.endswith(".md"):
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if not any(Path(one).name in line for one in GUIDES)]
            copy.write_text("".join(kept), encoding="utf-8", newline="\n")
    taught = by_module(one.library for one in all_exercises().values())
    for module, answers in taught.items():
        pack_answers(target / f"{module.replace('.', '/')}.py", answers)
    readme = target / "README.md"
    title, rest = readme.read_text(encoding="utf-8").split("\n\n", 1)
    readme.write_text(f"{title}\n\n{_NOTE}{rest}", encoding="utf-8", newline="\n")
    for source in sources:
        copy = target / PACKED / f"{source.stem}.packed"
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(packed(source.read_text(encoding="utf-8")), encoding="utf-8")
    return target


def private(root: Path, names: Iterable[str]) -> list[str]:
    """Return which of these paths are a class's or a learner's: the outermost folder, or the file.

    Parameters
    ----------
    root, names
        The course, and paths in it, with `/` between their parts.

    Examples
    --------
    >>> private(Path("/nowhere"), ["labs/01_a.ipynb", "ml/submitted/ada/x.txt", "grades.md"])
    ['grades.md', 'ml']
    """
    found = set()
    for name in names:
        path = PurePosixPath(name)
        folders = [*reversed(path.parents)][1:]
        rooms = [one for one in folders if any((root / one / own).exists() for own in OF_A_CLASS)]
        rooms += [one.parent for one in folders if one.name in STEPS]
        if path.parts[0] not in TOP:
            found.add(path.parts[0])
        elif path.name in OF_A_CLASS or rooms:
            found.add(str(min(rooms, key=lambda one: len(one.parts)) if rooms else path.parent))
        elif _holds_answers(root / name):
            found.add(name)
    return sorted(found)


def _holds_answers(path: Path) -> bool:
    """Tell whether a file outside the library has answers or hidden checks marked in it."""
    is_read = path.suffix.lower() in {".ipynb", ".py", ".md"} and "course_lib" not in path.parts
    if not is_read or not path.is_file():
        return False
    return ANSWERS.search(path.read_text(encoding="utf-8", errors="replace")) is not None


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


def _is_for_learners(name: str) -> bool:
    is_readme = name.startswith("tests/") and name.rpartition("/")[2] == "README.md"
    return is_readme or not name.startswith(LEFT_OUT)
