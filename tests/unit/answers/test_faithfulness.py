"""Sentences of an answer are held against what they cite; the labelled answers are sound."""

from __future__ import annotations

import json

import numpy as np
import pytest

from course_lib.answers.answering import doubts_about
from course_lib.answers.citations import check_citations
from course_lib.answers.faithfulness import claims_of, find_unsupported, support, unsupported
from course_lib.answers.units import split_sentences
from course_lib.embedder import EmbeddingClient
from course_lib.loader.markdown import find_sections
from course_lib.settings import project_root
from tests.unit.answers.made import make_passage

CANARY = "A canary takes 5 per cent of the traffic. It can be withdrawn without a meeting."
PASSAGES = [
    make_passage(1, CANARY, "canary.md"),
    make_passage(3, "Cats purr when they are stroked.", "cats.md"),
]


def test_a_sentence_is_held_against_what_it_cites(embedder: EmbeddingClient) -> None:
    def judged(text: str) -> tuple[str, ...]:
        return unsupported(claims_of(text), PASSAGES, embedder.encode)

    right = "A canary takes 5 per cent of the traffic [1: canary.md]."
    assert judged(f"{right} Stroked cats purr. [3: cats.md]") == ()
    wrong = "A canary takes 7 per cent of the traffic"
    assert judged(f"{wrong} [1: canary.md]. Cats purr [3: cats.md].") == (f"{wrong}.",)
    # Each against its own passage, and one without a citation against all that are cited.
    assert judged("A canary can be withdrawn [3: cats.md].") == ("A canary can be withdrawn.",)
    assert judged(f"{right} It can be withdrawn without a meeting.") == ()
    made_up = "- It was invented by miners in Wales."
    assert judged(f"{right}\n{made_up}") == (made_up[2:],)
    # What is not claimed is not judged: code, quoted lines, a heading of signs alone.
    assert judged(f"{right}\n```\nprint(7)\n```\n> 99 mills\n\n---\n") == ()
    # What is named in code belongs to its sentence, and by number alone is cited as well.
    assert judged("A `canary` takes 5 per cent of the traffic [1].") == ()
    assert judged("A `canary` takes 7 per cent of the traffic [1].") != ()
    # Nothing is cited, or only what was never given: that is said elsewhere.
    assert judged("Mills turn.") == judged("Mills turn [2: mill.md].") == ()


def test_a_whole_answer_is_doubted_if_no_passage_says_any_of_it(embedder: EmbeddingClient) -> None:
    def judged(text: str) -> tuple[tuple[str, ...], str]:
        return doubts_about(text, PASSAGES, embedder.encode)

    right = "A canary takes 5 per cent of the traffic"
    assert judged(f"{right} [1].") == ((), "")
    # A right sentence under the number of another passage is named, and the answer not doubted.
    assert judged(f"{right} [3].") == ((f"{right}.",), "")
    invented = "Miners of Wales bred the first ones"
    assert judged(f"{invented} [1].") == ((f"{invented}.",), "no passage seems to say any of this")
    assert judged(f"{right}.") == ((), "the answer cites none of its passages")
    assert judged("[1]") == ((), "the answer holds citations alone")


def test_citations_and_support_are_those_that_were_worked_by_hand() -> None:
    paths = {1: "docs/a.md", 2: "b.py", 4: "d.go"}
    some = ["So [2: b.py].", "It was so.", "And so [1: a.md] [2].", "No [1: b.py]."]
    assert check_citations(some, paths) == ([[2], [2, 1], [1, 2], []], ["[1: b.py]"])
    wrong = ["[3]", "[0]", "[3: c.py]", "[1: docs/b.md]", "[2: B.py]", "[2: b.pyi]", "[3]"]
    assert check_citations([" ".join(wrong)], paths) == ([[]], wrong)

    likeness = {
        "A cat can purr.": 0.8,
        "Dogs purr.": -0.6,
        "They purr loudly.": 0.3,
        "50, 0.5": 0.3,
    }

    def encode(texts: list[str]) -> np.ndarray:
        cosines = np.array([likeness.get(text, 1.0) for text in texts])
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)

    for lines, sentence, similarity, share in (
        (["A cat can purr."], "Cats purr loudly.", 0.8, 2 / 3),
        (["Dogs purr."], "Cats purr loudly.", 0, 1 / 3),
        (["A cat can purr.", "They purr loudly."], "Cats purr loudly.", 0.8, 1),
        (["They purr loudly."], "It is so.", 0.3, 0),
        (["50, 0.5"], "Cats: 0.5", 0.3, 0),
    ):
        assert support(sentence, lines, encode) == pytest.approx((similarity + share) / 2)
    assert support("Cats purr.", [], encode) == support("It is 5.", ["50, 0.5"], encode) == 0
    said, lines = ["Cats purr loudly [1].", "Cats bark."], {1: ["A cat can purr."]}
    support_of_both = (0.8 + 2 / 3) / 2, (0.8 + 1 / 2) / 2
    for least, count in ((0.6, 0), (support_of_both[1] + 1e-9, 1), (0.74, 2)):
        assert len(find_unsupported(said, {1: "a.md"}, lines, encode, least)) == count


def test_the_labelled_answers_fit_the_documents() -> None:
    lines = (project_root() / "data/questions/faithfulness.jsonl").read_text("utf-8").splitlines()
    answers = [json.loads(line) for line in lines]
    assert len({one["id"] for one in answers}) == len(answers) >= 60
    for one in answers:
        flags = one["supported"]
        assert len(split_sentences(one["answer"])) == len(flags)
        assert one["label"] == {1.0: "right", 0.0: "invented"}.get(
            sum(flags) / len(flags), "half right"
        )
        page = (project_root() / "data/documents" / one["path"]).read_text("utf-8")
        assert any(one["heading"] in section.headings for section in find_sections(page))
