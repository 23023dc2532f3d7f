"""Whether the index holds an answer at all: likeness and words go in, a probability comes out.

A search always finds something. Whether that answers is judged by four signs, weighed by a logistic
regression over the course's labelled questions and `data/questions/unanswerable.jsonl`;
`tests/bench/calibrate_answers.py` fits the weights and says how well they do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Set
from typing import NamedTuple

from course_lib.retriever.excerpts import COMMON

ENOUGH = 0.5
"""From this probability on there is an answer."""

LEVELS = {
    0.8: "likely an answer",
    ENOUGH: "perhaps an answer: the passages are only somewhat like one",
    0.3: "perhaps in the index all the same: some of it is like the question",
    0.0: "likely not in the index",
}
"""What is said of a probability, from each of these on.

In a five-fold cross-validation over the course's 219 questions, with an index of the course's data,
the first level was given to 122 of the 175 questions that have an answer and to 3 of the 44 that
have none; the second to 41 and 3, the third to 8 and 5, the last to 4 and 33. What is quoted holds
the very words of the answer in 74 % of the questions of the first level that have one, in 46 % of
those of the second. Of another index no more is known than that these are signs, and no proof.
"""

_ENDINGS = (("ing", ""), ("ies", "y"), ("ed", ""), ("es", ""), ("s", ""))
_SENTENCE_ENDS = (". ", "? ", "! ")


class Signs(NamedTuple):
    """What speaks for an answer.

    Attributes
    ----------
    passage, unit
        Cosine similarity of the question with the most similar passage, and with the most similar
        sentence or line.
    cover
        Share of the question's words that the passages hold.
    missing
        1 if the question names something that no passage names, else 0.
    """

    passage: float
    unit: float
    cover: float
    missing: float


WEIGHTS = Signs(6.0, 7.29, 2.48, -4.33)
CONSTANT = -6.13


def probability(signs: Signs) -> float:
    """Return the probability that the index holds the answer.

    It holds for `all-MiniLM-L6-v2`; other models put their cosines elsewhere.

    Examples
    --------
    >>> round(probability(Signs(0.5, 0.6, 0.7, 0)), 1)
    1.0
    >>> round(probability(Signs(0.2, 0.2, 0.2, 1)), 1)
    0.0
    """
    total = CONSTANT + sum(weight * sign for weight, sign in zip(WEIGHTS, signs, strict=True))
    return 1 / (1 + math.exp(-total))


def in_words(chance: float) -> str:
    """Return what a probability is worth, as it is told to whoever asked.

    A number would promise more than four signs, weighed on one collection of questions, can hold.

    Examples
    --------
    >>> in_words(0.96)
    'likely an answer; judged by likeness and shared words, not by understanding'
    """
    level = next(said for least, said in LEVELS.items() if chance >= least)
    return f"{level}; judged by likeness and shared words, not by understanding"


def signs_of(
    question: str,
    texts: Iterable[str],
    passage_cosines: Iterable[float],
    unit_cosines: Iterable[float],
) -> Signs:
    """Return the signs for a question and the texts of its passages, with their paths.

    Examples
    --------
    >>> signs_of("What is a Kafka event?", ["Events are carried by mail."], [0.4], [0.5])
    Signs(passage=0.4, unit=0.5, cover=0.5, missing=1.0)
    """
    asked = stems(question)
    held: Set[str] = set().union(*map(stems, texts))
    named = set().union(*map(stems, _names(question)))
    return Signs(
        max(passage_cosines, default=0.0),
        max(unit_cosines, default=0.0),
        len(asked & held) / max(1, len(asked)),
        float(bool(named - held)),
    )


def _names(question: str) -> Iterator[str]:
    """Yield what looks like somebody's name for something, for which nothing else will do.

    It has a capital within a sentence, a capital within a word, or an underscore.

    Examples
    --------
    >>> list(_names("Which job of Kafka reads my_topic? It calls getNext."))
    ['Kafka', 'my_topic', 'getNext']
    """
    for word in re.finditer(r"\w+", question):
        begins = not word.start() or question[word.start() - 2 : word.start()] in _SENTENCE_ENDS
        is_code = re.search(r"[a-z][A-Z]", word[0]) or "_" in word[0][1:-1]
        if is_code or ("A" <= word[0][0] <= "Z" and not begins):
            yield word[0]


def stems(text: str) -> set[str]:
    """Return the words of a text that say something, without their endings.

    Endings are only cut off: "takes" and "taking" are equal, but "take" is another word.

    Examples
    --------
    >>> sorted(stems("How do the StoreSettings change policies?"))
    ['change', 'policy', 'setting', 'store']
    >>> stems("takes"), stems("taking"), stems("take")
    ({'tak'}, {'tak'}, {'take'})
    """
    parted = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    words = re.findall(r"[^\W_]+", parted.casefold())
    return {_stem(word) for word in words if word not in COMMON and len(word) > 1}


def _stem(word: str) -> str:
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + instead
    return word
