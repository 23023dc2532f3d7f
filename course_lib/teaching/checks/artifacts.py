"""Checks of a component's function: artifacts to call it with, and whether it stands alone.

A component is a plain function until it is decorated, so it is called with files in a folder that
goes away again.
"""

from __future__ import annotations

import builtins
import dis
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType
from typing import Any

from course_lib.teaching.checks.probe import Case, Probe

__all__ = ["artifacts", "lines_of", "metadata_of", "stands_alone"]

KNOWN = {"Input", "Output", "Dataset", "dsl", "kfp", "List", "Dict"}
"""Names that kfp puts above a component's text."""

READS = {"LOAD_GLOBAL", "LOAD_NAME"}


@contextmanager
def artifacts() -> Iterator[Callable[..., Any]]:
    """Give a function that makes a Dataset in a folder that is deleted at the end."""
    from kfp.dsl import Dataset

    with TemporaryDirectory() as name:
        folder = Path(name)

        def artifact(called: str, lines: Sequence[str] | None = None, **metadata: float) -> Any:
            path = folder / called
            if lines is not None:
                text = "".join(f"{line}\n" for line in lines)
                path.write_text(text, encoding="utf-8", newline="\n")
            return Dataset(name=called, uri=str(path), metadata=dict(metadata))

        yield artifact


def lines_of(call: Probe, label: str, artifact: Any, because: str) -> Case:
    """Return the lines of an artifact's file, to be judged; fail if there is no file."""
    path = Path(artifact.path)
    if not path.exists():
        call.fail(label, got="no file at chunks.path", expected="a file", because=because)
    text = path.read_bytes().decode("utf-8")
    lines = text.removesuffix("\n").split("\n") if text else []
    return Case(call, f"{label}, the lines of chunks.path", value=lines)


def metadata_of(call: Probe, label: str, artifact: Any) -> Case:
    """Return what an artifact's metadata are, to be judged."""
    return Case(call, f"{label}, chunks.metadata", value=dict(artifact.metadata))


def stands_alone(call: Probe) -> None:
    """Fail a function that needs names of the notebook: a component has its own text alone."""
    code = getattr(call.given, "__code__", None)
    if code is None:
        return  # the first call says what is wrong
    here = getattr(call.given, "__globals__", {})
    missing = sorted(
        name
        for name in _globals_of(code)
        if name in here and name not in KNOWN and not hasattr(builtins, name)
    )
    if inspect.getclosurevars(call.given).nonlocals:
        missing += sorted(inspect.getclosurevars(call.given).nonlocals)
    if missing:
        call.fail(
            f"dsl.component({call.exercise.name})",
            got=f"a function that takes {', '.join(missing)} from the notebook",
            expected="one that imports or defines all it needs inside",
            because="a component is the text of its function, and nothing around it",
        )


def _globals_of(code: CodeType) -> set[str]:
    """Return the global names that a function, or one inside of it, reads."""
    found = {str(one.argval) for one in dis.get_instructions(code) if one.opname in READS}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _globals_of(constant)
    return found
