"""Lab 05, meaning as numbers: cosine similarity, mean pooling, batches by length, truncation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from time import thread_time
from typing import Any

from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case, Probe, exercise

# Arrays are made inside the checks: `import numpy` would slow down the start of the lab.


@drawn(80)
def any_vectors(random: Draws) -> Call:
    """Draw single vectors and matrices; some vectors are zeros, very short, or whole numbers."""
    width = random.randint(2, 5)
    sides = []
    for _ in range(2):
        rows = random.matrix(random.randint(1, 4), width)
        if random.chance(0.3):
            rows *= random.choice((1e-6, 0.0, 7.0))
        if random.chance(0.3):
            rows[random.randrange(len(rows))] = 0
        if random.chance(0.2):
            rows = (rows * 10).astype(int)
        sides.append(rows[0] if random.chance(0.4) else rows)
    return given(*sides)


@exercise("5.1", "embedder.vectors:cosine_similarity", 3, time_limit=20, draws=any_vectors)
def check_cosine_similarity(call: Probe) -> None:
    """Go from two vectors by hand to matrices, and end with a vector that has no direction."""
    import numpy as np

    a, b = np.array([4.0, 3.0]), np.array([3.0, 4.0])
    rows = np.array([[4.0, 3.0], [0.0, 5.0], [6.0, 8.0]])
    with call.part(1, "two vectors", needed=False):
        call.cases(
            ((a, b), 0.96, "it is the example worked by hand: 24 / (5 · 5)"),
            ((a, np.array([8.0, 6.0])), 1.0, "twice as long, but the same direction"),
            ((a, np.array([-3.0, 4.0])), 0.0, "the two are at a right angle"),
            ((a, np.array([-4.0, -3.0])), -1.0, "the two point in opposite directions"),
            ((np.array([1, 2, 2]), np.array([2, 2, 1])), 8 / 9, "three whole numbers: 8 / (3 · 3)"),
        )  # fmt: skip
    with call.part(1, "rows of matrices"):
        call.cases(
            ((rows, b), np.array([0.96, 0.8, 1.0]), "every row of a is compared with the one "
             "vector b"),
            ((b, rows), np.array([0.96, 0.8, 1.0]), "the one vector a is compared with every row "
             "of b"),
            ((rows, rows[:2]), np.array([[1.0, 0.6], [0.6, 1.0], [0.96, 0.8]]),
             "three rows with two: result[i, j] compares row i of a with row j of b"),
            ((rows[:2], rows[:2]), np.array([[1.0, 0.6], [0.6, 1.0]]),
             "result[i, j] compares row i of a with row j of b"),
            ((rows[:1], rows[:1]), np.array([[1.0]]), "a matrix of one row is a matrix all the "
             "same"),
        )  # fmt: skip
        many, begun = np.random.default_rng(5).normal(size=(1_000, 2)), thread_time()
        case = call.shown_as("cosine_similarity(many, many), of 1,000 rows")(many, many)
        seconds = thread_time() - begun  # with `@` a hundredth of what a loop takes
        case.holds(
            seconds < 0.3, "a million numbers in less than 0.3 seconds",
            got=f"they took {seconds:.1f} seconds",
            because="a loop over vectors is slow: `@` multiplies whole tables at once",
        )  # fmt: skip
    with call.part(1, "vectors that are short, or zeros"):
        call.cases(
            ((np.array([4e-100, 3e-100]), b), 0.96,
             "a short vector has a direction, too: nothing is added to its length, and only a "
             "vector of zeros has none"),
            ((np.zeros(2), b), 0.0, "a vector of zeros points nowhere"),
            ((b, np.zeros(2)), 0.0, "a vector of zeros points nowhere, as b too"),
            ((np.array([[0.0, 0.0], [6.0, 8.0]]), b), np.array([0.0, 1.0]),
             "one vector of zeros must not spoil the others"),
            ((b, np.array([[6.0, 8.0], [0.0, 0.0]])), np.array([1.0, 0.0]),
             "one vector of zeros must not spoil the others"),
        )  # fmt: skip


@drawn()
def any_mask(random: Draws) -> Call:
    """Draw token vectors with zeros among them, and padding anywhere."""
    texts, length, width = (random.randint(1, 4) for _ in range(3))
    vectors = random.matrix(texts * length, width, random.choice(("float32", "float64")))
    vectors[random.randrange(len(vectors))] = random.choice((0, 90))
    mask = random.matrix(texts, length, low=0.0).round().astype(int)
    mask[range(texts), [random.randrange(length) for _ in range(texts)]] = 1
    return given(vectors.reshape(texts, length, width), mask)


@exercise("5.2", "embedder.vectors:mean_pool", 2, draws=any_mask)
def check_mean_pool(call: Probe) -> None:
    """Look at padding at the end, at the beginning, and at two texts of unlike length."""
    import numpy as np

    two = np.array([[[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]], [[4.0, 0.0], [7.0, 7.0], [8.0, 8.0]]])
    with call.part(1, "the mean of what counts, for each text", needed=False):
        call.cases(
            ((np.array([[[3.0, 4.0], [9.0, 8.0], [6.0, 9.0]]]), np.array([[1, 1, 1]])),
             np.array([[6.0, 7.0]]),
             "without padding it is the mean of all places of the text, as it is"),
            ((np.array([[[1.0, 2.0], [3.0, 4.0], [90.0, 90.0]]]), np.array([[1, 1, 0]])),
             np.array([[2.0, 3.0]]),
             "the third place is padding and does not count"),
            ((np.array([[[3, 4], [4, 4]]]), np.array([[1, 1]])), np.array([[3.5, 4.0]]),
             "the mean of 3 and 4 is 3.5, of whole numbers, too"),
            ((two, np.array([[1, 1, 1], [1, 0, 0]])), np.array([[3.0, 5.0], [4.0, 0.0]]),
             "the first text has three places that count, the second has one"),
        )  # fmt: skip
    with call.part(1, "padding anywhere, and zeros that count"):
        call.cases(
            ((np.array([[[3.0, 4.0], [0.0, 0.0]]]), np.array([[1, 1]])), np.array([[1.5, 2.0]]),
             "the mask says what counts, whatever numbers the vector has"),
            ((np.array([[[90.0, 90.0], [1.0, 2.0], [3.0, 4.0]]]), np.array([[0, 1, 1]])),
             np.array([[2.0, 3.0]]),
             "padding counts nowhere, also not at the beginning"),
            ((np.array([[[1.0, 2.0], [90.0, 90.0], [3.0, 4.0]]]), np.array([[1, 0, 1]])),
             np.array([[2.0, 3.0]]),
             "padding counts nowhere, also not in the middle"),
        )  # fmt: skip


def _encoded(function: Callable[..., Any], texts: list[Any], *size: int) -> dict[str, Any]:
    """Return the vectors, and what can be said of the batches in which the texts were encoded."""
    encode_batch, given = Encoder(), list(texts)
    vectors = function(encode_batch, texts, *size)
    batches = encode_batch.batches
    return {
        "vectors": vectors,
        "sizes": [len(batch) for batch in batches],
        "lists": all(type(batch) is list for batch in batches),
        "of like length": encode_batch.got_like_lengths(),
        "texts as they were": texts == given,
    }


@drawn(apply=_encoded, paste="encode_in_batches(encode_batch, {0}, {1})")
def any_texts(random: Draws) -> Call:
    """Draw texts of all lengths, blank and equal ones among them, or lists of word pieces."""
    texts: list[Any] = [random.text(1) for _ in range(random.randint(1, 9))]
    texts += random.choices((*texts, "", " \n", " a\n"), k=random.randrange(4))
    if random.chance(0.15):
        return given(random.choices(texts, k=random.randint(33, 70)))
    if random.chance(0.2):
        texts = [list(one) for one in texts]
    return given(texts, random.randint(1, 6))


@exercise("5.3", "embedder.vectors:encode_in_batches", 3, draws=any_texts)
def check_encode_in_batches(call: Probe) -> None:
    """Encode with a function that notes what it is given; expect order, sizes and like lengths."""
    import numpy as np

    some = ["z", "ccc", "dddd", "eeeee", "bb"]
    with call.part(1, "batches of batch_size, of like length", needed=False):
        because = "row i belongs to texts[i], whatever was encoded first"
        _has_batches(*_encoded_in(call, ["ccc", "a", "bb"], 2, because))
        for size in (1, 2, 3, 4):
            _has_batches(*_encoded_in(call, some, size, "row i belongs to texts[i]"))
        because = "lengths are counted in characters"
        _has_batches(*_encoded_in(call, ["b b b", "a", "ccccccc", "dddd"], 2, because))
    with call.part(1, "a row for each text, in the order of the texts"):
        call(Encoder(), ["a", "bb"], 2).returns(np.ndarray)
        because = "row i belongs to texts[i], whatever was encoded first"
        _gives_rows(*_encoded_in(call, ["ccc", "a", "bb"], 2, because))
        for size in (1, 2, 3, 4):
            _gives_rows(*_encoded_in(call, some, size, "row i belongs to texts[i]"))
    with call.part(1, "texts that are blank, equal, or alone, and the usual size"):
        others: tuple[tuple[list[Any], int | None, str], ...] = (
            (["only one"], 8, "one text is a batch, too"),
            (["bb", "a", "bb"], 2, "equal texts are texts like any others"),
            (["", "a"], 2, "the empty text is one of the texts: row 0 is its vector"),
            (["a", " \n"], 2, "a blank text is one of the texts: row 1 is its vector"),
            ([" a\n", "B  b"], 2, "the texts are encoded as they are"),
            (["a"] * 33, None, "batches hold 32 texts where no batch_size is given"),
            ([["a", "b"], ["monitoring"], ["c", "d", "e"], ["roll", "##back", "it", "!"]], 2,
             "a list of word pieces is as long as it has pieces"),
        )  # fmt: skip
        for texts, most, because in others:  # a list is last: some functions of texts take none
            done = _encoded_in(call, texts, most, because)
            _has_batches(*done)
            _gives_rows(*done)


Done = tuple[Case, "Encoder", list[Any], int, str]
"""A call, its encoder, texts and batch size, and why."""


def _encoded_in(call: Probe, texts: list[Any], size: int | None, because: str) -> Done:
    noted = Encoder()
    case = call(noted, texts) if size is None else call(noted, texts, size)
    if case.error is not None:
        case.gives(Encoder.vectors(texts), because=because)
    return case, noted, texts, size or 32, because


def _gives_rows(case: Case, _: Encoder, texts: list[Any], __: int, because: str) -> None:
    case.gives(Encoder.vectors(texts), because=because)


def _has_batches(case: Case, noted: Encoder, texts: list[Any], size: int, because: str) -> None:
    sizes = [len(batch) for batch in noted.batches]
    full = [size] * (len(texts) // size)
    case.holds(
        sizes == full + [len(texts) % size] * (len(texts) % size > 0),
        f"{len(texts)} texts in batches of {size}, of which only the last may hold fewer",
        got=f"batches of {', '.join(map(str, sizes))} texts",
        because=""
        if sum(sizes) == len(texts)
        else "each text is encoded once, equal and blank ones too",
    )
    case.holds(
        all(isinstance(batch, list) for batch in noted.batches),
        "encode_batch gets lists of strings",
        got=f"it got {', '.join(sorted({type(batch).__name__ for batch in noted.batches}))}",
    )
    case.holds(
        noted.got_like_lengths(),
        "batches of like length: every text of one is at least as long as all of the one before",
        got=f"the batches {', '.join(str(list(batch)) for batch in noted.batches)}",
        because="a batch is padded to its longest text",
    )


class Encoder:
    """Encodes a text as its length and the sum of its characters, and notes the batches."""

    def __init__(self) -> None:
        self.batches: list[Sequence[str]] = []

    def __call__(self, batch: Sequence[str]) -> Any:
        """Encode a batch, and note it."""
        self.batches.append(copy(batch))
        return self.vectors(batch)

    def __repr__(self) -> str:
        return "lambda batch: np.array([[len(t), sum(map(ord, t))] for t in batch], dtype='f4')"

    def got_like_lengths(self) -> bool:
        """Tell whether every text of a batch is at least as long as all of the one before."""
        spans = sorted((min(map(len, batch)), max(map(len, batch))) for batch in self.batches)
        return all(left[1] <= right[0] for left, right in pairwise(spans))

    @staticmethod
    def vectors(texts: Sequence[str]) -> Any:
        """Return a row for each text."""
        import numpy as np

        return np.array([[len(text), sum(map(ord, "".join(text)))] for text in texts], dtype="f4")


@drawn(100)
def any_pieces(random: Draws) -> Call:
    """Draw word pieces of one to three characters in a text, and a limit near their number."""
    written = random.text(12) + random.choice(("", " ", ".\n"))
    offsets, at = [], 0
    while at < len(written):
        end = min(at + random.randint(1, 3), len(written))
        if written[at:end].strip() == written[at:end]:
            offsets.append((at, end))
        at = end
    if random.chance(0.1):
        offsets = [(place, place + 1) for place in range(random.randint(250, 260))]
        return given("a" * (len(offsets) - 1) + "bc", offsets)
    return given(written, offsets, max(2, len(offsets) + random.randint(-4, 4)))


@exercise("5.4", "embedder.vectors:unread", 2, draws=any_pieces)
def check_unread(call: Probe) -> None:
    """Go to both sides of the limit, and to texts in which pieces, words and characters differ."""
    text = "one two three four"
    pieces = [(0, 3), (4, 7), (8, 13), (14, 18)]
    with call.part(1, "what is not read, on both sides of the limit", needed=False):
        call.cases(
            ((text, pieces, 4), "three four",
             "of four places two are special: 'one' and 'two' are read, and the rest of the text "
             "begins with 'three'"),
            ((text, pieces, 6), "", "the four pieces just fit"),
            ((text, pieces, 256), "", "all is read"),
            (("", [], 256), "", "there is nothing to read"),
            ((text, pieces, 2), text, "the special ones leave no place at all"),
            (("  one", [(2, 5)], 2), "one", "it goes from the start of the first piece, wherever "
             "that is"),
        )  # fmt: skip
    with call.part(1, "words of several pieces, line ends, and the usual limit"):
        call.cases(
            (("one two\n", pieces[:2], 4), "",
             "every piece is read; a line end at the end is not a piece"),
            (("roll the rollback", [(0, 4), (5, 8), (9, 13), (13, 17)], 5), "back",
             "a word can be several pieces, and the limit may fall between them"),
            (("go go go", [(0, 2), (3, 5), (6, 8)], 4), "go",
             "the third piece is not read; the same word is read twice before"),
            (("one two three four.\n", pieces, 4), "three four.\n",
             "it goes to the end of the text, not of the last piece"),
            (("é one two", [(0, 1), (2, 5), (6, 9)], 4), "two", "offsets count characters"),
        )  # fmt: skip
        case = call("a" * 255, [(at, at + 1) for at in range(255)])
        case.label = 'unread("a" * 255, [(at, at + 1) for at in range(255)])'
        case.gives("a", because="limit is 256 by default, so 254 pieces of 255 are read")
