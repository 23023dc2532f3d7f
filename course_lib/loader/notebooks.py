"""Notebooks to chunks: a notebook is read as a page, its code in fences, and cut like one."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from course_lib.loader.contract import fault_of
from course_lib.loader.markdown import page_pieces
from course_lib.loader.pieces import ParserInfo, make_chunks
from course_lib.loader.raw_text import parse_raw_text
from course_lib.records import LOCAL, Chunk, Document, Scope
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

PARSER = ParserInfo("notebook", "1.0.0")

_SOURCE = '"source"'  # so it is only where it is a key: within a text its quotes are escaped
_BACKTICKS = re.compile(r"^ {0,3}(`{3,})", re.MULTILINE)


def parse_notebook(
    document: Document,
    *,
    scope: Scope = LOCAL,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
) -> list[Chunk]:
    r"""Split a notebook into records, as `split_document` splits the page that its cells make.

    Parameters and errors are those of `split_document`. Outputs and empty cells are left out. Lines
    and offsets are those of the file, which is JSON. A file that is not a notebook of format 4 is
    split as raw text.

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
    read = _read(document.content)
    if read is None:
        return parse_raw_text(
            document, scope=scope, chunk_size=chunk_size, chunk_overlap=chunk_overlap
        )
    page, places = read
    pieces = page_pieces(page, document.name, chunk_size, chunk_overlap)
    chunks = make_chunks(replace(document, content=page), scope, pieces, PARSER)
    breaks = [match.end() for match in re.finditer("\n", document.content)]
    found = []
    for chunk in chunks:
        assert chunk.line_start and chunk.line_end  # of the page: `make_chunks` always says them
        first, last = places[chunk.line_start - 1][0], places[chunk.line_end - 1][1]
        lines = {"line_start": bisect_right(breaks, first) + 1}
        lines["line_end"] = bisect_right(breaks, last) + 1
        meta = {**chunk.custom_meta, "charStart": first, "charEnd": last}
        found.append(chunk.model_copy(update={**lines, "custom_meta": meta}))
    return found


def _read(text: str) -> tuple[str, list[tuple[int, int]]] | None:
    """Return a notebook as a page, and for each of its lines where it is in the file."""
    try:
        notebook = json.loads(text)
        cells = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
        language = _language(notebook.get("metadata", {}))
        if any(fault_of(source) for _, source in cells):  # an escape in JSON may write anything
            return None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    left = max(20 * len(text), 10_000_000)  # characters that are searched without a match, at most

    def find(written: str, start: int) -> int:
        nonlocal left
        at = text.find(written, start) if left > 0 else -1
        left -= len(text) - start if at < 0 else 0
        return at

    page: list[str] = []
    places: list[tuple[int, int]] = []
    end = 0
    for kind, source in cells:
        end = max(end, find(_SOURCE, end) + len(_SOURCE))
        if not source.strip():
            continue
        lines = source.removesuffix("\n").split("\n")
        longest = max(map(len, _BACKTICKS.findall(source)), default=2)
        fence = "`" * (longest + 1) if kind == "code" else ""
        found = []
        for line in lines:
            # As Jupyter writes it, without the quotes. Written otherwise, it is where the last was.
            quoted = json.dumps(line, ensure_ascii=False)[1:-1]
            start = find(quoted, end)
            if start >= 0:
                end = start + len(quoted)
            found.append((max(start, end - len(quoted), 0), end))
        if fence:
            lines = [f"{fence}{language}", *lines, fence]
            found = [found[0], *found, found[-1]]
        page += [*lines, ""]
        places += [*found, found[-1]]
    return "\n".join(page), places


def _language(metadata: Mapping[str, Any]) -> str:
    told = metadata.get("language_info", {}).get("name")
    return told if isinstance(told, str) and told.isalnum() else "python"
