"""Lab 10: names of documents, and numbers of shards.

10.2 to 10.4 are not functions of the library: this lab's components and its pipeline are sketches.
"""

from __future__ import annotations

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, names, text


@audit("10.1")
def shard_of(random: Draws) -> Call:
    """Draw a name, and few shards, very many, or none."""
    name = random.choice((text(random), *names(random, 2)))
    return call(name, random.choice((1, random.randint(2, 9), 2**64, 1000, 0, -2)))
