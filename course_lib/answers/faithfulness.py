"""Faithfulness: an answer and its passages go in, the sentences that they do not support come out.

A citation that exists does not make a sentence true. Whether a passage says what a sentence claims
is a question of meaning; two signs of it can be had without a language model: likeness and words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from course_lib.answers.citations import BLOCK, check_citations, paths_of, without_citations
from course_lib.answers.passages import Passage
from course_lib.answers.units import split_sentences, units_of
from course_lib.answers.words import stems

LEAST_SUPPORT = 0.65
"""What a sentence has, at least, if its passages support it.

Of the thresholds with two digits it has the best balanced accuracy (0.94) for the 180 sentences of
`data/questions/faithfulness.jsonl`; lab 15 measures it on the sentences of a language model.
"""

LEAST_AT_ALL = 0.35
"""What one sentence of an answer has, at least, from one of all its passages.

Of the thresholds in steps of 0.05 it is the largest at which no more answers are doubted than at
any lower one, in the tuning half of the answerable questions (`data/answers/numbered_3.jsonl`). It
is lower than `LEAST_SUPPORT`: what a model says in its own words, above all of code, is less like
the passage than what the author of lab 15's answers wrote.
"""

NUMBER = r"\d+(?:[.,]\d+)*"

# A citation after a full stop is about the sentence before it.
_AFTER_THE_STOP = re.compile(r"([.!?])\s?(\[[^\[\]\n]{1,300}\](?:\s?\[[^\[\]\n]{1,300}\])*)")


def support(sentence: str, evidence: list[str], encode: Callable[[list[str]], Any]) -> float:
    """Return how well some lines of text support a sentence, from 0 to 1.

    - It is the mean of two numbers: the similarity and the share of words.
    - Similarity: the cosine of the sentence and the most similar line, or 0 if it is negative.
    - Share: how many of the sentence's words (`stems`) are in any of the lines; 0 without words.
    - If `evidence` is empty, the result is 0.
    - If the sentence has a number (``re.findall(NUMBER, …)``) that no line has, the result is 0.

    Parameters
    ----------
    sentence
        A sentence of an answer, without its citations.
    evidence
        The lines or sentences of the passages that it cites.
    encode
        Takes a list of texts and returns an array with a row for each: its vector, of length 1.

    Examples
    --------
    An encoder that only tells whether a text is about a canary:

    >>> import numpy as np
    >>> def encode(texts):
    ...     return np.array([[1.0, 0.0] if "canary" in text else [0.0, 1.0] for text in texts])
    >>> lines = ["The canary takes 5 requests of 100.", "It sings."]
    >>> support("A canary takes 5 requests.", lines, encode)  # similarity 1, all words are there
    1.0
    >>> support("The canary sleeps.", lines, encode)  # similarity 1, one word of two
    0.75
    >>> support("A canary takes 7 requests.", lines, encode)  # no line has a 7
    0.0
    """
    held = re.findall(NUMBER, " ".join(evidence))
    if not evidence or any(number not in held for number in re.findall(NUMBER, sentence)):
        return 0.0
    vectors = encode([sentence, *evidence])
    similarity = max(0.0, float((vectors[1:] @ vectors[0]).max()))
    words = stems(sentence)
    shared = words & set().union(*(stems(line) for line in evidence))
    return (similarity + len(shared) / max(1, len(words))) / 2


def find_unsupported(
    sentences: list[str],
    paths: dict[int, str],
    lines: dict[int, list[str]],
    encode: Callable[[list[str]], Any],
    least: float = LEAST_SUPPORT,
) -> list[str]:
    """Return the sentences of an answer that its passages do not support, in their order.

    - Compare each sentence with all lines of the passages that `check_citations` gives it.
    - Judge it by `support`, without its citations.
    - Return it, as it is written, if its support is below `least`.

    Parameters
    ----------
    sentences
        The sentences of an answer, with their citations.
    paths, lines
        Number → path, and number → lines of each passage.
    encode
        As in `support`.
    least
        The threshold.

    Examples
    --------
    >>> import numpy as np
    >>> def encode(texts):
    ...     return np.array([[1.0, 0.0] if "canary" in text else [0.0, 1.0] for text in texts])
    >>> paths = {1: "a.md", 2: "b.md"}
    >>> lines = {1: ["The canary sings."], 2: ["Mills turn."]}
    >>> find_unsupported(["A canary sings [1].", "It sings [2: b.md]."], paths, lines, encode)
    ['It sings [2: b.md].']
    """
    stands_on, _ = check_citations(sentences, paths)
    found = []
    for sentence, numbers in zip(sentences, stands_on, strict=True):
        evidence = [line for number in numbers for line in lines[number]]
        if support(without_citations(sentence), evidence, encode) < least:
            found.append(sentence)
    return found


def claims_of(text: str) -> list[str]:
    r"""Return the sentences of an answer that say something, with their citations; each once.

    Blocks of code, quoted lines and lines of signs alone say nothing themselves.

    Examples
    --------
    >>> claims_of("It sings. [1] Listen:\n> Tweet.\n\n---\n- It sleeps [2].")
    ['It sings [1].', 'Listen:', '- It sleeps [2].']
    """
    lines = re.split(r"\n+", re.sub(BLOCK, "\n", text, flags=re.DOTALL | re.MULTILINE))
    claims = [
        claim
        for line in lines
        for claim in split_sentences(_AFTER_THE_STOP.sub(r" \2\1", line))
        if stems(without_citations(claim))
    ]
    return list(dict.fromkeys(claims))


def unsupported(
    claims: list[str], passages: Sequence[Passage], encode: Callable[[list[str]], Any]
) -> tuple[str, ...]:
    """Return the claims of an answer that the passages which they cite do not support.

    An answer that cites no passage has nothing to be held against.

    Parameters
    ----------
    claims
        What `claims_of` returned.
    passages
        What the model was given.
    encode
        As in `support`.
    """
    paths = paths_of(passages)
    if not any(check_citations(claims, paths)[0]):
        return ()
    named = find_unsupported(claims, paths, _lines_of(passages), encode)
    return tuple(without_citations(claim) for claim in named)


def says_something(
    claims: list[str], passages: Sequence[Passage], encode: Callable[[list[str]], Any]
) -> bool:
    """Return whether at least one claim is supported a little by a passage, cited or not.

    Parameters
    ----------
    claims, passages, encode
        As in `unsupported`.
    """
    lines = _lines_of(passages).values()
    return any(
        support(without_citations(claim), evidence, encode) >= LEAST_AT_ALL
        for claim in claims
        for evidence in lines
    )


def _lines_of(passages: Sequence[Passage]) -> dict[int, list[str]]:
    return {passage.index: [unit.text for unit in units_of(passage)] for passage in passages}
