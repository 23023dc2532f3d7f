"""From a file and a wish to the new text: what else the index knows, a prompt that fits, an answer.

Nothing here writes to the disk; see `course_lib.answers.edit_files` for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import psycopg

from course_lib.answers.budget import ensure_prompt_fits
from course_lib.answers.context import ContextOptions, retrieve_context
from course_lib.answers.edit import EditError, check_parses, edit_prompt, extract_file
from course_lib.answers.edit_files import MOST_BYTES, Original
from course_lib.answers.generators.base import Generator, Request
from course_lib.answers.hints import file_manifest
from course_lib.answers.passages import Passage
from course_lib.answers.prompts import Prompt
from course_lib.answers.tokens import count_tokens
from course_lib.records import Query

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

ROOM = 1.25
"""How much longer than the file an answer may be, at least."""


def check_can_write(generator: Generator) -> None:
    """Refuse a generator that is not a language model.

    Raises
    ------
    EditError
        If it only quotes.
    """
    if not generator.needs_prompt:
        raise EditError(
            f"the {generator.name} generator quotes and cannot write",
            hint="Use --backend ollama or --backend openai, or set RAG_GENERATOR.",
        )


def context_for_edit(
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    name: str,
    instruction: str,
    *,
    top_k: int,
    tenant: str | None = None,
) -> tuple[Passage, ...]:
    """Return what the index says about an edit, without anything from the file itself.

    Parameters
    ----------
    conn, embedder
        As in `retrieve_context`.
    name
        The file's path in the repository. In the index it may be known by a longer or a shorter
        one, from another root; all of them are kept out.
    instruction
        What is to be changed.
    top_k, tenant
        As in `Query`.
    """
    basename = name.rsplit("/", 1)[-1]
    same = [
        path
        for path in file_manifest(conn, tenant=tenant).get(basename, [])
        if f"/{name}".endswith(f"/{path}") or f"/{path}".endswith(f"/{name}")
    ]
    query = Query(f"{name}: {instruction}", top_k=top_k, tenant=tenant)
    return retrieve_context(conn, embedder, query, ContextOptions(exclude=same)).passages


def propose(
    original: Original,
    instruction: str,
    generator: Generator,
    passages: Sequence[Passage] = (),
    *,
    max_output: int = 4096,
) -> str:
    """Return the new text of a file, as a model makes it; the file itself is not touched.

    Parameters
    ----------
    original
        The file.
    instruction
        What is to be changed.
    generator
        A language model.
    passages
        What else the repository says; the weakest are left out where they do not fit.
    max_output
        Tokens of the answer, at most.

    Raises
    ------
    EditError
        If the generator cannot write, the file is too long for an answer, or the answer is no
        edited file.
    InputError
        If the file does not fit the model's window.
    GenerationError
        If the model cannot be reached or breaks off.
    """
    if not instruction.strip():
        raise EditError("nothing is to be changed", hint='Say what: --edit "rename x to y"')
    check_can_write(generator)
    length = count_tokens(original.text, generator.model)
    least = int(length * ROOM) + 64
    if least > max_output:
        raise EditError(
            f"{original.name} has about {length:,} tokens, and an answer at most {max_output:,}",
            hint="Raise OPENAI_MAX_OUTPUT if the model can do more, or edit a smaller file.",
        )

    def build(some: Sequence[Passage]) -> Prompt:
        return edit_prompt(original.name, original.text, instruction, some)

    fitted = ensure_prompt_fits(
        build,
        passages,
        model=generator.model,
        window=generator.window,
        margin=generator.margin,
        max_output=max_output,
        least_output=least,
    )
    budget = fitted.budget
    request = Request(fitted.prompt, instruction, fitted.passages, budget.output, budget.needed)
    answer = ""
    for piece in generator.stream(request):
        answer += piece
        if len(answer) > MOST_BYTES:
            raise EditError(
                f"the answer has more than {MOST_BYTES:,} characters",
                hint="The file was left as it is. Ask for less, or take another model.",
            )
    text = extract_file(answer, original.text)
    check_parses(original.name, original.text, text)
    return text
