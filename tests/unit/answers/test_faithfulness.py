"""Sentences of an answer are held against what they cite; the labelled answers are sound."""

from __future__ import annotations

import json

from course_lib.answers.citations import check_citations, without_citations
from course_lib.answers.faithfulness import unsupported
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
        return unsupported(text, PASSAGES, embedder.encode)

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
    # Nothing is cited, or only what was never given: that is said elsewhere.
    assert judged("Mills turn.") == judged("Mills turn [2: mill.md].") == ()


def test_the_labelled_answers_fit_the_documents() -> None:
    lines = (project_root() / "data/questions/faithfulness.jsonl").read_text("utf-8").splitlines()
    answers = [json.loads(line) for line in lines]
    assert len({one["id"] for one in answers}) == len(answers) >= 60
    sections: dict[tuple[str, str], set[str]] = {}
    for one in answers:
        flags = one["supported"]
        assert len(split_sentences(one["answer"])) == len(flags)
        assert one["label"] == {1.0: "right", 0.0: "invented"}.get(
            sum(flags) / len(flags), "half right"
        )
        page = (project_root() / "data/documents" / one["path"]).read_text("utf-8")
        assert any(one["heading"] in section.headings for section in find_sections(page))
        sections.setdefault((one["path"], one["heading"]), set()).add(one["split"])
        paths = [passage["path"] for passage in one["passages"]]
        cited = split_sentences(one["cited"])
        assert " ".join(map(without_citations, cited)) == one["answer"]
        stands_on, flagged = check_citations(cited, paths)
        own = paths.index(one["path"]) + 1
        for sentence, kind, numbers in zip(cited, one["citations"], stands_on, strict=True):
            is_flagged = any(wrong in sentence for wrong in flagged)
            assert is_flagged == (kind in ("no passage", "wrong path"))
            assert (kind == "none") == ("[" not in sentence)
            assert kind not in ("right", "other passage") or (own in numbers) == (kind == "right")
        holds = [ok and own in on for ok, on in zip(flags, stands_on, strict=True)]
        assert one["holds"] == holds
    # What is tuned on a section says nothing of the same section.
    assert all(len(splits) == 1 for splits in sections.values())
    assert sum(one["split"] == "test" for one in answers) * 2 == len(answers)
