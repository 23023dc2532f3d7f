"""The command that answers a question from the index, and shows what the answer is based on."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from course_lib.cli.index import check_index, check_question, connect
from course_lib.cli.options import OneBranch, OneRepo, Question, TopK
from course_lib.cli.printing import say, show
from course_lib.errors import InputError
from course_lib.records import Query, embedded_text
from course_lib.settings import GeneratorName, settings

if TYPE_CHECKING:
    from course_lib.answers import Answer, Generator
    from course_lib.embedder import EmbeddingClient

ORIGINS = {"hint": "named in the question", "structure": "STRUCTURE.md", "search": "found"}


def ask(
    question: Question,
    top_k: TopK = None,
    model: str | None = None,
    backend: GeneratorName | None = None,
    show_sources: bool = False,
    show_thinking: bool = False,
    repo: OneRepo = None,
    branch: OneBranch = None,
) -> None:
    """Answer a question from the index, with its sources.

    The answer and its sources go to standard output, what is used for it to standard error.

    Example: course ask "how do I undo a release?" --show-sources

    Parameters
    ----------
    top_k
        Passages.
    model : RAG_OLLAMA_MODEL, RAG_OPENAI_MODEL
        Model that answers.
    backend : RAG_GENERATOR, extractive
        Quote the passages, or ask a language model; auto takes one that is there.
    show_sources
        Print the passages themselves as well.
    show_thinking
        Print what the model thinks before it answers.
    """
    from course_lib.answers import GenerationError, answer, generator
    from course_lib.answers.citations import with_places
    from course_lib.embedder import EmbeddingClient

    check_question(question)
    embedder = EmbeddingClient()
    chosen = generator(settings(), backend=backend, model=model, embedder=embedder)
    if (backend or settings().generator) == "auto" and not chosen.needs_prompt:
        say("no language model was found (OLLAMA_URL, OPENAI_BASE_URL), so passages are quoted")
    pieces: list[str] = []
    is_thinking = False

    def on_thinking(piece: str) -> None:
        nonlocal is_thinking
        if show_thinking:
            say(piece if is_thinking else f"thinking  {piece}", end="")
            is_thinking = True

    with connect() as conn:
        check_index(conn, embedder)
        query = Query(
            question,
            top_k=top_k or settings().top_k,
            repo=repo,
            branch=branch,
            tenant=settings().tenant,
        )
        try:
            done = answer(
                conn,
                embedder,
                query,
                chosen,
                settings(),
                on_ready=lambda known: _banner(known, chosen, embedder),
                on_text=pieces.append,
                on_thinking=on_thinking,
            )
        except GenerationError:
            show("".join(pieces), end="")
            raise
        finally:
            if is_thinking:
                say("\n")
    if not done.passages:
        raise InputError(
            "No context retrieved: nothing in the index can answer this",
            hint="Ingest what you ask about (course ingest DIRECTORY), take away --repo or "
            "--branch, or see what a search finds: course search QUESTION",
        )
    _warnings(done)
    show(with_places(done.text, done.passages))
    _sources(done, show_sources)


def _banner(known: Answer, chosen: Generator, embedder: EmbeddingClient) -> None:
    """Print what is used for an answer, before it begins."""
    context, budget = known.context, known.budget
    counts = [
        f"{sum(one.origin == origin for one in known.passages)} {words}"
        for origin, words in ORIGINS.items()
    ]
    say(f"answers   {chosen.name}" + (f", {chosen.model}" if chosen.needs_prompt else ""))
    say(f"index     {embedder.model_name}")
    order = f", ordered by {context.reranker}" if context.reranker else ""
    say(f"passages  {len(known.passages)}: {', '.join(counts)}{order}")
    if budget is not None:
        say(
            f"tokens    {budget.input} for the prompt, up to {budget.output} for the answer, "
            f"{budget.margin} kept free, of {budget.window} ({budget.tokenizer})"
        )
    for one in known.dropped:
        say(f"no room for [{one.index}: {one.place}]")
    for name in context.unknown_hints:
        say(f"{name} is not in the index: check its name, or ingest it")
    if not context.has_structure and settings().structure_max_chunks and context.passages:
        say(
            "no STRUCTURE.md in the index, so this goes without one. To have one: "
            "course structure DIRECTORY, then course ingest DIRECTORY again"
        )
    if chosen.needs_prompt:
        say("The answer is shown when it is whole and checked.")
    say("")


def _warnings(done: Answer) -> None:
    """Print what speaks against an answer, before it is read."""
    if done.doubt:
        say(f"careful: {done.doubt}")
    for citation in done.flagged:
        say(f"careful: the answer cites {citation}, which is none of its passages")
    for sentence in () if done.doubt else done.unsupported:
        say(f"careful: what it cites does not seem to say this: {sentence}")
    if done.doubt or done.flagged or done.unsupported:
        say("")


def _sources(done: Answer, show_passages: bool) -> None:
    """Print what the answer cites; all passages where it cites none of them."""
    from course_lib.answers.excerpts import excerpt
    from course_lib.retriever.versions import named

    cited = [one for one in done.passages if one.index in done.citations]
    if done.is_known or show_passages:
        show("\nSources" if cited else "\nSources, of which the answer cites none")
        for one in done.passages if show_passages or not cited else cited:
            show(f"  [{one.index}] {one.place}  {one.link}".rstrip())
            if one.also_in:
                show(f"      in {named([one.result.branch])}, and the same in {named(one.also_in)}")
            if show_passages:
                text = embedded_text(excerpt(one.result), one.result.metadata.get("header"))
                show(textwrap.indent(text, "      ") + "\n")
    else:
        say("--show-sources prints what came nearest")
    for note in done.notes:
        say(f"({note})")
