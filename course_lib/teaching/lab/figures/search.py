"""The results of a search as a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from course_lib.answers.excerpts import Shown, excerpt
from course_lib.teaching.lab.figures.base import INK, Figure, boxed, table

if TYPE_CHECKING:
    from course_lib.records import SearchResult


def ranking(
    results: Sequence[SearchResult], question: str = "", *, most: int = 160, mark: str = ""
) -> Figure:
    """Show search results as a table: rank, score as a bar, source, and an excerpt.

    Parameters
    ----------
    results
        Best first.
    question
        What was asked, above the table.
    most
        Characters shown of each text.
    mark
        A phrase to mark where it occurs.
    """
    rows = []
    for rank, result in enumerate(results, start=1):
        share = max(0.0, min(1.0, result.similarity_score))
        bar = (
            f'<div style="background-color: #dddddd; width: 90px; height: 8px">'
            f'<div style="background-color: #0072b2; width: {round(90 * share)}px; height: 8px">'
            "</div></div>"
        )
        score = f"{bar}{result.similarity_score:.3f}"
        source = f"<b>{escape(result.document_name)}</b><br>piece {result.chunk_index}"
        rows.append((str(rank), score, source, _snippet(result, question, most, mark)))
    shown = table(("#", "similarity", "source", "text"), rows)
    asked = f'<p style="color: {INK}"><b>{escape(question)}</b></p>' if question else ""
    first = f"; the first is {results[0].document_name}" if results else ""
    return boxed(
        asked + shown,
        f"{len(results)} results{f' for {question!r}' if question else ''}{first}.",
    )


def _snippet(result: Shown, question: str, most: int, mark: str) -> str:
    shown = excerpt(result, mark or question, most)
    at = shown.casefold().find(mark.casefold()) if mark else -1
    if at < 0:
        return escape(shown)
    before, found, after = shown[:at], shown[at : at + len(mark)], shown[at + len(mark) :]
    return f"{escape(before)}<mark>{escape(found)}</mark>{escape(after)}"
