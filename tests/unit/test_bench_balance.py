"""The weights of partitions are learnt: from questions with known answers, without an index."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from course_lib.retriever.balance import Weights, leaning, weigh, words_of
from tests.bench.learn_balance import PARTITIONS, Example, by_folds, first_answers, fit, write


def example(question: str, right: int, likeness: tuple[float, float]) -> Example:
    """Return a question for which a page and a manifest were read, one of which answers."""
    logs = np.column_stack([np.log(likeness), -np.log([1, 1])])
    return Example(words_of(question), logs, np.array([0, 1]), np.arange(2) == right)


@pytest.fixture(scope="module")
def asked() -> list[Example]:
    """Pages seem more like every question; "how" asks for a page and "which" for a manifest."""
    subjects = ("image", "port", "role", "secret", "label", "quota", "volume", "account")
    return [
        example(f"{word} {subject}?", right, (0.6, 0.5))
        for subject in subjects
        for right, word in enumerate(("How about the", "Which"))
    ]


def test_it_learns_which_words_lean_where(asked: list[Example]) -> None:
    model = fit(asked)
    assert first_answers(model, asked) == by_folds(asked) == 1
    pages, manifests, code = model.words["which"]
    assert manifests > 0.2 > -0.2 > pages
    assert code == pytest.approx(0, abs=1e-3)
    assert {"how", "which", "^which"} <= set(model.words) and "image" not in model.words


def test_likeness_counts_where_words_say_nothing() -> None:
    asked = [
        example("What now?", right, like) for right, like in ((0, (0.6, 0.5)), (1, (0.5, 0.6)))
    ]
    model = fit(asked * 5)
    assert model.powers[0] > 5
    assert first_answers(model, asked) == 1


def test_a_search_weighs_with_what_is_written_as_the_model_does(
    asked: list[Example], tmp_path: Path
) -> None:
    path = tmp_path / "balance.json"
    model = fit(asked)
    write(model, path, "a-model")
    text = path.read_text(encoding="utf-8")
    weights = Weights(**json.loads(text))
    assert weights.model == "a-model"
    assert len(text.splitlines()) < 20 + len(weights.words)
    question, like = "Which port is it?", (0.55, 0.5)
    expected = model.order(example(question, 0, like))
    for partition, likeness, log_weight in zip(PARTITIONS, like, expected, strict=False):
        weight = weigh(likeness, 1, leaning(question, partition, weights), weights)
        assert math.log(weight) == pytest.approx(log_weight, abs=0.1)
