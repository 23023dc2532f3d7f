"""Excerpts: what a person is shown of a result begins with a word and holds what matched."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.answers.excerpts import excerpt
from course_lib.loader import read_documents, split_document
from course_lib.records import SearchResult

DOCUMENTS = Path(__file__).resolve().parents[3] / "data" / "documents"
PIECE = SearchResult(
    "1", "a.md", 1, "", 0.5, 0.5, "documentation", "docs", "", "doc-section", "Drift"
)


def shown(content: str, question: str = "", most: int | None = None, **other: object) -> str:
    return excerpt(replace(PIECE, content=content, **other), question, most)


def test_no_result_of_the_courses_documents_begins_or_ends_within_a_word() -> None:
    for page in read_documents(DOCUMENTS):
        known = set(re.findall(r"\w+", page.content))
        for index, chunk in enumerate(split_document(page)):
            for most in (None, 100):
                words = re.findall(r"\w+", shown(chunk.content, most=most))
                assert {words[0], words[-1]} <= known, (page.name, index)


FILLER = "nothing that was asked about is here " * 5


@pytest.mark.parametrize("question", ["How is a backup made?", "BACKUP", "a backup"])
@pytest.mark.parametrize("most", [12, 30, 90])
def test_what_matched_is_shown_wherever_it_is(question: str, most: int) -> None:
    text = shown(FILLER + "a backup is restored by hand. " + FILLER, question, most)
    assert "backup" in text and len(text) <= most + 4
    assert text.startswith("… ") and text.endswith(" …")


def test_a_text_without_the_questions_words_is_shown_from_its_beginning() -> None:
    assert shown(FILLER, "What is drift?", 20) == shown(FILLER, "", 20) == "nothing that was …"
