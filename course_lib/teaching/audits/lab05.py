"""Lab 05: vectors and matrices, masks, batches of texts, and word pieces."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, chance, matrix, text
from course_lib.teaching.checks.lab05 import Encoder


@audit("5.1", count=80)
def cosine_similarity(random: Draws) -> Call:
    """Draw single vectors and matrices; some vectors are zeros, very short, or whole numbers."""
    width = random.randint(2, 5)
    sides = []
    for _ in range(2):
        rows = matrix(random, random.randint(1, 4), width)
        if chance(random, 0.3):
            rows *= random.choice((1e-6, 0.0, 7.0))
        if chance(random, 0.3):
            rows[random.randrange(len(rows))] = 0
        if chance(random, 0.2):
            rows = (rows * 10).astype(int)
        sides.append(rows[0] if chance(random, 0.4) else rows)
    return call(*sides)


@audit("5.2", count=60)
def mean_pool(random: Draws) -> Call:
    """Draw token vectors with zeros among them, and padding anywhere."""
    texts, length, width = (random.randint(1, 4) for _ in range(3))
    vectors = matrix(random, texts * length, width, random.choice(("float32", "float64")))
    vectors[random.randrange(len(vectors))] = random.choice((0, 90))
    mask = matrix(random, texts, length, low=0.0).round().astype(int)
    mask[range(texts), [random.randrange(length) for _ in range(texts)]] = 1
    return call(vectors.reshape(texts, length, width), mask)


def _encoded(function: Callable[..., Any], texts: list[Any], *size: int) -> dict[str, Any]:
    """Return the vectors, and what can be said of the batches in which the texts were encoded."""
    encode_batch, given = Encoder(), list(texts)
    vectors = function(encode_batch, texts, *size)
    batches = encode_batch.batches
    spans = sorted((min(map(len, batch)), max(map(len, batch))) for batch in batches)
    return {
        "vectors": vectors,
        "sizes": [len(batch) for batch in batches],
        "lists": all(type(batch) is list for batch in batches),
        "of like length": all(left[1] <= right[0] for left, right in pairwise(spans)),
        "texts as they were": texts == given,
    }


@audit("5.3", count=60, apply=_encoded, paste="encode_in_batches(encode_batch, {0}, {1})")
def encode_in_batches(random: Draws) -> Call:
    """Draw texts of all lengths, blank and equal ones among them, or lists of word pieces."""
    texts: list[Any] = [text(random, 1) for _ in range(random.randint(1, 9))]
    texts += random.choices((*texts, "", " \n", " a\n"), k=random.randrange(4))
    if chance(random, 0.15):
        return call(random.choices(texts, k=random.randint(33, 70)))
    if chance(random, 0.2):
        texts = [list(one) for one in texts]
    return call(texts, random.randint(1, 6))


@audit("5.4", count=100)
def unread(random: Draws) -> Call:
    """Draw word pieces of one to three characters in a text, and a limit near their number."""
    written = text(random, 12) + random.choice(("", " ", ".\n"))
    offsets, at = [], 0
    while at < len(written):
        end = min(at + random.randint(1, 3), len(written))
        if written[at:end].strip() == written[at:end]:
            offsets.append((at, end))
        at = end
    if chance(random, 0.1):
        offsets = [(place, place + 1) for place in range(random.randint(250, 260))]
        return call("a" * (len(offsets) - 1) + "bc", offsets)
    return call(written, offsets, max(2, len(offsets) + random.randint(-4, 4)))
