"""Lab 01: texts with few and with many boundaries, of all sizes."""

from __future__ import annotations

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, chance, some, sparse, text

SEPARATORS = (";", ",", "--", " ", ". ", "", "\n")


@audit("1.1", count=250)
def find_cut(random: Draws) -> Call:
    """Draw a window of a text, and at times a floor and other separators."""
    written = text(random) + "ab" if chance(random, 0.3) else sparse(random)
    start = random.choice((0, random.randrange(len(written) - 1)))
    limit = min(start + random.randint(1, random.choice((4, 8, 20))), len(written))
    floor = random.choice((0, random.randrange(start, limit), max(limit - 3, start)))
    if chance(random, 0.4):
        return call(written, start, limit, floor, tuple(some(random, SEPARATORS)))
    return call(written, start, limit, floor) if floor else call(written, start, limit)


@audit("1.2", count=250)
def next_start(random: Draws) -> Call:
    """Draw where a chunk ended and an overlap that does not reach the beginning of the text."""
    written = text(random) + random.choice(("(b", "\t\n"))
    end = random.randint(1, len(written))
    overlap = random.choice((0, random.randrange(end), random.randrange(min(end, 8))))
    snaps = {"snap_to_words": True} if chance(random, 0.5) else {}
    return call(written, end, overlap, **snaps)


@audit("1.3", count=150)
def split_text(random: Draws) -> Call:
    """Draw sizes, the wrong ones among them."""
    written = text(random, random.choice((2, 12, 60))) * random.choice((1, 1, 1, 0))
    size = random.randint(1, random.choice((6, 20, 100)))
    if chance(random, 0.1):
        return call(written, *random.choice(((0, 0), (-size, 0), (size, size), (size, -1))))
    if chance(random, 0.03):
        return call(random.choice((None, size)))
    overlap = random.randrange(size)
    snaps = {"snap_to_words": True} if chance(random, 0.4) else {}
    if chance(random, 0.4):
        return call(written, size, overlap, tuple(some(random, SEPARATORS)[:3]), **snaps)
    return call(written, size, overlap, **snaps)
