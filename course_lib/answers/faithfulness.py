"""Faithfulness: an answer and its passages go in, the sentences that they do not support come out.

A citation that exists does not make a sentence true. Whether a passage says what a sentence claims
is a question of meaning; two signs of it can be had without a language model: likeness and words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from course_lib.answers.citations import CITATION, CODE, stands_on
from course_lib.answers.passages import Passage
from course_lib.answers.units import split_sentences, units_of
from course_lib.answers.words import stems

LEAST_SUPPORT = 0.65
"""What a sentence has, at least, if its passages support it.

Of the thresholds with two digits it has the best balanced accuracy (0.91) for the 90 sentences of
the tuning half of `data/questions/faithfulness.jsonl`; lab 15 measures it on the other half.
"""

NUMBER = r"\d+(?:[.,]\d+)*"

# A citation after a full stop is about the sentence before it.
_AFTER_THE_STOP = re.compile(r"([.!?])((?:\s?\[[^\[\]\n]{1,300}\])+)")


def support(sentence: str, evidence: list[str], encode: Callable[[list[str]], Any]) -> float:
    """Return how well some lines of text support a sentence, from 0 to 1.

    It is the mean of two numbers: the cosine similarity of the sentence to the most similar line
    (0 if it is negative), and the share of the sentence's words that occur in any of the lines.
    `stems` returns the set of the words of a text, without their endings. The result is 0 if
    `evidence` is empty, or if the sentence has a number (``re.findall(NUMBER, sentence)``) that no
    line has. If `stems` finds no words in the sentence, the share is 0.

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


def unsupported(
    text: str, passages: Sequence[Passage], encode: Callable[[list[str]], Any]
) -> tuple[str, ...]:
    """Return the sentences of an answer that what they cite does not support, as `support` judges.

    `check_citations` says what each sentence is held against. Code and quoted lines are not judged;
    an answer that cites nothing has nothing to be held against.

    Parameters
    ----------
    text
        The answer.
    passages
        What the model was given.
    encode
        As in `support`.
    """
    parts = re.split(r"\n+", CODE.sub("\n", text))
    claims = [
        claim for part in parts for claim in split_sentences(_AFTER_THE_STOP.sub(r"\2\1", part))
    ]
    cited, _ = stands_on(claims, passages)
    if not any(cited):
        return ()
    lines = {one.index: [unit.text for unit in units_of(one)] for one in passages}
    found = []
    for claim, numbers in zip(claims, cited, strict=True):
        sentence = re.sub(r"\s+(?=[.!?,;])", "", CITATION.sub("", claim)).strip(" \t-*#>")
        evidence = [line for number in numbers for line in lines[number]]
        if stems(sentence) and support(sentence, evidence, encode) < LEAST_SUPPORT:
            found.append(sentence)
    return tuple(found)
