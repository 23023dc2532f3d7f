"""A copy of the library with the learner's functions in it: a folder for PYTHONPATH.

Every process of `course mine`, and what it starts, imports `course_lib` from there: the command,
the service, the steps of a pipeline. A copy is made once for each state of the library and of the
list of what is kept.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import course_lib
from course_lib.errors import InputError
from course_lib.settings import project_root, settings
from course_lib.teaching import taught
from course_lib.teaching.mine import sections
from course_lib.teaching.mine.sections import KeptAnswer, fingerprint, read_sections

INDEXED_WITH = ("records", "loader", "embedder", "store")
"""The rooms on which depends what is in an index."""

UNUSED_SECONDS = 7 * 24 * 3600.0
"""After so long, nothing runs any more from a copy that no command has begun with."""

CALL = """{kind}def {name}(*args, **kwargs):
    from my_system import own

    return {wait}own({file!r}, {name!r})(*args, **kwargs)"""
"""In the place of a function. The learner's may import the module in which it takes this place, so
it is looked up when it is called."""

VALUE = """from my_system import own as _own

{name} = {before}_own({file!r}, {name!r}){after}"""
"""In the place of a text of SQL, and of what kfp makes of a function."""


def environment(folder: Path) -> dict[str, str]:
    """Return the variables under which a process, and what it starts, runs the learner's functions.

    Parameters
    ----------
    folder
        Where they are kept.

    Raises
    ------
    InputError
        If one cannot take its place, or the copy cannot be written.
    """
    try:
        own = read_sections(folder)
        paths = [str(_overlay(folder.parent / ".overlay", own)), os.environ.get("PYTHONPATH", "")]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the functions in {folder} cannot be used: {error}") from error
    collection = settings().collection
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTHONSAFEPATH": "1",  # the current folder may hold a `course_lib`, too
        "COURSE_ROOT": str(project_root()),
        "COURSE_MINE": f"{fingerprint(own, INDEXED_WITH)}:{fingerprint(own, ['embedder'])}",
        "RAG_COLLECTION": f"{collection}-mine" if collection else "mine",
    }


def _overlay(folder: Path, own: Sequence[KeptAnswer]) -> Path:
    """Return a copy of the library with these answers, which is made unless it is there."""
    files = _files(own)
    told = repr(sorted(files.items())).encode("utf-8")
    copy = folder / hashlib.sha256(told).hexdigest()[:16]
    if not copy.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder))
        for name, content in files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_bytes(content)
        try:
            made.rename(copy)
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            if not copy.is_dir():  # where it is, another process was quicker
                raise
    os.utime(copy)
    for other in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # another process made or removed it meanwhile
            if other.stat().st_mtime < time.time() - UNUSED_SECONDS:
                shutil.rmtree(other, ignore_errors=True)
    return copy


def _files(own: Sequence[KeptAnswer]) -> dict[str, bytes]:
    """Return the content of each file of the copy, by its name."""
    root = Path(course_lib.__file__).parents[1]
    found = {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in (root / "course_lib").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    for one in own:
        name = f"{one.module.replace('.', '/')}.py"
        found[name] = with_answer(found.get(name, b"").decode("utf-8"), one).encode("utf-8")
    return {**found, "my_system.py": Path(sections.__file__).read_bytes()}


def with_answer(text: str, answer: KeptAnswer) -> str:
    """Return a module's text in which one answer is the learner's.

    Raises
    ------
    InputError
        If the module defines nothing of that name.
    """
    text = taught.unpacked(text, answer.name)
    node = taught.find_answer(text, answer.name)
    if node is None:
        raise InputError(
            f"{answer.file} keeps {answer.name} for {answer.module}, which has none of that name",
            hint="Delete that section, or pass the check of the exercise again.",
        )
    is_async = isinstance(node, ast.AsyncFunctionDef)
    how = {"kind": "async ", "wait": "await "} if is_async else {"kind": "", "wait": ""}
    decorators = [ast.unparse(one) for one in taught.kfp_decorators(node)]
    form = CALL if isinstance(node, taught.DEFINITIONS) and not decorators else VALUE
    how |= {"before": "".join(f"{one}(" for one in decorators), "after": ")" * len(decorators)}
    lines = text.split("\n")
    lines[taught.line_of(node) - 1 : node.end_lineno] = [
        form.format(name=answer.name, file=answer.file, **how)
    ]
    return "\n".join(lines)
