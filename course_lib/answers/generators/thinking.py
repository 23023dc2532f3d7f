"""Thinking: what a server sends goes in, the answer without the model's thinking comes out.

A server names the thinking in a field of its own, or the model writes it between two marks at the
beginning of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from course_lib.answers.generators.base import GenerationError, Request
from course_lib.answers.tokens import count_tokens

OPEN, CLOSE = "<think>", "</think>"


def answer_only(
    pieces: Iterable[tuple[str, str]], request: Request, model: str, ways_out: str
) -> Iterator[str]:
    r"""Yield the text of an answer; what the model thought goes to `request.thought`.

    Parameters
    ----------
    pieces
        Pairs: a piece of thinking that the server names as such, and a piece of text.
    request
        What was asked.
    model
        The model's name.
    ways_out
        What else answers, for errors.

    Raises
    ------
    GenerationError
        If there is no answer.

    Examples
    --------
    >>> from course_lib.answers.prompts import Prompt
    >>> request = Request(Prompt("", ""), "How many?", (), max_output=50, window=900)
    >>> pieces = [("", "<thi"), ("", "nk>2 + 2"), ("", "</think>\n\nFour"), ("", ".")]
    >>> "".join(answer_only(pieces, request, "m", "")), request.thinking
    ('Four.', ['2 + 2'])
    """
    state, held = "start", ""
    for thought, text in pieces:
        request.thought(thought)
        held += text
        if state == "start" and not OPEN.startswith(held.lstrip()):
            state = "thinking" if held.lstrip().startswith(OPEN) else "answer"
        if state == "thinking" and CLOSE in held:
            thought, _, held = held.partition(CLOSE)
            request.thought(thought.lstrip().removeprefix(OPEN).strip())
            state = "blank"
        if state == "blank" and (held := held.lstrip()):
            state = "answer"
        if state == "answer" and held:
            yield held
            held = ""
    if state == "start" and held.strip():  # such as "<"
        state = "answer"
        yield held
    if state == "thinking":
        request.thought(held.lstrip().removeprefix(OPEN).strip())
    if state != "answer":
        _no_answer(request, model, ways_out)


def _no_answer(request: Request, model: str, ways_out: str) -> None:
    if not request.thinking:
        raise GenerationError(f"{model} gave an empty answer", hint=f"Ask again. {ways_out}")
    count = count_tokens("".join(request.thinking), model)
    raise GenerationError(
        f"the model thought but gave no answer ({count} tokens of thinking)",
        hint="Raise OPENAI_MAX_OUTPUT, take another model with --model, or set RAG_OLLAMA_THINK=0, "
        f"with which a model of Ollama does not think. {ways_out}",
    )
