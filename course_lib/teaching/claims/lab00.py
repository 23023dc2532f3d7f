"""What lab 00 says about its outputs."""

from __future__ import annotations

from course_lib.teaching.claims import Claims, numbers


def _pages(shown: str) -> list[str]:
    """Return the pages of which a cell has printed that something is True."""
    return [line.split()[1] for line in shown.splitlines() if line.split()[:1] == ["True"]]


def _found(shown: str, count: int) -> list[str]:
    """Return the lines of the first results."""
    return [line for line in shown.splitlines() if "undo:" in line][:count]


CLAIMS: Claims = {
    "documents = lab.documents()": {
        "five pages about running machine learning in production": lambda shown: (
            shown.count(" words ") == 5
        ),
    },
    ("'undo' in text.lower()", "'## Rollback' in text"): {
        "The word that you used leads to the wrong page": lambda undo, rollback: (
            len(_pages(undo)) == len(_pages(rollback)) == 1 and _pages(undo) != _pages(rollback)
        ),
    },
    "vector = lab.encode(question)": {
        "gives back 384 numbers": "(384,) float32",
    },
    "SELECT document_name, count(*)": {
        "pieces of at most 512 characters": lambda shown: (
            400 < max(numbers(line)[-1] for line in shown.splitlines()) <= 512
        ),
    },
    "lab.show.ranking(results": {
        (
            "The first two pieces are from the right page, around the section on rollback, and the "
            "word undo is in neither"
        ): lambda shown: (
            ["ci-cd-for-ml.md" in line and "undo: False" in line for line in _found(shown, 2)]
            == [True, True]
        ),
        "What matters is the order": lambda shown: (
            len(_found(shown, 3)) == 3
            and sorted(_found(shown, 3), reverse=True) == _found(shown, 3)
        ),
    },
    "best = results[0]": {
        "Every piece is stored with its source: the document, the heading above it and its lines": (
            lambda shown: (
                "ci-cd-for-ml.md · Rollback" in shown
                and numbers(shown, after="lines")[0] < numbers(shown, after="lines")[1]
            )
        ),
    },
    "off_topic = search": {
        "The search returns three pieces, although no piece is about eggs": lambda shown: (
            numbers(shown)[0] == 3 and numbers(shown)[1] < 0.25
        ),
    },
    "for threshold in (0.0, 0.2, 0.4)": {
        "With 0.2 the search finds pieces for the release and none for the egg": lambda shown: (
            numbers(shown, after="threshold 0.2:") == [3, 0]
        ),
    },
    "SELECT document_name, content, embedding": {
        "The two axes show less than a quarter of the variance": lambda shown: (
            numbers(shown, after="The two axes show")[0] < 25
        ),
        "other points look nearer to the star than those that the search found": lambda shown: (
            "nearest to " in shown and "nearest to ci-cd-for-ml" not in shown
        ),
    },
    "again = ingest": {
        "Nothing was inserted, and nothing was encoded either": lambda shown: (
            numbers(shown)[0] == 0
            and numbers(shown)[1] == numbers(shown)[2] > 0
            and "anything encoded: False" in shown
        ),
    },
}
