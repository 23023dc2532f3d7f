"""Excerpts: a result and its question go in, the text that a person is shown comes out.

Where there is little room, it is the part that holds the question's words. Programs get the content
itself.
"""

from __future__ import annotations

import re
from typing import Protocol

COMMON = frozenset(
    "a an and are as at be but by can could did do does for from get has have how i if in into is "
    "it its long many me much my no not of on one or our should so that the their then there these "
    "this to us was we what when where which who why will with would you your".split()
)
"""Words that are in nearly every text: marked or looked for, they would hide the others."""


class Shown(Protocol):
    """What a search returns, as far as it is shown: `SearchResult`, or a row of one's own."""

    @property
    def content(self) -> str:
        """The piece."""


def excerpt(result: Shown, question: str = "", most: int | None = None) -> str:
    """Return what a person is shown of a result: it holds what matched.

    Parameters
    ----------
    result
        What was found.
    question
        What was asked, or a phrase to show. Where it is in the text word for word, that part is
        shown; otherwise the part with the most of its words, or the beginning.
    most
        Characters of the text, on one line; None returns all of it, as it is.

    Examples
    --------
    >>> from types import SimpleNamespace as Row
    >>> text = "Drift has many early signs. Releases are undone by name, and nobody has to build."
    >>> excerpt(Row(content=text), "How is a release undone?", 40)
    '… early signs. Releases are undone by …'
    """
    text = result.content.strip("\n")
    if most is None:
        return text
    text = " ".join(text.split())
    start = _start(text, question, most)
    end = start + most
    if end < len(text):
        space = text.rfind(" ", start, end + 1)
        end = space if space > start else end
    return f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"


def words_in(question: str) -> re.Pattern[str] | None:
    """Return what finds a question's words in a text, in their common forms; None without any.

    Examples
    --------
    >>> words_in("What is drift?").findall("Drifts and decay")
    ['Drifts']
    >>> words_in("What is it?")
    """
    words = {word for word in re.findall(r"\w+", question.casefold()) if word not in COMMON}
    if not words:
        return None
    longest_first = sorted(map(re.escape, words), key=len, reverse=True)
    return re.compile(rf"\b((?:{'|'.join(longest_first)})(?:s|es|ed|ing)?)\b", re.IGNORECASE)


def _start(text: str, question: str, most: int) -> int:
    """Return where the part of a text begins that holds most of a question."""
    asked = question.strip()
    phrase = re.search(re.escape(asked), text, re.IGNORECASE) if asked else None
    if phrase:
        room = max(0, min(most // 3, most - len(asked)))
        return 0 if phrase.end() <= most else _word_before(text, phrase.start(), room)
    pattern = words_in(question)
    found = list(pattern.finditer(text)) if pattern else []

    def held(start: int) -> tuple[int, int]:
        inside = [one for one in found if start <= one.start() and one.end() <= start + most]
        return len({one[0].casefold() for one in inside}), -start

    return max([0, *(_word_before(text, one.start(), most // 3) for one in found)], key=held)


def _word_before(text: str, at: int, room: int) -> int:
    """Return where the first word begins that is at most `room` characters before a place."""
    if at <= room:
        return 0
    space = text.find(" ", at - room - 1, at)
    return (space if space >= 0 else text.rfind(" ", 0, at)) + 1
