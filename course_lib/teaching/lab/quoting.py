"""Lab 14's index of code, and an answerer that only quotes: no language model is needed."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg

from course_lib.answers import Prompt, find_citations
from course_lib.answers.generators import Request, generator
from course_lib.answers.passages import Passage
from course_lib.answers.structure import structure_text
from course_lib.embedder import EmbeddingClient
from course_lib.errors import InputError
from course_lib.indexing import IngestOptions, ingest
from course_lib.records import Scope
from course_lib.settings import settings

LEFT_OUT = ("*_test.py", "v1_*", "__pycache__")


def index_kfp_dsl(conn: psycopg.Connection[Any], embedder: EmbeddingClient) -> Path:
    """Copy the code of `kfp.dsl`, add its structure page, index both, and return the copy."""
    found = importlib.util.find_spec("kfp")
    if found is None or found.origin is None:
        raise InputError("kfp is not installed", hint="Install the course's requirements.")
    folder = Path(tempfile.mkdtemp(), "dsl")
    source = Path(found.origin).parent / "dsl"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (folder / "STRUCTURE.md").write_text(structure_text(folder, "kfp.dsl"), encoding="utf-8")
    options = IngestOptions(chunk_size=1200, progress=True)
    ingest(folder, Scope(repo="kfp-dsl"), options, conn=conn, embedder=embedder)
    return folder


def quoting_answerer(
    embedder: EmbeddingClient,
) -> Callable[[str, Sequence[Passage]], tuple[str, list[str]]]:
    """Return a function: question, passages → an answer, and the files that it quotes."""
    speaker = generator(settings(), backend="extractive", embedder=embedder)

    def quote(question: str, passages: Sequence[Passage]) -> tuple[str, list[str]]:
        request = Request(Prompt("", ""), question, tuple(passages), 400, 0)
        text = "".join(speaker.stream(request))
        cited = find_citations(text, passages).cited
        return text, list(dict.fromkeys(one.path for one in passages if one.index in cited))

    return quote
