"""Recorded answers and their judgements go in, the tables of the page about answers come out.

    python -m infra.course.judged

prints them. They have two parts: what can be counted without a judge, for the half of the questions
on which prompts were chosen, and what two readers said about the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from course_lib.answers.answering import doubts_about, is_refusal
from course_lib.answers.citations import read_citations
from course_lib.answers.passages import Passage
from course_lib.evaluation.statistics import bootstrap_interval
from course_lib.records import SearchResult
from infra.course.recording import QUOTING, answers

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

JUDGED = {QUOTING: "quoting", "before": "model, before", "numbered 3": "model, now"}
"""Conditions that were judged, and what the page calls them."""

TUNED = ("plain", "form", "numbered", "numbered 3", "numbered 1", "numbered 3 last")
"""Conditions that were asked the tuning half, in the order of the page."""

Record = dict[str, Any]


def passages_of(record: Record) -> tuple[Passage, ...]:
    """Return the passages of a record as the library knows them."""
    return tuple(
        Passage(one["number"], _result(one), one["origin"], one["score"])
        for one in record["passages"]
    )


def _result(passage: Record) -> SearchResult:
    first, last = passage["lines"] or (None, None)
    return SearchResult(
        f"{passage['path']}:{first}",
        passage["path"],
        0,
        passage["text"],
        passage["score"],
        passage["score"],
        "",
        "",
        "",
        passage["kind"],
        passage["name"],
        metadata={"lineStart": first, "lineEnd": last},
    )


def right_passages(record: Record) -> set[int]:
    """Return the numbers of the passages that hold the answer, by the phrases that we know."""
    return {
        one["number"]
        for one in record["passages"]
        if any(phrase.lower() in one["text"].lower() for phrase in record["answer_contains"])
    }


def cited(record: Record) -> set[int]:
    """Return the numbers that an answer cites."""
    return {one.number for one in read_citations(record["answer"])}


def tuning_table(conditions: Sequence[str]) -> str:
    """Return what can be counted without a judge, one row a condition.

    Parameters
    ----------
    conditions
        Of which answers to questions of the tuning half are there.
    """
    rows = [
        "| | questions | the answer is in a passage | this passage is cited | refused "
        "| tokens of the prompt, median |",
        "|---|---|---|---|---|---|",
    ]
    for condition in conditions:
        half = [one for one in answers(condition) if one["half"] == "tuning"]
        for name in _SETS:
            some = [one for one in half if one["set"] == name]
            if some:
                tokens = sorted(one["tokens"]["prompt"] for one in some)[len(some) // 2]
                counts = [
                    len(some),
                    sum(bool(right_passages(one)) for one in some),
                    sum(bool(right_passages(one) & cited(one)) for one in some),
                    sum(is_refusal(one["answer"]) for one in some),
                    tokens,
                ]
                rows.append(f"| {condition}, {name} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(rows)


def judged_table(embedder: EmbeddingClient, reader: int = 0) -> str:
    """Return what one reader said about the held-out half, one column a condition.

    Parameters
    ----------
    embedder
        For the check of the program, which marks answers.
    reader
        0 for the first, 1 for the second.
    """
    columns = [_measures(condition, embedder, reader) for condition in JUDGED]
    rows = ["| | " + " | ".join(JUDGED.values()) + " |", "|---" * (1 + len(JUDGED)) + "|"]
    for name in columns[0]:
        rows.append(f"| {name} | " + " | ".join(column[name] for column in columns) + " |")
    return "\n".join(rows)


def _measures(condition: str, embedder: EmbeddingClient, reader: int) -> dict[str, str]:
    """Return each measure of a condition as it is printed."""
    half = [one for one in answers(condition) if one.get("judgements")]
    by_set = {name: [one for one in half if one["set"] == name] for name in _SETS}
    answerable = by_set["documents"] + by_set["code"]

    def verdict(*said: str) -> Callable[[Record], bool]:
        return lambda one: one["judgements"][reader]["verdict"] in said

    def marked(one: Record) -> bool:
        is_quoted = condition == QUOTING or is_refusal(one["answer"])
        if is_quoted:
            return False
        return bool(doubts_about(one["answer"], passages_of(one), embedder.encode)[1])

    sentences = [one for record in half for one in record["judgements"][reader]["sentences"]]
    right, wrong = verdict("right"), verdict("wrong")
    held = {
        "documents: right": _share(by_set["documents"], right),
        "documents: partly": _share(by_set["documents"], verdict("partly")),
        "documents: wrong": _share(by_set["documents"], wrong),
        "documents: refused": _share(by_set["documents"], verdict("refused")),
        "code: right": _share(by_set["code"], right),
        "code: refused": _share(by_set["code"], verdict("refused")),
        "no answer there: refused": _share(by_set["unanswerable"], verdict("refused")),
        "no answer there: refused or marked": _share(
            by_set["unanswerable"], lambda one: verdict("refused")(one) or marked(one)
        ),
        "answerable: refused or marked": _share(
            answerable, lambda one: verdict("refused")(one) or marked(one)
        ),
        "right answers that are marked": _share(filter(right, answerable), marked),
        "wrong answers that are marked": _share(filter(wrong, half), marked),
        "cited sentences that are supported": _share(
            [one for one in sentences if one["cites"]], lambda one: one["supported"] is True
        ),
    }
    return held


_SETS = ("documents", "code", "unanswerable")


def _share(some: Iterable[Any], holds: Callable[[Any], bool]) -> str:
    """Return how many of some hold, the share, and its 95 % interval."""
    held = [float(holds(one)) for one in some]
    if not held:
        return "–"
    low, high = bootstrap_interval(held)[1:3]
    return f"{sum(held):.0f} of {len(held)}: {sum(held) / len(held):.2f} [{low:.2f}, {high:.2f}]"


def agreement() -> str:
    """Return how far the two readers agree: verdicts and sentences, with Cohen's kappa.

    Kappa is (agreed − expected) / (1 − expected), where expected is the share that two readers with
    these habits agree on by chance (Cohen 1960).
    """
    records = [one for name in JUDGED for one in answers(name) if one.get("judgements")]
    verdicts = [[said["verdict"] for said in one["judgements"]] for one in records]
    sentences = [
        [one["supported"], other["supported"]]
        for record in records
        for one, other in zip(*(said["sentences"] for said in record["judgements"]), strict=True)
        if one["cites"]
    ]
    return "\n".join(
        f"- {name}: {_agreed(pairs):.2f} of {len(pairs)} the same, kappa {kappa(pairs):.2f}"
        for name, pairs in (("verdicts", verdicts), ("cited sentences", sentences))
    )


def _agreed(pairs: Sequence[Sequence[Any]]) -> float:
    return sum(bool(one == other) for one, other in pairs) / len(pairs)


def kappa(pairs: Sequence[Sequence[Any]]) -> float:
    """Return Cohen's kappa of pairs of labels.

    Examples
    --------
    >>> kappa([("a", "a"), ("a", "b"), ("b", "b"), ("b", "b")])
    0.5
    """
    firsts, seconds = ([pair[place] for pair in pairs] for place in (0, 1))
    expected = sum(
        firsts.count(label) * seconds.count(label) / len(pairs) ** 2 for label in {*firsts}
    )
    return (_agreed(pairs) - expected) / (1 - expected)


def main() -> None:
    """Print the tables of recorded answers."""
    from course_lib.embedder import EmbeddingClient

    embedder = EmbeddingClient()
    print(tuning_table(TUNED))
    for place, name in enumerate(("first", "second")):
        print(f"\nThe {name} reader:\n\n{judged_table(embedder, place)}")
    print(f"\n{agreement()}")


if __name__ == "__main__":
    typer.run(main)
