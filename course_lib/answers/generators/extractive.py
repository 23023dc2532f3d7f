"""The extractive generator: what answers a question best is quoted, word for word, and cited.

It needs no server, no account and no further model, and cannot make anything up. Where the passages
do not seem to hold an answer, it says that.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from course_lib.answers.generators.base import Request
from course_lib.answers.units import Unit, units_of
from course_lib.answers.words import stems
from course_lib.embedder.vectors import cosine_similarity

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

NOT_IN_INDEX = "This is not in the index."
ENOUGH = 0.39
"""From this cosine similarity of the most similar unit on, it is taken for an answer.

Of the thresholds with two digits it is the largest that refuses at most a tenth of the answerable
questions about documents, in the half of `data/questions` whose ids have an even SHA-256. Of the
other half it refuses 16 of 23 questions that have no answer (`unanswerable.jsonl`), and of those
that have one 6 of 30 about documents, 4 of 28 about manifests and 1 of 27 about code.
`tests/unit/answers/test_extractive.py` measures it, for `all-MiniLM-L6-v2`; other models put their
cosines elsewhere.
"""
QUOTES = 5
"""Sentences or lines that are quoted, besides the neighbours of lines."""

CLOSE = 0.7
"""What is quoted beside the best unit has this share of its score, at least."""

WORDS, PASSAGE = 0.5, 0.6
"""What the question's words in a unit count beside its cosine, and what its passage's cosine."""

MOST_UNITS = 150
"""Units that are compared with a question: about two seconds' work."""


class Extractive:
    """Quotes the passages.

    Parameters
    ----------
    embedder
        The model that filled the index.
    enough
        The least similarity of what is quoted; −1 quotes in every case.
    """

    name = "extractive"
    margin = 0
    window = 0
    needs_prompt = False

    def __init__(self, embedder: EmbeddingClient, enough: float = ENOUGH) -> None:
        self.model = embedder.model_name
        self._embedder = embedder
        self._enough = enough

    def stream(self, request: Request) -> Iterator[str]:
        """Yield one quotation after the other, or `NOT_IN_INDEX`; see `Generator.stream`."""
        units = [unit for passage in request.passages for unit in units_of(passage)][:MOST_UNITS]
        if not units:
            yield NOT_IN_INDEX
            return
        scores, similarity = self._judge(request.question, units)
        request.notes.append(
            f"the most similar sentence or line has a similarity of {similarity:.2f}; "
            f"from {self._enough} on it is taken for an answer"
        )
        if similarity < self._enough:
            yield NOT_IN_INDEX
            return
        best = sorted(range(len(units)), key=lambda place: -scores[place])[:QUOTES]
        best = [place for place in best if scores[place] >= CLOSE * scores[best[0]]]
        for number, group in enumerate(_grouped(units, best)):
            yield ("\n\n" if number else "") + _quoted(group)

    def _judge(self, question: str, units: Sequence[Unit]) -> tuple[list[float], float]:
        """Return how well each unit answers, and how similar the most similar one is."""
        passages = list({unit.passage.index: unit.passage for unit in units}.values())
        texts = [question, *(one.text for one in passages), *(unit.read_as for unit in units)]
        vectors = self._embedder.encode(texts)
        cosines = cosine_similarity(vectors[1:], vectors[0]).tolist()
        numbers = [one.index for one in passages]
        of_passage = dict(zip(numbers, cosines, strict=False))
        of_units = cosines[len(passages) :]
        words = _word_scores(stems(question), [stems(unit.read_as) for unit in units])
        scores = [
            cosine + WORDS * word + PASSAGE * of_passage[unit.passage.index]
            for unit, cosine, word in zip(units, of_units, words, strict=True)
        ]
        return scores, max(of_units)


def _word_scores(asked: set[str], units: Sequence[set[str]]) -> list[float]:
    """Return for each unit the share of the question's words in it; rare words weigh more."""
    counts = Counter(word for unit in units for word in unit)
    weights = {word: math.log(1 + (len(units) + 1) / (1 + counts[word])) for word in asked}
    total = sum(weights.values()) or 1.0
    return [sum(weights[word] for word in asked & unit) / total for unit in units]


def _grouped(units: Sequence[Unit], best: Sequence[int]) -> list[list[Unit]]:
    """Return the units to quote, of each passage together, the best passage first.

    A line is quoted with the lines before and after it.
    """
    chosen: set[int] = set()
    for place in best:
        near = range(place - 1, place + 2) if units[place].is_code else (place,)
        chosen.update(
            other
            for other in near
            if 0 <= other < len(units) and units[other].passage.index == units[place].passage.index
        )
    groups: dict[int, list[Unit]] = {units[place].passage.index: [] for place in best}
    for place in sorted(chosen):
        groups[units[place].passage.index].append(units[place])
    return list(groups.values())


def _quoted(group: Sequence[Unit]) -> str:
    """Return units of one passage as quotations, and the citation after them."""
    parts: list[str] = []
    lines = [unit for unit in group if unit.is_code]
    sentences = [unit.text for unit in group if not unit.is_code]
    if sentences:
        parts.append("> " + " ".join(sentences))
    if lines:
        text = _joined(lines)
        ticks = max(map(len, re.findall(r"`{3,}", text)), default=2) + 1
        parts.append(f"{'`' * ticks}\n{text}\n{'`' * ticks}")
    return "\n".join([*parts, f"[{group[0].passage.index}]"])


def _joined(lines: Sequence[Unit]) -> str:
    """Return lines one below the other, with an ellipsis where some are left out."""
    text = ""
    end = None
    for unit in lines:
        if end is not None:
            text += "\n" if unit.line <= end else "\n…\n"
        text += unit.text
        end = unit.line + unit.text.count("\n") + 1
    return text
