"""The token budget: passages and a window go in, a prompt that fits comes out, and what it took.

What a model reads and what it writes share one window. Where both do not fit, hosted APIs answer
with an error, and some local servers cut off the beginning of the prompt without one: the
instructions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from course_lib.answers.generators.base import Generator, Request
from course_lib.answers.passages import Passage
from course_lib.answers.prompts import Prompt
from course_lib.answers.tokens import count_tokens, tokenizer_name
from course_lib.errors import InputError

MESSAGE_TOKENS = 8
"""What a chat puts around each message: its role, and marks for its beginning and end."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Where the tokens of one request go.

    Attributes
    ----------
    window
        What the model takes in all.
    margin
        What is left free, because nobody counts exactly as the server does.
    output
        What the answer may take.
    fixed
        What the prompt takes without any passage: instructions and question.
    passages
        What each passage adds, in their order.
    tokenizer
        What counted.

    Examples
    --------
    >>> budget = Budget(8192, 512, 4096, 300, (150, 130), "an estimate")
    >>> budget.input, budget.free
    (580, 3004)
    """

    window: int
    margin: int
    output: int
    fixed: int
    passages: tuple[int, ...]
    tokenizer: str

    @property
    def input(self) -> int:
        """What the prompt takes."""
        return self.fixed + sum(self.passages)

    @property
    def needed(self) -> int:
        """The smallest window that this request fits."""
        return self.input + self.output + self.margin

    @property
    def free(self) -> int:
        """What is left of the window beside input, output and margin."""
        return self.window - self.needed


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt that fits its window, the passages in it and those that had to go."""

    prompt: Prompt
    passages: tuple[Passage, ...]
    dropped: tuple[Passage, ...]
    budget: Budget


def fit_passages(fixed: int, costs: Sequence[int], scores: Sequence[float], room: int) -> list[int]:
    """Return the places of the passages that stay, in their order, so that the prompt fits `room`.

    - `fixed` is the number of tokens of instructions and question.
    - `costs[i]` is the number of tokens of passage i, and `scores[i]` says how good it is.
    - While the sum of all tokens is larger than `room`, drop the passage with the lowest score.
    - Of equal scores, drop the last one.
    - A dropped passage does not come back.
    - If the question does not fit even without passages, raise a ValueError whose message contains
      the word "question".

    Examples
    --------
    >>> fit_passages(250, [200, 150, 150, 60], [4, 3, 2, 1], 700)
    [0, 1]
    >>> fit_passages(250, [200, 150, 150, 60], [1, 2, 3, 4], 700)
    [1, 2, 3]
    """
    if fixed > room:
        raise ValueError(f"the question does not fit: it takes {fixed} of {room} tokens")
    kept = list(range(len(costs)))
    while fixed + sum(costs[place] for place in kept) > room:
        kept.remove(min(reversed(kept), key=lambda place: scores[place]))
    return kept


def ensure_prompt_fits(
    build: Callable[[Sequence[Passage]], Prompt],
    passages: Sequence[Passage],
    *,
    model: str,
    window: int,
    margin: int,
    max_output: int = 4096,
    least_output: int = 256,
) -> Fitted:
    """Return a prompt for which input + output + margin ≤ window.

    The answer gets what is left beside the prompt, up to `max_output`. Where not even
    `least_output` is left, the passages with the lowest scores go, one after the other.

    Parameters
    ----------
    build
        Makes the prompt of some of the passages, and of none.
    passages
        In the order of the prompt; they keep it, and their numbers.
    model
        Whose tokens are counted.
    window, margin
        Tokens that the model takes, and those that are to stay free.
    max_output, least_output
        Tokens of the answer.

    Raises
    ------
    InputError
        If not even the prompt without passages fits.

    Examples
    --------
    >>> fitted = ensure_prompt_fits(
    ...     lambda some: Prompt("Be brief.", "What is drift?"), [], model="", window=400, margin=50)
    >>> fitted.budget.input, fitted.budget.output
    (24, 326)
    """
    if least_output < 1 or max_output < 1:
        raise InputError("an answer needs room for 1 token or more", hint="Check OPENAI_MAX_OUTPUT")
    least_output = min(least_output, max_output)

    def tokens_of(some: Sequence[Passage]) -> int:
        prompt = build(some)
        return sum(
            count_tokens(text, model) + MESSAGE_TOKENS for text in (prompt.system, prompt.user)
        )

    def costs_of(some: Sequence[Passage]) -> list[int]:
        totals = [tokens_of(some[:count]) for count in range(len(some) + 1)]
        return [after - before for before, after in itertools.pairwise(totals)]

    fixed = tokens_of([])
    room = window - margin - least_output
    if fixed > room:
        raise InputError(
            f"the question does not fit: it takes {fixed} tokens with its instructions, and the "
            f"window of {window} has room for {max(room, 0)} beside {margin} of safety margin and "
            f"{least_output} for the answer",
            hint="Ask in fewer words, take a model with a larger window, or correct "
            "RAG_CONTEXT_WINDOW or RAG_SAFETY_MARGIN_TOKENS.",
        )
    costs, scores, allowed = costs_of(passages), [passage.score for passage in passages], room
    while True:
        kept = [passages[place] for place in fit_passages(fixed, costs, scores, allowed)]
        over = tokens_of(kept) - room
        if over <= 0:
            break
        # Tokens depend a little on what is before them, so their sum may be too small.
        allowed = max(allowed - over, fixed)
    budget = Budget(
        window,
        margin,
        min(max_output, window - margin - tokens_of(kept)),
        fixed,
        tuple(costs_of(kept)),
        tokenizer_name(model),
    )
    dropped = tuple(passage for passage in passages if passage not in kept)
    return Fitted(build(kept), tuple(kept), dropped, budget)


def fitted_request(
    generator: Generator,
    question: str,
    build: Callable[[Sequence[Passage]], Prompt],
    passages: Sequence[Passage] = (),
    *,
    max_output: int,
    least_output: int = 256,
) -> tuple[Request, Fitted]:
    """Return what a language model is asked, and how it fits the model's window.

    Parameters
    ----------
    generator
        The model, with its window and margin.
    question
        What is asked, as the person wrote it.
    build, passages, max_output, least_output
        As in `ensure_prompt_fits`.

    Raises
    ------
    InputError
        If not even the prompt without passages fits.
    """
    fitted = ensure_prompt_fits(
        build,
        passages,
        model=generator.model,
        window=generator.window,
        margin=generator.margin,
        max_output=max_output,
        least_output=least_output,
    )
    budget = fitted.budget
    request = Request(fitted.prompt, question, fitted.passages, budget.output, budget.needed)
    return request, fitted
