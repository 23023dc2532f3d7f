"""The command that writes STRUCTURE.md: what is where in a repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from course_lib.cli.printing import say, show
from course_lib.errors import InputError
from course_lib.files import told_if_not_written
from course_lib.settings import settings


def write_structure(
    directory: Annotated[Path, typer.Argument()] = Path(),
    out: Path | None = None,
    name: str | None = None,
) -> None:
    """Write STRUCTURE.md: the tree of a repository, with sizes and headings.

    `course ingest` indexes it as its own kind, so that questions about the whole find it.

    Parameters
    ----------
    directory
        The repository.
    out : RAG_STRUCTURE_PATH in DIRECTORY
        Where to write it; - prints it.
    name : the folder's name
        Name of the repository.
    """
    from course_lib.answers.structure import structure_text

    text = structure_text(directory, name)
    if out == Path("-"):
        show(text, end="")
        return
    target = out or directory / settings().structure_path
    if not out and target.resolve() != directory.resolve() / settings().structure_path:
        # Whoever made the repository would have any of our files overwritten.
        raise InputError(
            f"{target} is a link, or in a folder that is one",
            hint="Nothing was written. Remove it, or name the file with --out.",
        )
    with told_if_not_written(target, "Give another --out."):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")
    show(f"{target}: {len(text.splitlines())} lines")
    if target.name.lower() != "structure.md":
        say("Only a file of the name STRUCTURE.md is indexed as structure.")
