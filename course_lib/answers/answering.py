"""Answering: a question goes in, a grounded answer with its sources comes out, as it is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import psycopg

from course_lib.answers.budget import Budget, fitted_request
from course_lib.answers.citations import find_citations, without_citations
from course_lib.answers.context import ContextOptions, retrieve_context
from course_lib.answers.faithfulness import claims_of, says_something, unsupported
from course_lib.answers.generators.base import Generator, Request
from course_lib.answers.passages import Context, Passage
from course_lib.answers.prompts import Prompt, build_prompt, system_prompt
from course_lib.records import Query

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient
    from course_lib.settings import Settings

_UNKNOWN = (
    "this is not in the index",
    "i don't know",
    "i don’t know",
    "i do not know",
    "no passage answers the question",
    "the passages do not answer the question",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and what it is based on.

    Attributes
    ----------
    context
        What was retrieved.
    passages, dropped
        What the generator was given, and what did not fit.
    budget
        Where the tokens went; None for a generator without a prompt.
    text
        The answer.
    thinking
        What the model thought before it, which is not judged.
    citations
        Numbers of the passages that it cites.
    flagged
        Citations of what is not among the passages.
    is_known
        Whether it says something else than that it does not know.
    notes
        What the generator had to say beside it.
    unsupported
        Sentences of a language model that the passages which they cite do not seem to support.
    doubt
        Why not even a part of the answer should be believed as it is; empty for other answers. Show
        it before the text.
    """

    context: Context
    passages: tuple[Passage, ...]
    dropped: tuple[Passage, ...] = ()
    budget: Budget | None = None
    text: str = ""
    thinking: str = ""
    citations: tuple[int, ...] = ()
    flagged: tuple[str, ...] = ()
    is_known: bool = False
    notes: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    doubt: str = ""


def answer(
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    query: Query,
    generator: Generator,
    settings: Settings,
    *,
    on_ready: Callable[[Answer], None] = lambda answer: None,
    on_text: Callable[[str], None] = lambda piece: None,
    on_thinking: Callable[[str], None] = lambda piece: None,
) -> Answer:
    """Answer a question from the index.

    Parameters
    ----------
    conn
        A connection from `connect`.
    embedder
        The model that filled the index.
    query
        The question, how many passages, and which rows count.
    generator
        What makes the answer; see `course_lib.answers.generator`.
    settings
        How the passages are chosen, the limits, and the instructions; and whose documents are read,
        where the query names no tenant.
    on_ready
        Called when all is known but the text and what is said of it.
    on_text
        Called with each piece of the answer, as it comes and before it is checked. Without any
        passage, no generator is asked.
    on_thinking
        Called with each piece of what the model thinks before it answers.

    Raises
    ------
    InputError
        If the question is empty or too long.
    GenerationError
        If the generator cannot be reached, refuses the request, or breaks off.
    DatabaseError
        If there is no index, or the database went away.

    Examples
    --------
    >>> query = Query("How do I undo a release?", top_k=6)
    >>> answer(conn, embedder, query, generator, settings()).text  # doctest: +SKIP
    'Promote the version before it [1].'
    """
    request, known = prepare(conn, embedder, query, generator, settings)
    on_ready(known)
    request = replace(request, on_thinking=on_thinking)
    pieces: list[str] = []
    if request.passages:
        for piece in generator.stream(request):
            pieces.append(piece)
            on_text(piece)
    text = "".join(pieces)
    found = find_citations(text, request.passages)
    is_known = bool(text.strip()) and not is_refusal(text)
    done = replace(
        known,
        text=text,
        thinking="".join(request.thinking),
        citations=found.cited,
        flagged=found.flagged,
        is_known=is_known,
        notes=tuple(request.notes),
    )
    if not (is_known and generator.needs_prompt):
        return done
    doubtful, doubt = doubts_about(text, done.passages, embedder.encode)
    return replace(done, unsupported=doubtful, doubt=doubt)


def is_refusal(text: str) -> bool:
    """Return whether an answer begins with words that say that it does not know.

    Examples
    --------
    >>> is_refusal("I don't know."), is_refusal("Drift is slow [1].")
    (True, False)
    """
    return text.strip().lower().startswith(_UNKNOWN)


def doubts_about(
    text: str, passages: Sequence[Passage], encode: Callable[[list[str]], Any]
) -> tuple[tuple[str, ...], str]:
    """Return what is doubtful in a language model's answer; see `Answer`.

    Parameters
    ----------
    text
        The answer.
    passages
        What the model was given.
    encode
        As in `course_lib.answers.faithfulness.support`.

    Returns
    -------
    tuple
        The sentences that are not supported, and why nothing of it should be believed: empty, if
        there is no such reason.
    """
    encode = _once(encode)
    claims = claims_of(text)
    doubtful = unsupported(claims, passages, encode)
    doubt = ""
    if not find_citations(text, passages).cited:
        doubt = "the answer cites none of its passages"
    elif not without_citations(text):
        doubt = "the answer holds citations alone"
    elif claims and not says_something(claims, passages, encode):
        doubt = "no passage seems to say any of this"
    return doubtful, doubt


def _once(encode: Callable[[list[str]], Any]) -> Callable[[list[str]], Any]:
    """Return a function that encodes each text only once."""
    known: dict[str, Any] = {}

    def looked_up(texts: list[str]) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, encode(new), strict=True))
        return np.array([known[text] for text in texts])

    return looked_up


def prepare(
    conn: psycopg.Connection,
    embedder: EmbeddingClient,
    query: Query,
    generator: Generator,
    settings: Settings,
) -> tuple[Request, Answer]:
    """Retrieve the passages for a question; return the request, and the answer without its text."""
    whose = replace(query, tenant=settings.tenant if query.tenant is None else query.tenant)
    context = retrieve_context(conn, embedder, whose, context_options(settings))
    question = context.question
    if not generator.needs_prompt:
        request = Request(Prompt("", ""), question, context.passages, settings.max_output, 0)
        return request, Answer(context, context.passages)
    instructions = system_prompt(settings)

    def build(passages: Sequence[Passage]) -> Prompt:
        return build_prompt(question, passages, system=instructions)

    request, fitted = fitted_request(
        generator, question, build, context.passages, max_output=settings.max_output
    )
    return request, Answer(context, fitted.passages, fitted.dropped, fitted.budget)


def context_options(settings: Settings) -> ContextOptions:
    """Return what the settings say about how passages are chosen.

    Examples
    --------
    >>> from course_lib.settings import Settings
    >>> context_options(Settings(RAG_RERANK_K="6")).rerank_k
    6
    """
    return ContextOptions(
        hint_max_chunks=settings.hint_max_chunks,
        structure_max_chunks=settings.structure_max_chunks,
        rerank=settings.rerank_model,
        rerank_k=settings.rerank_k,
    )
