"""Lab 04, meaning as numbers: cosine similarity, mean pooling, batches by length, truncation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from course_lib.teaching.checks.probe import Case, Probe, exercise

# Arrays are made inside the checks: `import numpy` would slow down the start of the lab.
SENTENCES = [
    "Deploy.",
    "Roll the release back before anybody notices.",
    "The feature store keeps the latest value.",
    "Yes.",
    "Alerts go to people.",
    "No.",
    "Yes.",
    "Retrain the model as soon as the inputs have drifted away from the training data.",
    "Page.",
    "A gate stops bad models.",
    "Keep three versions.",
]


@exercise(
    "4.1",
    function="cosine_similarity",
    points=3,
    hints=(
        "Bring every vector to length 1 first. The inner product of two such vectors is their "
        "cosine, and `@` computes all inner products at once.",
        "`np.linalg.norm(rows, axis=-1, keepdims=True)` gives each row its own length and also "
        "takes a single vector. The rows of `b` have to become columns: `b.T`, which leaves a "
        "single vector as it is.",
        "A vector of zeros has length 0. Divide by 1 instead, `np.where(length == 0, 1, length)`: "
        "it stays a vector of zeros, and its inner products are 0.",
    ),
)
def check_cosine_similarity(call: Probe) -> None:
    """Go from two vectors by hand to matrices, and end with a vector that has no direction."""
    import numpy as np

    a, b = np.array([4.0, 3.0]), np.array([3.0, 4.0])
    rows = np.array([[4.0, 3.0], [0.0, 5.0], [6.0, 8.0]])
    call(a, b).gives(0.96, because="it is the example worked by hand: 24 / (5 · 5)")
    call(a, np.array([8.0, 6.0])).gives(1.0, because="twice as long, but the same direction")
    call(a, np.array([-3.0, 4.0])).gives(0.0, because="the two stand at a right angle")
    call(a, np.array([-4.0, -3.0])).gives(-1.0, because="the two point in opposite directions")
    call(np.array([1, 2, 2]), np.array([2, 2, 1])).gives(
        8 / 9, because="three whole numbers: 8 / (3 · 3)"
    )
    call(rows, b).gives(
        np.array([0.96, 0.8, 1.0]), because="every row of a is compared with the one vector b"
    )
    call(b, rows).gives(
        np.array([0.96, 0.8, 1.0]), because="the one vector a is compared with every row of b"
    )
    call(rows, rows[:2]).gives(
        np.array([[1.0, 0.6], [0.6, 1.0], [0.96, 0.8]]),
        because="result[i, j] compares row i of a with row j of b",
    )
    call(rows[:1], rows[:1]).gives(
        np.array([[1.0]]), because="a matrix of one row is a matrix all the same"
    )
    call(np.zeros(2), b).gives(0.0, because="a vector of zeros points nowhere")
    call(np.array([[0.0, 0.0], [6.0, 8.0]]), b).gives(
        np.array([0.0, 1.0]), because="one vector of zeros must not spoil the others"
    )


@exercise(
    "4.2",
    function="mean_pool",
    points=2,
    hints=(
        "Multiply every token vector by its mask first: what is padding becomes a vector of zeros "
        "and no longer counts in a sum along the places (axis 1).",
        "`mask[:, :, None]` has shape (n, length, 1), so that it can be multiplied with the token "
        "vectors: one number for a whole vector.",
        "Divide each sum by the number of places that counted in this text, not by the length of "
        "the batch: `mask.sum(axis=1, keepdims=True)`.",
    ),
)
def check_mean_pool(call: Probe) -> None:
    """Look at padding at the end, at the beginning, and at two texts of unlike length."""
    import numpy as np

    call(np.array([[[1.0, 2.0], [3.0, 4.0], [90.0, 90.0]]]), np.array([[1, 1, 0]])).gives(
        np.array([[2.0, 3.0]]), because="the third place is padding and does not count"
    )
    call(np.array([[[3.0, 4.0], [9.0, 8.0]]]), np.array([[1, 1]])).gives(
        np.array([[6.0, 6.0]]), because="without padding it is the mean of all places"
    )
    call(np.array([[[90.0, 90.0], [1.0, 2.0], [3.0, 4.0]]]), np.array([[0, 1, 1]])).gives(
        np.array([[2.0, 3.0]]), because="padding counts nowhere, also not at the beginning"
    )
    two = np.array([[[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]], [[4.0, 0.0], [7.0, 7.0], [8.0, 8.0]]])
    call(two, np.array([[1, 1, 1], [1, 0, 0]])).gives(
        np.array([[3.0, 5.0], [4.0, 0.0]]),
        because="the first text has three places that count, the second has one",
    )


@exercise(
    "4.3",
    function="encode_in_batches",
    points=3,
    hints=(
        "Sort places, not texts: `order = sorted(range(len(texts)), key=…)` says which text comes "
        "first, second, third, and you can find your way back by it.",
        "Go through `order` in steps: `order[at : at + batch_size]` for `at` in "
        "`range(0, len(texts), batch_size)`. Encode the texts at these places, keep the result.",
        "`np.concatenate` joins the results to one array whose row k belongs to "
        "`texts[order[k]]`. Make an empty array like it, and assign: `result[order] = joined`.",
    ),
)
def check_encode_in_batches(call: Probe) -> None:
    """Encode with a function that notes what it is given; expect order, sizes and like lengths."""
    import numpy as np

    _encodes(call, ["ccc", "a", "bb"], 2, "row i belongs to texts[i], whatever was encoded first")
    _encodes(call, ["bb", "a", "bb", "cc", "a"], 2, "equal texts are texts like any others")
    _encodes(call, ["only one"], 8, "one text is a batch, too")
    for size in (1, 2, 4, 11, 32):
        _encodes(call, SENTENCES, size, "row i belongs to texts[i]")
    noted = _Encoder()
    call(noted, SENTENCES * 4).gives(
        _Encoder.vectors(SENTENCES * 4), because="without a size, batches hold 32 texts"
    )
    if [len(batch) for batch in noted.batches] not in ([32, 12], [12, 32]):
        call.fail(
            f"encode_in_batches(encode_batch, <{4 * len(SENTENCES)} texts>)",
            got=f"batches of {_sizes(noted)} texts",
            expected="batches of 32 and 12 texts, since batch_size is 32 by default",
        )
    given = _Texts(SENTENCES)
    call(_Encoder(), given, 4).holds(
        given == SENTENCES,
        "the caller's list as it was",
        got=f"a list that now begins with {given[0]!r}",
        because="whoever called it still needs the texts in their order",
    )
    call(_Encoder(), ["a", "bb"], 2).returns(np.ndarray)


def _encodes(call: Probe, texts: list[str], size: int, because: str) -> None:
    noted = _Encoder()
    case = call(noted, texts, size)
    case.gives(_Encoder.vectors(texts), because=because)
    _batches_are_good(case, noted, texts, size)


def _batches_are_good(case: Case, noted: _Encoder, texts: Sequence[str], size: int) -> None:
    fewest = -(-len(texts) // size)
    case.holds(
        max(map(len, noted.batches)) <= size and len(noted.batches) == fewest,
        f"{len(texts)} texts in {fewest} batches of at most {size}",
        got=f"batches of {_sizes(noted)} texts",
    )
    spans = sorted((min(map(len, batch)), max(map(len, batch))) for batch in noted.batches)
    case.holds(
        all(left[1] <= right[0] for left, right in pairwise(spans)),
        "batches of like length: every text of one is at least as long as all of the one before",
        got=f"texts of {', '.join(f'{low} to {high}' for low, high in spans)} characters",
        because="a batch is padded to its longest text",
    )


def _sizes(noted: _Encoder) -> str:
    return ", ".join(str(len(batch)) for batch in noted.batches) or "no"


class _Texts(list[str]):
    """A list that a `Probe` hands over as it is, not as a copy."""


class _Encoder:
    """Encodes a text as its length and its characters, and notes the batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, batch: Sequence[str]) -> Any:
        self.batches.append(list(batch))
        return self.vectors(batch)

    def __repr__(self) -> str:
        return "encode_batch"

    @staticmethod
    def vectors(texts: Sequence[str]) -> Any:
        import numpy as np

        return np.array([[len(text), *map(ord, text[:2].ljust(2))] for text in texts], dtype="f4")


@exercise(
    "4.4",
    function="unread",
    points=2,
    hints=(
        "Of `limit` word pieces two are special. How many places does that leave for the pieces "
        "of the text?",
        "If the text has no more pieces than that, everything is read: return an empty string.",
        "Otherwise `offsets[limit - 2]` is the first piece that is not read, since places are "
        "counted from 0. Its start is where the unread part begins.",
    ),
)
def check_unread(call: Probe) -> None:
    """Go to both sides of the limit, and to texts in which pieces, words and characters differ."""
    text = "one two three four"
    pieces = [(0, 3), (4, 7), (8, 13), (14, 18)]
    call(text, pieces, 4).gives(
        "three four", because="of four places two are special: 'one' and 'two' are read"
    )
    call(text, pieces, 5).gives("four", because="of five places two are special: three are read")
    call(text, pieces, 6).gives("", because="the four pieces just fit")
    call(text, pieces, 256).gives("", because="all is read")
    call("", [], 256).gives("", because="there is nothing to read")
    call("one two\n", pieces[:2], 4).gives(
        "", because="every piece is read; a line end at the end is no piece"
    )
    call(text, pieces, 2).gives(text, because="the special ones leave no place at all")
    call("roll the rollback", [(0, 4), (5, 8), (9, 13), (13, 17)], 5).gives(
        "back", because="a word can be several pieces, and the limit may fall between them"
    )
    long = "go " * 300
    call(long, [(at, at + 2) for at in range(0, 900, 3)]).gives(
        "go " * 46, because="limit is 256 by default, so 254 pieces of 300 are read"
    )
