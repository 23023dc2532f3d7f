"""Notebooks: read as the page that they are."""

import json
from pathlib import Path

import pytest

from course_lib.loader.notebooks import parse_notebook
from course_lib.records import Chunk, Document
from course_lib.settings import project_root


def parsed(content: str, **sizes: int) -> list[Chunk]:
    return parse_notebook(Document(Path("a.ipynb"), "a.ipynb", content), **sizes)


def notebook(*cells: tuple[str, object], **more: object) -> str:
    made = [{"cell_type": kind, "metadata": {}, "source": source} for kind, source in cells]
    return json.dumps({"nbformat": 4, "cells": made, **more}, indent=1)


def test_a_lab_is_cut_at_its_headings() -> None:
    path = project_root() / "solutions" / "02_resource_splitter.ipynb"
    text = path.read_text(encoding="utf-8")
    pieces = parsed(text)
    assert len(pieces) > 50 and all(len(piece.content) <= 512 for piece in pieces)
    assert "image/png" not in "".join(piece.content for piece in pieces)
    assert all(piece.line_start is piece.line_end is None for piece in pieces)
    header = "02 · Whose line is it? > Exercise 2.3: the next cut\n"
    assert header in {piece.custom_meta["header"] for piece in pieces}


def test_code_keeps_its_comments_out_of_the_headings_and_its_fence_is_long_enough() -> None:
    cells = ("code", "# no heading\nsay = '\n```\n'"), ("markdown", ["# Title"])
    [piece] = parsed(notebook(*cells, metadata={"language_info": {"name": "julia"}}))
    assert piece.name == "Title"
    assert piece.content.startswith("````julia\n# no heading\n") and "\n````\n" in piece.content


def test_empty_cells_and_outputs_are_left_out() -> None:
    assert parsed(notebook(("code", []), ("markdown", "  \n"))) == []
    cell = {"cell_type": "code", "source": "1 + 1", "outputs": [{"text": "two"}]}
    [piece] = parsed(json.dumps({"cells": [cell]}))
    assert piece.content == "```python\n1 + 1\n```\n" and piece.parser_id == "notebook"


@pytest.mark.parametrize(
    "broken",
    [
        "version https://git-lfs.github.com/spec/v1\n", '{"cells": [', "[]", '{"cells": 1}',
        '{"cells": [{}]}', '{"cells": [{"cell_type": "code", "source": [1]}]}',
        '{"worksheets": [{"cells": []}]}', "[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_notebook_is_raw_text(broken: str) -> None:
    pieces = parsed(broken)
    assert pieces and {piece.kind for piece in pieces} == {"raw-text"}
