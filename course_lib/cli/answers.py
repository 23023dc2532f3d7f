"""The command that answers a question from the index, and shows what the answer is based on."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from course_lib.cli.data import OneBranch, OneRepo, Question, check_index, connect
from course_lib.cli.printing import say, show
from course_lib.settings import settings

if TYPE_CHECKING:
    from course_lib.answers import Answer, Generator
    from course_lib.embedder import EmbeddingClient

ORIGINS = {"hint": "named in the question", "structure": "STRUCTURE.md", "search": "found"}


def ask(
    question: Question,
    top_k: Annotated[
        int | None,
        typer.Option("--top-k", "-k", min=1, help="Passages.", show_default="RAG_TOP_K, 6"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Model that answers.", show_default="RAG_OLLAMA_MODEL, RAG_OPENAI_MODEL"),
    ] = None,
    backend: Annotated[
        Literal["extractive", "ollama", "openai", "auto"] | None,
        typer.Option(
            help="Quote the passages, or ask a language model; auto takes one that is there.",
            show_default="RAG_GENERATOR, extractive",
        ),
    ] = None,
    show_sources: Annotated[
        bool, typer.Option("--show-sources", help="Print the passages themselves as well.")
    ] = False,
    show_thinking: Annotated[
        bool, typer.Option("--show-thinking", help="Print what the model thinks before it answers.")
    ] = False,
    repo: OneRepo = None,
    branch: OneBranch = None,
) -> None:
    """Answer a question from the index, with its sources.

    The answer and its sources go to standard output, what is used for it to standard error.

    Example: course ask "how do I undo a release?" --show-sources
    """
    from course_lib.answers import answer, generator
    from course_lib.embedder import EmbeddingClient
    from course_lib.errors import InputError
    from course_lib.records import Query

    if not question.strip():
        raise InputError("the question is empty", hint='Example: course ask "what is drift?"')
    if model is not None and (backend or settings().generator) == "extractive":
        raise InputError(
            "the extractive backend has no model to name",
            hint="Add --backend ollama or --backend openai.",
        )
    embedder = EmbeddingClient()
    chosen = generator(settings(), backend=backend, model=model, embedder=embedder)
    if (backend or settings().generator) == "auto" and not chosen.needs_prompt:
        say("no language model was found (OLLAMA_URL, OPENAI_BASE_URL), so passages are quoted")
    is_thinking = False

    def on_thinking(piece: str) -> None:
        nonlocal is_thinking
        if show_thinking:
            say(piece if is_thinking else f"thinking  {piece}", end="")
            is_thinking = True

    def on_text(piece: str) -> None:
        nonlocal is_thinking
        if is_thinking:
            say("\n")
            is_thinking = False
        show(piece, end="")

    with connect() as conn:
        check_index(conn, embedder)
        query = Query(
            question,
            top_k=top_k or settings().top_k,
            repo=repo,
            branch=branch,
            tenant=settings().tenant,
        )
        done = answer(
            conn,
            embedder,
            query,
            chosen,
            settings(),
            on_ready=lambda known: _banner(known, chosen, embedder),
            on_text=on_text,
            on_thinking=on_thinking,
        )
    if not done.passages:
        raise InputError(
            "No context retrieved: nothing in the index can answer this",
            hint="Ingest what you ask about (course ingest DIRECTORY), take away --repo or "
            "--branch, or see what a search finds: course search QUESTION",
        )
    show("")
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
    say("")


def _sources(done: Answer, show_passages: bool) -> None:
    """Print what the answer cites; all passages where it cites none of them."""
    from course_lib.answers.excerpts import excerpt
    from course_lib.records import embedded_text
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
    for citation in done.flagged:
        say(f"careful: the answer cites {citation}, which is none of its passages")
    for sentence in done.unsupported:
        say(f"careful: what it cites does not seem to say this: {sentence}")
    for note in done.notes:
        say(f"({note})")
