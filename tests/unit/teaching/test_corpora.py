"""Lab 16 cuts the same pages in several ways, and asks each of them by its name."""

from __future__ import annotations

from pathlib import Path

from course_lib.embedder import EmbeddingClient
from course_lib.evaluation import Question
from course_lib.loader import split_document
from course_lib.records import Document
from course_lib.teaching.lab.retrieval import Corpora, pieces_of
from tests.schemas import OwnSchema

TEXT = "# Pets\n\nThe cat sleeps by day.\n\nThe dog guards the house at night.\n"
PAGE = Document(Path("pets.md"), "pets.md", TEXT)
QUESTION = Question("q", "Who guards the house?", "docs", ("pets.md",), answer_contains=("dog",))


def test_each_corpus_is_asked_by_its_name(database: OwnSchema) -> None:
    with database.connect() as conn:
        corpora = Corpora(conn, EmbeddingClient(cache=True), [PAGE], [QUESTION])
        corpora.index("whole", split_document)
        corpora.index("lines", lambda page: pieces_of(page, page.content.split("\n\n")[1:]))
        assert corpora.ask("whole", "dense") == [["answer"]]
        assert corpora.ask("lines", "dense") == [["answer", "2"]]
        assert corpora.ask("lines", "hybrid", []) == []
        assert [len(results) for results in corpora.search("lines", "hybrid")] == [2]
