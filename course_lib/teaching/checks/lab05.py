"""Lab 05, meaning as numbers: cosine similarity, mean pooling, batches by length, truncation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from time import thread_time
from typing import Any

from course_lib.teaching.checks.definition import Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, call_of, drawn, given

# Arrays are made inside the functions: `import numpy` would slow down the start of the lab.

QUICK = "a million numbers in less than 0.3 seconds"
MANY = "many = np.random.default_rng(5).normal(size=(1_000, 2))\ncosine_similarity(many, many)"


def _compared(function: Callable[..., Any], *sides: Any) -> Any:
    """Return the similarities; without vectors, how quickly those of many come."""
    if sides:
        return function(*sides)
    import numpy as np

    many, begun = np.random.default_rng(5).normal(size=(1_000, 2)), thread_time()
    function(many, many)
    seconds = thread_time() - begun  # with `@` a hundredth of what a loop takes
    return QUICK if seconds < 0.3 else f"{seconds:.1f} seconds"


@drawn(
    80, apply=_compared,
    paste=lambda *sides: call_of("cosine_similarity", *sides) if sides else MANY,
)  # fmt: skip
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
        if random.chance(0.3):  # the products of numbers of one byte do not fit into one
            rows = (rows * 15).astype(random.choice(("int64", "int8")))
        sides.append(rows[0] if random.chance(0.4) else rows)
    return given(*sides)


@exercise("5.1", "embedder.vectors:cosine_similarity", time_limit=20, draws=any_vectors)
def check_cosine_similarity() -> Parts:
    """Go from two vectors by hand to matrices, and end with a vector that has no direction."""
    from numpy import array, zeros

    a, b = array([4.0, 3.0]), array([3.0, 4.0])
    rows = array([[4.0, 3.0], [0.0, 5.0], [6.0, 8.0]])
    return [
        part(1, "two vectors",
            ((a, b), "it is the example worked by hand: 24 / (5 · 5)"),
            ((a, array([-8.0, -6.0])), "the two point in opposite directions"),
            ((array([60, 80], "int8"), array([80, 60], "int8")), "in one byte, 60 · 80 overflows"),
            needed=False),
        part(1, "rows of matrices",
            ((rows, b), "every row of a is compared with the one vector b"),
            ((b, rows), "the one vector a is compared with every row of b"),
            ((rows, rows[:2]), "three rows with two: result[i, j] compares a[i] with b[j]"),
            ((rows[:2], rows[:2]), "result[i, j] compares row i of a with row j of b"),
            ((rows[:1], rows[:1]), "a matrix of one row is a matrix all the same"),
            case(because="a loop over vectors is slow: `@` multiplies whole tables")),
        part(1, "vectors that are short, or zeros",
            ((array([4e-100, 3e-100]), b), "a short vector has a direction: add nothing to it"),
            ((zeros(2), b), "a vector of zeros points nowhere"),
            ((b, zeros(2)), "a vector of zeros points nowhere, as b too"),
            ((array([[0.0, 0.0], [6.0, 8.0]]), b), "a vector of zeros must not spoil the others")),
    ]  # fmt: skip


@drawn()
def any_mask(random: Draws) -> Call:
    """Draw token vectors with zeros among them, and padding anywhere."""
    texts, length, width = (random.randint(1, 4) for _ in range(3))
    vectors = random.matrix(texts * length, width, random.choice(("float32", "float64")))
    vectors[random.randrange(len(vectors))] = random.choice((0, 90))
    mask = random.matrix(texts, length, low=0.0).round().astype(int)
    mask[range(texts), [random.randrange(length) for _ in range(texts)]] = 1
    return given(vectors.reshape(texts, length, width), mask)


@exercise("5.2", "embedder.vectors:mean_pool", draws=any_mask)
def check_mean_pool() -> Parts:
    """Look at padding at the end, at the beginning, and at two texts of unlike length."""
    from numpy import array

    def one(vectors: list[list[float]], *mask: int) -> tuple[Any, Any]:
        return array([vectors]), array([mask])

    two = array([[[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]], [[4.0, 0.0], [7.0, 7.0], [8.0, 8.0]]])
    return [
        part(1, "the mean of what counts, for each text",
            (one([[3.0, 4.0], [9.0, 8.0], [6.0, 9.0]], 1, 1, 1), "it is the mean of all places"),
            (one([[1.0, 2.0], [3.0, 4.0], [90.0, 90.0]], 1, 1, 0), "the third place is padding"),
            (one([[3, 4], [4, 4]], 1, 1), "the mean of 3 and 4 is 3.5, of whole numbers, too"),
            ((two, array([[1, 1, 1], [1, 0, 0]])),
             "the first text has three places that count, the second has one"), needed=False),
        part(1, "padding anywhere, and zeros that count",
            (one([[3.0, 4.0], [0.0, 0.0]], 1, 1), "the mask says what counts, not the numbers"),
            (one([[90.0, 90.0], [1.0, 2.0], [3.0, 4.0]], 0, 1, 1), "padding may come first"),
            (one([[1.0, 2.0], [90.0, 90.0], [3.0, 4.0]], 1, 0, 1), "padding may be in the middle")),
    ]  # fmt: skip


def _encoded(function: Callable[..., Any], looked_at: str, texts: list[Any], *size: int) -> Any:
    """Return the vectors, or what can be said of the batches in which the texts were encoded."""
    batches: list[Sequence[Any]] = []
    last = len(texts)  # another model for each number of texts

    def encode_batch(batch: Sequence[Any]) -> Any:
        import numpy as np

        batches.append(copy(batch))
        rows = [[len(text), sum(map(ord, "".join(text))), last] for text in batch]
        return np.array(rows, dtype="f4")

    vectors = function(encode_batch, texts, *size)
    if looked_at == "vectors":
        return vectors
    spans = sorted((min(map(len, batch)), max(map(len, batch))) for batch in batches)
    is_sorted = all(left[1] <= right[0] for left, right in pairwise(spans))
    return {
        "what encode_batch gets": sorted({type(batch).__name__ for batch in batches}),
        "texts in each batch": [len(batch) for batch in batches],
        "of like length": "yes" if is_sorted else f"no: {[*map(list, batches)]}",
    }


ENCODING = """texts = {1}
encode_in_batches(lambda batch: print(batch) or np.array(
    [[len(text), sum(map(ord, ''.join(text))), len(texts)] for text in batch], dtype='f4'),
    texts, {rest})"""

SAYS = {
    "no: [": "no text is shorter than one in the batch before: a batch is padded to its longest",
    "['ndarray']": "`encode_batch` gets lists of texts",
}


@drawn(apply=_encoded, paste=ENCODING, says=SAYS, varies=(0, 2))
def any_texts(random: Draws) -> Call:
    """Draw texts of all lengths, blank and equal ones among them, or lists of word pieces."""
    looked_at = random.choice(("batches", "vectors"))
    texts: list[Any] = [random.text(1) for _ in range(random.randint(1, 9))]
    texts += random.choices((*texts, "", " \n", " a\n"), k=random.randrange(4))
    random.shuffle(texts)
    if random.chance(0.15):
        return given(looked_at, random.choices(texts, k=random.randint(33, 70)))
    if random.chance(0.2):
        texts = [list(one) for one in texts]
    return given(looked_at, texts, random.randint(1, 6))


@exercise("5.3", "embedder.vectors:encode_in_batches", draws=any_texts)
def check_encode_in_batches() -> Parts:
    """Encode with a function that notes what it is given; expect order, sizes and like lengths."""
    some = ["z", "ccc", "dddd", "eeeee", "bb"]
    sizes = "only the last batch may hold fewer than batch_size, and each text is encoded once"
    pieces = [["a", "b"], ["monitoring"], ["c", "d", "e"], ["roll", "##back", "it", "!"]]
    return [
        part(1, "batches of batch_size, of like length",
            *((("batches", some, size), sizes) for size in (2, 1, 3, 4)),
            (("batches", ["b b", "a", "cccc"], 2), "lengths are counted in characters"),
            needed=False),
        part(1, "a row for each text, in the order of the texts",
            (("vectors", ["ccc", "a", "bb"], 2), "row i belongs to texts[i], and it is one array"),
            *((("vectors", some, size), "row i belongs to texts[i]") for size in (1, 2, 3, 4))),
        part(1, "texts that are blank, equal, or alone, and the usual size",
            *(case(looked_at, *call, because=because) for call, because in (
                ((["bb", "a", "bb"], 2), "equal texts are texts like any others: each is encoded"),
                ((["", "a"], 2), "the empty text is one of the texts: row 0 is its vector"),
                (([" a\n", "B  b"], 2), "the texts are encoded as they are"),
                ((["a"] * 33,), "batches hold 32 texts where no batch_size is given"),
                ((pieces, 2), "a list of word pieces is as long as it has pieces"),
            ) for looked_at in ("batches", "vectors"))),
    ]  # fmt: skip


@drawn(100, varies=(2,))
def any_pieces(random: Draws) -> Call:
    """Draw word pieces of one to three characters in a text, and a limit near their number."""
    written = random.prose() + random.choice(("", " ", ".\n"))
    offsets, at = [], 0
    while at < len(written):
        end = min(at + random.randint(1, 3), len(written))
        if written[at:end].strip() == written[at:end]:
            offsets.append((at, end))
        at = end
    if random.chance(0.1):
        offsets = [(place, place + 1) for place in range(random.randint(250, 260))]
        return given("a" * (len(offsets) - 2) + "bc", offsets)
    return given(written, offsets, max(2, len(offsets) + random.randint(-4, 4)))


@exercise("5.4", "embedder.vectors:unread", draws=any_pieces)
def check_unread() -> Parts:
    """Go to both sides of the limit, and to texts in which pieces, words and characters differ."""
    text = "one two three four"
    pieces = [(0, 3), (4, 7), (8, 13), (14, 18)]
    return [
        part(1, "what is not read, on both sides of the limit",
            ((text, pieces, 4), "two of the places are special, so 'one' and 'two' are read"),
            ((text, pieces, 6), "the four pieces just fit"),
            ((text, pieces, 2), "the special ones leave no place at all"),
            (("  one", [(2, 5)], 2), "it begins where the first piece begins"), needed=False),
        part(1, "words of several pieces, line ends, and the usual limit",
            (("one two\n", pieces[:2], 4), "every piece is read; the line end is not a piece"),
            (("rollback", [(0, 4), (4, 8)], 3), "a word can be several pieces: the limit is in it"),
            (("go go go", [(0, 2), (3, 5), (6, 8)], 4), "the third is not read, the same two are"),
            (("one two three four.\n", pieces, 4), "all is unread, to the end of the text"),
            (("é one two", [(0, 1), (2, 5), (6, 9)], 4), "offsets count characters"),
            (("a" * 253 + "bc", [(at, at + 1) for at in range(255)]), "limit is 256 by default")),
    ]  # fmt: skip
