"""Compiling: a pipeline goes in, its IR YAML comes out.

The YAML is committed: what a cluster is given can be read, and a change of it is seen in review.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from course_lib.loader import write_jsonl
from course_lib.pipeline.catalogue import NAMES, find_pipeline
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
    changed = outdated(folder)
    for file in changed:
        write_jsonl(file, [compile_pipeline(file.stem).removesuffix("\n")])
    return changed


def outdated(folder: Path | None = None) -> list[Path]:
    """Return the committed files that are not what is compiled now; nothing is written."""
    files = [(folder or compiled_folder()) / f"{name}.yaml" for name in NAMES]
    return [
        file
        for file in files
        if not file.is_file() or file.read_text("utf-8", "replace") != compile_pipeline(file.stem)
    ]


@cache
def _compiled(name: str) -> str:
    from kfp import compiler

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pipeline.yaml")
        compiler.Compiler().compile(find_pipeline(name), str(file))
        return file.read_text(encoding="utf-8")
