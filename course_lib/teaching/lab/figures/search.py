"""The results of a search as a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from course_lib.answers.excerpts import Shown, excerpt
from course_lib.teaching.lab.figures.base import INK, Figure, boxed, table

if TYPE_CHECKING:
    import pandas as pd

    from course_lib.records import SearchResult


def ranking(
    results: Sequence[SearchResult], question: str = "", *, most: int = 160, mark: str = ""
) -> Figure:
    """Show search results as a table: rank, score as a bar, source with lines, and an excerpt.

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
        score = f"{_bar(result.similarity_score)}{result.similarity_score:.2f}"
        lines = [result.metadata.get(name, "") for name in ("lineStart", "lineEnd")]
        source = _source(result.document_name, result.name, "{}–{}".format(*lines))
        rows.append((str(rank), score, source, _snippet(result, question, most, mark)))
    return _results(rows, question, [result.document_name for result in results])


def passages(found: pd.DataFrame, question: str = "") -> Figure:
    """Show what a search of a folder found in the same way, with the whole texts.

    Parameters
    ----------
    found
        What the function that `search_folder` returns gave.
    question
        What was asked, above the table.
    """
    rows = []
    for rank, one in enumerate(found.to_dict("records"), start=1):
        source = _source(one["document"], one["heading"], one["lines"])
        score = f"{_bar(one['similarity'])}{one['similarity']:.2f}"
        rows.append((str(rank), score, source, escape(one["text"])))
    return _results(rows, question, list(found["document"]))


def _results(
    rows: Sequence[tuple[str, str, str, str]], question: str, documents: Sequence[str]
) -> Figure:
    shown = table(("#", "similarity", "source", "text"), rows)
    asked = f'<p style="color: {INK}"><b>{escape(question)}</b></p>' if question else ""
    first = f"; the first is {documents[0]}" if documents else ""
    return boxed(
        asked + shown,
        f"{len(rows)} results{f' for {question!r}' if question else ''}{first}.",
    )


def _source(document: str, heading: str, lines: str) -> str:
    place = f"<b>{escape(document)}</b><br>{escape(heading)}<br>lines {escape(lines)}"
    return f'<div style="min-width: 150px">{place}</div>'


def _bar(similarity: float) -> str:
    share = max(0.0, min(1.0, similarity))
    return (
        f'<div style="background-color: #dddddd; width: 90px; height: 8px">'
        f'<div style="background-color: #0072b2; width: {round(90 * share)}px; height: 8px">'
        "</div></div>"
    )


def _snippet(result: Shown, question: str, most: int, mark: str) -> str:
    shown = excerpt(result, mark or question, most)
    at = shown.casefold().find(mark.casefold()) if mark else -1
    if at < 0:
        return escape(shown)
    before, found, after = shown[:at], shown[at : at + len(mark)], shown[at + len(mark) :]
    return f"{escape(before)}<mark>{escape(found)}</mark>{escape(after)}"
