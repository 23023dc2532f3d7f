"""The stages of the pipeline, as the strip at the top of each lab."""

from __future__ import annotations

from html import escape

from course_lib.errors import InputError
from course_lib.teaching.lab.figures.base import INK, Figure, boxed

STAGES = ("documents", "chunks", "vectors", "table", "search", "API", "pipeline", "answers")
PLAIN = f"color: {INK}; border: 1px solid #9a9a9a; padding: 3px 8px; background-color: #f4f4f4"
HERE = (
    "color: #ffffff; border: 2px solid #00466e; padding: 3px 8px; background-color: #0072b2; "
    "font-weight: bold"
)


def pipeline(here: str = "") -> Figure:
    """Show the stages of the pipeline with "you are here".

    Parameters
    ----------
    here
        One of documents, chunks, vectors, table, search, API, pipeline, answers; none if empty.
    """
    if here and here not in STAGES:
        raise InputError(f"{here!r} is not a stage", hint=f"There are: {', '.join(STAGES)}.")
    boxes = [
        f'<span style="{HERE}">▶ {escape(stage)}: you are here</span>'
        if stage == here
        else f'<span style="{PLAIN}">{escape(stage)}</span>'
        for stage in STAGES
    ]
    line = f'<div style="line-height: 2.4; font-size: 13px">{" → ".join(boxes)}</div>'
    where = f"; you are at {here}" if here else ""
    return boxed(line, f"The stages: {' → '.join(STAGES)}{where}.")
