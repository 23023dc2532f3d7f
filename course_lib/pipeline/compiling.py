"""Compiling: a pipeline goes in, its IR YAML comes out, checked for what Kubeflow would not notice.

The YAML is committed: what a cluster is given can be read, and a change of it is seen in review.
"""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from course_lib.loader import write_jsonl
from course_lib.pipeline.catalogue import NAMES, PipelineError, find_pipeline
from course_lib.pipeline.references import find_problems
from course_lib.settings import project_root


def compiled_folder() -> Path:
    """Return where the compiled pipelines are committed."""
    return project_root() / "infra" / "pipelines"


def compile_pipeline(name: str, *, registry: str = "", caching: bool = True) -> str:
    """Return the IR YAML of a pipeline, and after ``---`` what it asks of Kubernetes.

    Parameters
    ----------
    name
        As in `find_pipeline`.
    registry
        Where the images are, such as ``ghcr.io/team``; empty for images that every node has.
    caching
        Whether steps may be left out whose inputs were seen before; without it, none is.

    Raises
    ------
    InputError
        If there is no such pipeline.
    PipelineError
        If what was compiled has references that lead nowhere.
    """
    find_pipeline(name)
    text = _compiled(name)
    if registry:
        text = text.replace("image: rag-", f"image: {registry.rstrip('/')}/rag-")
    if not caching:
        # kfp's own switch changes the outermost steps only, and ours are all inside a handler.
        text = text.replace("enableCache: true", "enableCache: false")
    return text


def write_compiled(folder: Path | None = None) -> list[Path]:
    """Compile all pipelines to files, and return those that changed.

    Raises
    ------
    InputError
        If one cannot be written.
    """
    changed = []
    for file, there, text in _compared(folder or compiled_folder()):
        if there != text:
            write_jsonl(file, [text.removesuffix("\n")])
            changed.append(file)
    return changed


def check_compiled(folder: Path | None = None) -> dict[str, str]:
    """Return name → difference, for committed pipelines that are not what is compiled now."""
    differences = {}
    for file, there, text in _compared(folder or compiled_folder()):
        if there != text:
            lines = (there.splitlines(), text.splitlines())
            found = difflib.unified_diff(*lines, file.name, "compiled", "", "", 1)
            differences[file.stem] = "\n".join(found)
    return differences


def _compared(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield each pipeline's file, what it holds, and what is compiled now."""
    for name in NAMES:
        file = folder / f"{name}.yaml"
        yield (
            file,
            file.read_text("utf-8", "replace") if file.is_file() else "",
            compile_pipeline(name),
        )


@cache
def _compiled(name: str) -> str:
    from kfp import compiler

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pipeline.yaml")
        compiler.Compiler().compile(find_pipeline(name), str(file))
        text = file.read_text(encoding="utf-8")
    if problems := find_problems(text):
        raise PipelineError(
            f"{name} was compiled to what cannot run: {'; '.join(problems)}",
            hint="Mend the pipeline; a cluster would refuse it, or fail in the middle of a run.",
        )
    return text
