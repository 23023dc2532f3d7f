"""The command that lets a model edit files: `course edit FILE --edit "…"`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from course_lib.cli.index import connect
from course_lib.cli.printing import complain, say, show
from course_lib.errors import (
    CourseError,
    DatabaseError,
    InputError,
    SchemaMismatchError,
    ServerError,
)
from course_lib.settings import LanguageModelName, settings

if TYPE_CHECKING:
    from course_lib.answers.edit_files import Original
    from course_lib.answers.generators.base import Generator
    from course_lib.answers.passages import Passage


def edit(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...")],
    instruction: Annotated[str, typer.Option("--edit")],
    rewrite: bool = False,
    stdout: bool = False,
    force: bool = False,
    backend: LanguageModelName | None = None,
    model: str | None = None,
    top_k: Annotated[int | None, typer.Option(min=0)] = None,
) -> None:
    """Let a model edit files, with what the index knows about them.

    Shows the diff. With --rewrite the file is written: only inside the repository, only if git
    could bring its present state back, and only if it is still a file of its kind.

    Example: course edit data/code/registry.py --edit "sort the names" --backend ollama

    Parameters
    ----------
    files
        The files to edit.
    instruction
        What to change, in your words.
    rewrite
        Write the file; without it, only the diff is shown.
    stdout
        Print the updated file instead of the diff.
    force
        Write even what git could not bring back.
    backend : RAG_GENERATOR
        What writes.
    model : RAG_OLLAMA_MODEL or RAG_OPENAI_MODEL
        Its model.
    top_k : RAG_TOP_K, 6
        Passages of the index; 0 for none.
    """
    from course_lib.answers.edit import check_can_write
    from course_lib.answers.generators import generator

    if stdout and len(files) > 1:
        raise InputError(
            "--stdout prints one file, and several were given",
            hint="Give one, or use xargs -n 1.",
        )
    chosen = generator(settings(), backend=backend, model=model)
    check_can_write(chosen)
    failed = 0
    for file in files:
        try:
            _edit_one(file, instruction, chosen, rewrite, stdout, force, top_k)
        except CourseError as error:
            if len(files) == 1:
                raise
            failed += 1
            complain(error)
    if failed:
        say(f"{failed} of {len(files)} files were left as they are")
        raise typer.Exit(1)


def _edit_one(
    file: Path,
    instruction: str,
    chosen: Generator,
    rewrite: bool,
    stdout: bool,
    force: bool,
    top_k: int | None,
) -> None:
    from course_lib.answers import edit_files
    from course_lib.answers.edit import propose, unified_diff

    root = edit_files.repository_root(settings().repo_root)
    original = edit_files.read_original(file, root)
    if rewrite and not force:
        edit_files.check_committed(original)
    say(f"{original.name}: {chosen.name}, {chosen.model}")
    passages = _passages(original, instruction, settings().top_k if top_k is None else top_k)
    text = propose(original, instruction, chosen, passages, max_output=settings().max_output)
    raw = original.with_text(text)
    if rewrite and raw != original.raw:
        if not force:
            # A model takes its time; meanwhile, somebody may have gone on working.
            edit_files.check_committed(original)
        edit_files.write_edited(original, raw)
    after = raw.decode("utf-8")
    if stdout and sys.stdout is not None and sys.stdout.isatty():
        show(after, end="")
        return
    if stdout:
        sys.stdout.buffer.write(raw)
        sys.stdout.flush()
        return
    before = original.raw.decode("utf-8")
    if diff := unified_diff(original.name, before, after):
        show(diff, end="")
        say(f"{original.name} was written" if rewrite else "Nothing was written: see --rewrite.")
    else:
        say(f"{original.name} stays as it is: the model changed nothing")


def _passages(original: Original, instruction: str, top_k: int) -> tuple[Passage, ...]:
    """Return what the index says; without an index, an edit does without."""
    if not top_k:
        return ()
    from course_lib.answers.edit import context_for_edit
    from course_lib.embedder import EmbeddingClient
    from course_lib.store.models import check_model

    tenant = settings().tenant
    try:
        with connect() as conn:
            embedder = EmbeddingClient()
            check_model(conn, embedder.model_name, embedder.dimension, tenant=tenant)
            return context_for_edit(
                conn, embedder, original.name, instruction, top_k=top_k, tenant=tenant
            )
    except SchemaMismatchError:
        raise
    except (DatabaseError, ServerError) as error:
        say(f"without the index: {error.args[0]}")
        return ()
