"""Checks of a component's function and of a pipeline.

A component is a plain function until it is decorated, so it is called with files in a temporary
folder. A pipeline is judged on what kfp compiles it to.
"""

from __future__ import annotations

import builtins
import dis
import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType
from typing import TYPE_CHECKING, Any

from course_lib.teaching.checks.origin import named, stub_in, where_in_given
from course_lib.teaching.checks.probe import Case, Probe, StubReached
from course_lib.teaching.checks.values import shown, written
from course_lib.teaching.taught import function_of

if TYPE_CHECKING:
    from kfp.dsl import Dataset

    from course_lib.pipeline.corpus import Corpus

__all__ = [
    "compiled_pipeline",
    "corpus",
    "corpus_of",
    "dataset",
    "lines_of",
    "stands_alone",
    "written_dataset",
]

KNOWN = {"Input", "Output", "Dataset", "dsl", "kfp", "List", "Dict"}
"""Names that kfp puts above a component's text."""

READS = {"LOAD_GLOBAL", "LOAD_NAME"}

_NUMBERS = count(999_999, -1)
"""Names of files: downwards, so that artifacts sorted by path are in another order than made."""

_folder = cache(TemporaryDirectory)
"""Where they are, until the process ends."""


def dataset(lines: Sequence[str] | None = None, *, end: str = "\n", **metadata: float) -> Dataset:
    """Return an artifact whose file holds these lines; without any its file is still to be written.

    `end` is what the last line ends with. A failed check shows a call with such artifacts, which
    can be pasted into a cell.

    Examples
    --------
    >>> part = dataset(["{}", "{}"], documents=1.0, chunks=2.0)
    >>> len(open(part.path).readlines()), part.metadata["chunks"]
    (2, 2.0)
    """
    from kfp.dsl import Dataset

    path = Path(_folder().name, str(next(_NUMBERS)))
    if lines is not None:
        text = "\n".join(lines) + end if lines else ""
        path.write_text(text, encoding="utf-8", newline="\n")
    return Dataset(uri=str(path), metadata=dict(metadata))


def corpus(texts: Mapping[str, str], *, kept: Sequence[str] = ()) -> Dataset:
    """Return an artifact with documents as the pipeline's loader writes them.

    Parameters
    ----------
    texts
        What is in each document, by its path.
    kept
        Files that could not be read.

    Examples
    --------
    >>> len(open(corpus({"a.md": "Apples."}).path).readlines())  # the origin, and a document
    2
    """
    return dataset(list(corpus_of(texts, kept).lines()))


def corpus_of(texts: Mapping[str, str], kept: Sequence[str] = ()) -> Corpus:
    """Return what `corpus` writes."""
    from course_lib.loader.staged import Origin
    from course_lib.pipeline.corpus import Corpus
    from course_lib.records import Document, Scope, Skipped

    skipped = tuple(Skipped(name, "is not UTF-8") for name in kept)
    documents = [Document(Path(name), name, text) for name, text in texts.items()]
    return Corpus(Origin(Scope(repo="pages"), kept=skipped), documents)


def written_dataset(
    lines: Sequence[str] | None = None, *, end: str = "\n", **metadata: float
) -> str:
    """Return the call of `dataset` that makes this artifact, as text."""
    parts = [] if lines is None else [written(list(lines))]
    parts += [] if end == "\n" else [f"end={written(end)}"]
    return f"dataset({', '.join([*parts, *(f'{key}={n}' for key, n in metadata.items())])})"


def lines_of(call: Probe, label: str, artifact: Any, because: str, name: str = "chunks") -> Case:
    """Return the lines of an artifact's file, to be judged; fail if there is no file."""
    path = Path(artifact.path)
    if not path.exists():
        call.fail(label, got=f"no file at {name}.path", expected="a file", because=because)
    text = path.read_bytes().decode("utf-8")
    if text and not text.endswith("\n"):
        call.fail(
            f"{label}; open({name}.path).read()[-1]", got=shown(text[-1]), expected=shown("\n"),
            because="each line ends with a line feed, the last one too",
        )  # fmt: skip
    lines = text.removesuffix("\n").split("\n") if text else []
    return Case(call, f"{label}; open({name}.path).readlines()", value=lines)


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
            expected="a function that imports or defines inside everything that it needs",
            because="kfp takes only the text of the function, without the rest of the notebook",
        )


def compiled_pipeline(
    call: Probe, given: Any, label: str = ""
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what kfp compiles a pipeline to, and what it asks of Kubernetes.

    Parameters
    ----------
    call
        Around the learner's answer; it fails where the pipeline does not compile.
    given
        The pipeline: its function, decorated or not.
    label
        What a failure shows as the call.
    """
    from google.protobuf import json_format
    from kfp import dsl

    function = function_of(given)
    label = label or f"dsl.pipeline({call.exercise.name})"
    if not inspect.isfunction(function):
        got = f"{shown(function)} ({type(function).__name__})"
        call.fail(label, got=got, expected="the function of a pipeline")
    try:
        made = dsl.pipeline(function)
    except Exception as error:
        if stub := stub_in(error):
            raise StubReached(stub) from None
        got = f"{named(error)}{where_in_given(error, function_of(call.given))}"
        call.fail(label, got=got, expected="a pipeline that compiles")
    spec, platform = map(json_format.MessageToDict, (made.pipeline_spec, made.platform_spec))
    return spec, platform


def _globals_of(code: CodeType) -> set[str]:
    """Return the global names that a function, or one inside of it, reads."""
    found = {str(one.argval) for one in dis.get_instructions(code) if one.opname in READS}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _globals_of(constant)
    return found
