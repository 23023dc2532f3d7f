"""The data and the glossary hold what the labs rely on."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from course_lib.loader.recursive import split_text

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ROOT / "data" / "documents"
QUESTIONS = ROOT / "data" / "questions" / "documents.jsonl"
GLOSSARY = ROOT / "labs" / "GLOSSARY.md"

NAMES = (
    "ci-cd-for-ml.md",
    "feature-stores.md",
    "model-monitoring.md",
    "vector-databases-and-embeddings.md",
    "what-is-mlops.md",
)
CHUNK_OVERLAP = 64


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def questions() -> list[dict[str, Any]]:
    return [json.loads(line) for line in read(QUESTIONS).splitlines()]


def prose_paragraphs(text: str) -> list[str]:
    without_code = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [line for line in without_code.split("\n") if line and line[0].isalpha()]


def entries(text: str) -> dict[str, str]:
    parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def anchor(heading: str) -> str:
    """GitHub's rule: lower case, punctuation dropped, spaces become hyphens."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 3}


@pytest.mark.parametrize("name", NAMES)
def test_a_document_is_clean_and_instructive_to_split(name: str) -> None:
    text = read(DOCUMENTS / name)
    assert 800 <= len(text.split()) <= 1500
    assert not set("\r\ufffd\x00\ufeff") & set(text)
    assert text.endswith("\n") and not text.endswith("\n\n")
    lengths = [len(paragraph) for paragraph in prose_paragraphs(text)]
    assert max(lengths) > 600, "one paragraph should be longer than a chunk"
    assert min(lengths) < 120, "one paragraph should be very short"
    assert len(re.findall(r"^## ", text, flags=re.MULTILINE)) >= 5
    assert text.count("```") in (2, 4), "a block of code or two, each closed"
    assert re.search(r"^\|(-+\|)+$", text.replace(" ", ""), flags=re.MULTILINE), "a table"
    assert re.search(r"^(-|\d\.) ", text, flags=re.MULTILINE), "a list"


def test_the_code_of_the_stability_index_gives_the_values_of_the_text() -> None:
    text = read(DOCUMENTS / "model-monitoring.md")
    block = re.search(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert block is not None
    namespace: dict[str, Any] = {}
    exec(block[1], namespace)

    reference = [0.0] * 500 + [1.0] * 300 + [2.0] * 200
    current = [0.0] * 400 + [1.0] * 300 + [2.0] * 300
    assert namespace["psi"](reference, reference) == 0.0
    assert round(namespace["psi"](reference, current), 3) == 0.063
    assert "about 0.063" in text


def test_every_document_answers_at_least_five_questions() -> None:
    counts = Counter(path for question in questions() for path in question["gold_paths"])
    assert {name: counts[name] for name in NAMES if counts[name] < 5} == {}


def test_splitting_with_the_default_settings_leaves_every_answer_phrase_whole() -> None:
    chunks = {
        name: [span.text for span in split_text(read(DOCUMENTS / name), 512, CHUNK_OVERLAP)]
        for name in NAMES
    }
    for question in questions():
        for phrase in question["answer_contains"]:
            found = any(
                phrase in chunk for path in question["gold_paths"] for chunk in chunks[path]
            )
            assert found, (question["id"], phrase)


def test_many_questions_share_hardly_a_word_with_the_passage_that_answers_them() -> None:
    """Those questions tell dense retrieval from lexical retrieval."""
    apart = []
    for question in questions():
        lines = [
            line for path in question["gold_paths"] for line in read(DOCUMENTS / path).split("\n")
        ]
        passage = " ".join(
            line for line in lines if any(phrase in line for phrase in question["answer_contains"])
        )
        if len(words(question["question"]) & words(passage)) <= 1:
            apart.append(question["id"])
    assert len(apart) >= 6


def test_the_glossary_is_alphabetical_and_names_no_term_twice() -> None:
    headings = re.findall(r"^### (.+)$", read(GLOSSARY), flags=re.MULTILINE)
    assert headings == sorted(headings, key=str.casefold)
    assert len({anchor(heading) for heading in headings}) == len(headings) >= 60


def test_every_glossary_entry_explains_its_term_names_its_lab_and_links_onwards() -> None:
    for heading, body in entries(read(GLOSSARY)).items():
        explanation, last = body.strip().split("\n\n")
        assert 1 <= len(re.findall(r"[.?!](?= |$)", explanation)) <= 5, heading
        form = r"\*Lab (0\d|1[0-6])\. See also\* \[[^\]]+\]\(#[^)]+\)(, \[[^\]]+\]\(#[^)]+\))*\."
        assert re.fullmatch(form, last), heading


def test_every_link_in_the_glossary_leads_to_another_entry() -> None:
    found = entries(read(GLOSSARY))
    for heading, body in found.items():
        for text, target in re.findall(r"\[([^\]]+)\]\(#([^)]+)\)", body):
            assert text in found and anchor(text) == target, (heading, text, target)
            assert text != heading, heading


def test_every_link_into_the_glossary_leads_to_an_entry() -> None:
    anchors = {anchor(heading) for heading in entries(read(GLOSSARY))}
    pages = [ROOT / "README.md", *(ROOT / "labs").glob("*"), *(ROOT / "solutions").glob("*.py")]
    pages += (ROOT / "course_lib" / "teaching").rglob("*.py")
    broken = [
        (page.name, target)
        for page in pages
        if page.is_file()
        for target in re.findall(r"GLOSSARY\.md#([\w-]+)", read(page))
        if target not in anchors
    ]
    assert broken == []
