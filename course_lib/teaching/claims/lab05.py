"""What lab 05 says about its outputs."""

from __future__ import annotations

import re

from course_lib.teaching.claims import Claims, numbers


def _values(shown: str) -> list[float]:
    """Return the number with which each line begins; lines that begin with none are left out."""
    return [float(found) for found in re.findall(r"^-?\d\.\d\d(?=  )", shown, re.MULTILINE)]


def _answer_before_table(shown: str) -> bool:
    answer, _, table, _, egg = _values(shown)
    return answer > table and answer - egg > 2 * (answer - table)


def _warning_first(shown: str) -> bool:
    answer, engineer, table, warning, egg = _values(shown)
    return warning > max(answer, engineer, table, egg)


def _computed(shown: str) -> dict[str, float]:
    """Return way and batch size (as in "sorted 4") → pieces computed."""
    found = re.findall(r"(?:(\w[\w ]*), )?batches of +(\d+): ([\d,]+) pieces", shown)
    return {f"{way} {size}".strip(): float(count.replace(",", "")) for way, size, count in found}


def _sorting_saves(shown: str) -> bool:
    count = _computed(shown)
    return count["sorted 4"] < count["in order 4"] and count["sorted 16"] < count["in order 16"]


def _lost(shown: str, size: str) -> float:
    """Return how many of the spans of a size are cut off."""
    return numbers(shown, after=f"size {size}:")[0]


def _nearer_than_every_chunk(shown: str) -> bool:
    short, shorter, long = (numbers(line)[:2] for line in shown.splitlines()[1:])
    return short[0] < short[1] and shorter[0] < shorter[1] and long[0] > long[1]


def _share_right(shown: str, low: str) -> float:
    """Return what per cent of the pairs are right whose similarity is from `low` on."""
    return numbers(shown, after=f"{low} to")[1]


def _more_wrong_ones(shown: str) -> bool:
    right = numbers(shown, after="the median of")[0]
    (wrong,) = re.findall(r"(\d+) are beyond", shown)
    return float(wrong) > right / 2


def _scrap_pushes_in(shown: str) -> bool:
    by_length = numbers(shown, after="inner product: among the first five for")[0]
    by_angle = numbers(shown, after="cosine: among the first five for")[0]
    return by_length > 3 * by_angle


CLAIMS: Claims = {
    "def shared_words": {
        "The first hit is about rollbacks and shares which and up": lambda shown: (
            "ci-cd-for-ml.md ['up', 'which']" in shown and "rollback" in shown.splitlines()[1]
        ),
        "It has no word in common with the question": lambda shown: (
            shown.splitlines()[-1] == "model-monitoring.md set()"
        ),
    },
    "def cosine_by_hand": {
        "The ruler (Euclidean distance) puts note c last, although it says the same as note a": (
            lambda shown: (
                numbers(shown, "a and c: ruler")[0]
                > max(numbers(shown, "a and b: ruler")[0], numbers(shown, "a and d: ruler")[0])
                and numbers(shown, "a and c: ruler")[1] == 1
            )
        ),
        "is 24 / (5 · 5) = 0.96": lambda shown: numbers(shown, "a and b: ruler")[1] == 0.96,
    },
    "similar = cosine_similarity": {
        (
            "Still it comes before the sentence about the table, "
            "and far before the one about the egg"
        ): (_answer_before_table),
        "But Someone deserves a warning answers nothing and comes first": _warning_first,
    },
    "type(part).__name__": {
        "The model has three parts.": "['Transformer', 'Pooling', 'Normalize']",
        "## continues a word": lambda shown: (
            "'id', '##em', '##pot', '##ent'" in shown and "'survive'" in shown
        ),
    },
    "def piece_vectors": {
        "The piece is the same, but its vectors differ": lambda shown: (
            numbers(shown, "[1. ")[0] < 0.96
            and numbers(shown, "[1. ")[1] < numbers(shown, "[1. ")[0] - 0.1
        ),
    },
    "alone = piece_vectors": {
        "No: the two means are very different.": lambda shown: (
            numbers(shown, "cosine of the two means:")[0] < 0.75
        ),
    },
    'mean_pool = lab.use("mean_pool")': {
        "You have rebuilt encode, to the sixth decimal": (
            "the same as the library's, to 0.000001: True"
        ),
    },
    "def count_only": {
        "All the rest is work for nothing": lambda shown: (
            _computed(shown)["1"] < _computed(shown)["4"] < _computed(shown)["16"]
        ),
    },
    'encode_in_batches = lab.use("encode': {
        "Sorting saves padding": _sorting_saves,
        "sorted batches of 16 still have more padding than sorted batches of 4": lambda shown: (
            _computed(shown)["sorted 16"] > 1.5 * _computed(shown)["sorted 4"]
        ),
    },
    "spoilt = page": {
        "There is no difference at all, and no warning": lambda shown: (
            "every number is the same: True" in shown and "arning" not in shown
        ),
    },
    ("spoilt = page", "def offsets(text)"): {
        "The answer from the beginning of this lab is in the part that was cut off": (
            lambda shown, cut: (
                numbers(shown, "the answer begins at character")[0]
                > numbers(cut, "read to character")[0]
            )
        ),
    },
    "def offsets(text)": {
        "With 512 characters nothing is lost; with 1,024 some text is lost": lambda shown: (
            _lost(shown, "   512") == 0 < _lost(shown, " 1,024")
        ),
        "few of the chunks are longer than what the model was trained on": lambda shown: (
            0 < numbers(shown.split("\nFigure")[0].splitlines()[-1])[0] < 121 / 5
        ),
    },
    "lab.show.map_2d(vectors": {
        "its two axes show less than a quarter of the variance": lambda shown: (
            numbers(shown, after="The two axes show")[0] < 25
        ),
    },
    'empty = model.encode("")': {
        "It has a vector like any other": lambda shown: (
            numbers(shown, after="its length is") == [1]
        ),
        "It is nearer to the two shortest questions than any chunk is": _nearer_than_every_chunk,
    },
    "The model was not deployed": {
        "The opposite is nearer than the paraphrase": lambda shown: (
            _values(shown)[0] > _values(shown)[1] + 0.2
        ),
        "not, numbers, and who does what to whom hardly change it": lambda shown: (
            min(value for i, value in enumerate(_values(shown)) if i != 1) > 0.75
        ),
    },
    "queries = model.encode": {
        "The number of wrong pairs there is larger": _more_wrong_ones,
        "A similarity of 0.3 does not mean 30 %": lambda shown: _share_right(shown, "0.3") < 20,
        "You can sort by similarity": lambda shown: (
            _share_right(shown, "0.2")
            < _share_right(shown, "0.3")
            < _share_right(shown, "0.4")
            < _share_right(shown, "0.5")
        ),
    },
    "longest = lengths.argmax()": {
        "The longest vector belongs to a very short chunk": lambda shown: (
            numbers(shown.splitlines()[1])[0] < numbers(shown.splitlines()[1])[1] / 2
        ),
        "With the inner product, this chunk is among the hits for many questions": _scrap_pushes_in,
    },
    "def quality(scores)": {
        "The questions found by words alone are a reason to combine both methods": lambda shown: (
            numbers(shown, after="found by words alone:")[0] > 0
        ),
    },
    "from course_lib.embedder import EmbeddingClient": {
        "the vectors are equal except for rounding": lambda shown: numbers(shown)[0] > 99,
    },
}
