"""Notebooks to chunks: a notebook is read as a page, its code in fences, and cut like one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from course_lib.loader.contract import fault_of
from course_lib.loader.markdown import page_pieces
from course_lib.loader.pieces import ParserInfo, make_chunks
from course_lib.loader.raw_text import parse_raw_text
from course_lib.records import LOCAL, Chunk, Document, Scope
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

PARSER = ParserInfo("notebook", "2.1.0")

_BACKTICKS = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)


def parse_notebook(
    document: Document,
    *,
    scope: Scope = LOCAL,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
) -> list[Chunk]:
    r"""Split a notebook into records, as `split_document` splits the page that its cells make.

    Parameters and errors are those of `split_document`. Outputs and empty cells are left out. The
    records have no lines and offsets: those of a file in JSON say nothing to a reader. A file that
    is not a notebook of format 4 is split as raw text.

    Examples
    --------
    >>> from pathlib import Path
    >>> cells = [{"cell_type": "markdown", "source": ["# Drift\n", "It is measured."]},
    ...          {"cell_type": "code", "source": "measure()", "outputs": [{"text": "0.2"}]}]
    >>> file = Document(Path("a.ipynb"), "a.ipynb", json.dumps({"nbformat": 4, "cells": cells}))
    >>> [piece] = parse_notebook(file)
    >>> print(piece.name, piece.content, sep=": ")
    Drift: # Drift
    It is measured.
    <BLANKLINE>
    ```python
    measure()
    ```
    <BLANKLINE>
    """
    page = _page(document.content)
    if page is None:
        return parse_raw_text(
            document, scope=scope, chunk_size=chunk_size, chunk_overlap=chunk_overlap
        )
    pieces = page_pieces(page, document.name, chunk_size, chunk_overlap)
    chunks = make_chunks(replace(document, content=page), scope, pieces, PARSER)
    return [
        chunk.model_copy(
            update={
                "line_start": None,
                "line_end": None,
                "custom_meta": {
                    name: value
                    for name, value in chunk.custom_meta.items()
                    if name not in ("charStart", "charEnd")
                },
            }
        )
        for chunk in chunks
    ]


def _page(text: str) -> str | None:
    """Return a notebook as a page; None where it is not a notebook."""
    try:
        notebook = json.loads(text)
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
        language = _language(notebook.get("metadata", {}))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if any(fault_of(source) for _, source in cells):  # an escape in JSON may write anything
        return None
    page: list[str] = []
    for kind, source in cells:
        if not source.strip():
            continue
        lines = source.removesuffix("\n").split("\n")
        if kind == "code":
            fence = "`" * (max(map(len, _BACKTICKS.findall(source)), default=2) + 1)
            lines = [f"{fence}{language}", *lines, fence]
        page += [*lines, ""]
    return "\n".join(page)


def _language(metadata: Mapping[str, Any]) -> str:
    told = metadata.get("language_info", {}).get("name")
    return told if isinstance(told, str) and told.isalnum() else "python"
