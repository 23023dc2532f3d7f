"""Lab 08, words and meaning: a ranking by words in SQL, fused rankings, and MaxSim."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from course_lib.teaching.checks.chunk_rows import chunks_of
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Case, Probe, exercise
from course_lib.teaching.checks.scratch import TIME_LIMIT, Scratch
from course_lib.teaching.checks.word_tables import fill

# --- 8.1 ---

COMMON = 2_000


def _many(words: str, count: int, letter: str = "m") -> tuple[dict[str, str], str]:
    """Return so many chunks with the same words, and how a learner would write them."""
    made = f'{{f"{letter}{{n}}.md": "{words}" for n in range({count})}}'
    return {f"{letter}{n}.md": words for n in range(count)}, made


@drawn(6, look=lambda db, text, *args: _names(db, text, *args))
def any_chunks(random: Draws) -> Call:
    """Draw chunks of some words, and ask for words of which some are frequent, some are nowhere."""
    words = ["pod", "job", "node", "limit", "probe", "seldom", "nowhere"]
    shares = random.numbers(5, 0.02, 0.6)
    chunks = {}
    for place in range(80):
        held = [word for word, share in zip(words, shares, strict=False) if random.chance(share)]
        chunks[f"{random.choice('abz')}{place}.md"] = " ".join([*held, "other"])
    chunks["seldom.md"] = "seldom pod"
    hidden = {f"h{place}.md": " ".join(random.some(words)) for place in range(20)}
    if random.turn(3) == 0:
        chunks |= _many("node", COMMON)[0]
    asked = random.some(words, 1)
    return given(" ".join(asked), chunks, hidden, random.randint(1, 30))


def _names(db: Any, text: str, asked: str, chunks: Any, hidden: Any, most: int) -> Any:
    fill(db, asked, chunks, hidden)
    return [row[4] for row in db.execute(text.encode(), {"most": most}).fetchall()]


@exercise("8.1", "store.schema:RANK_BY_WORDS", 4, time_limit=TIME_LIMIT, draws=any_chunks)
def check_ranking(call: Probe) -> None:
    """Rank a few chunks, one case a rule; then search the course's own table with it."""
    text = call.sql
    for about, ranked in (
        ("chunks that hold the words, the rarer ones first", RANKED[:3]),
        ("hidden chunks, addresses, words that are nowhere, and how many", RANKED[3:]),
    ):
        with call.part(1, about), call.scratch() as db:
            for asked, chunks, hidden, most, expected, because in ranked:
                _ranks(db, text, asked, chunks, most, expected, because, hidden=hidden)
    with call.part(1, "weights, and words that are in very many chunks"), call.scratch() as db:
        _weighs(db, text)
        _bounds(db, text)
        _adds_up(db, text)
    with call.part(1, "the course's own search with it"), call.scratch() as db:
        _runs_the_course(db, text)


RANKED: tuple[tuple[str, dict[str, str], dict[str, str], int, list[str], str], ...] = (
    ("pod", {"a.md": "podium job", "b.md": "pod"}, {}, 5, ["b.md"],
     "one chunk holds the word; chunks without any of the words are not found"),
    ("pod limit", {"a.md": "pod", "b.md": "pod limit", "c.md": "limit"}, {}, 5,
     ["b.md", "a.md", "c.md"],
     "b.md holds both words and gets the weights of both; the others have one, of equal weight"),
    ("pod limit", {"a.md": "pod", "b.md": "pod", "c.md": "limit"}, {}, 5,
     ["c.md", "a.md", "b.md"],
     "'limit' is in one chunk and 'pod' in two: the rarer a word, the more it weighs"),
    ("pod limit", {"a.md": "pod", "b.md": "pod", "c.md": "limit"},
     {"h.md": "limit", "i.md": "limit", "j.md": "limit pod"}, 5, ["c.md", "a.md", "b.md"],
     "chunks that are not visible are not found, and n counts the visible ones only"),
    ("pod job", {"a.md": "pod", "za.md": "job", "zb.md": "pod job"}, {}, 5,
     ["zb.md", "a.md", "za.md"],
     "a chunk is part and address together: two parts have the same addresses"),
    ("pod job", {"a.md": "pod", "b.md": "job", "c.md": "job", "za.md": "pod"}, {}, 5,
     ["a.md", "b.md", "c.md", "za.md"],
     "each word is in 2 chunks; 'pod' is in two parts, at the same address"),
    ("nowhere", {"a.md": "pod"}, {}, 5, [], "no chunk holds the word"),
    ("nowhere pod", {"a.md": "pod"}, {}, 5, ["a.md"], "one of the words is enough"),
    ("pod", {f"{name}.md": "pod" for name in "edcba"}, {}, 1, ["a.md"],
     "all have the same score: those that are equal to the last one stay, and the end of the "
     "statement decides among them, by name"),
    ("pod limit job", {"a.md": "pod", "b.md": "pod limit", "c.md": "pod limit job", "d.md": "pod"},
     {}, 2, ["c.md", "b.md"], "the best two were asked for"),
)  # fmt: skip
"""The words, the chunks, those that are hidden, how many are asked for, what comes, and why."""


def _ranks(
    db: Scratch, text: str, asked: str, chunks: dict[str, str], most: int, expected: list[str],
    because: str, *, hidden: dict[str, str] | None = None, told: str = "",
) -> None:  # fmt: skip
    """Expect the learner's statement to find these documents in this order."""
    fill(db.connection, asked, chunks, hidden)
    rest = f", hidden={hidden}" if hidden else ""
    called = (
        "from course_lib.teaching.checks.word_tables import fill\n"
        f"with lab.connect(autocommit=True) as db:\n"
        f"    fill(db, {asked!r}, {told or chunks}{rest})\n"
        f'    print([row[4] for row in db.execute(RANK_BY_WORDS, {{"most": {most}}})])'
    )
    rows = db.cursor(text, {"most": most}, because=because, called=called).fetchall()
    Case(db.probe, called).holds(
        all(len(row) == 7 for row in rows), "the columns of the end of the statement, as it is"
    )
    Case(db.probe, called, value=[row[4] for row in rows]).gives(expected, because=because)


def _weighs(db: Scratch, text: str) -> None:
    """Compare two words that are in many chunks with one that is in a single chunk."""
    for count, order in ((68, ["zz.md", "a.md"]), (80, ["a.md", "zz.md"])):
        pods, told = _many("pod", count - 1)
        jobs, more = _many("job", count - 1, "j")
        _ranks(
            db, text, "pod job limit", {"a.md": "limit", "zz.md": "pod job", **pods, **jobs}, 2,
            order, "'limit' is in 1 chunk and weighs 1 + ln(2000), which is 8.6; 'pod' and 'job' "
            f"are in {count} chunks each, and weigh 1 + ln(2000 / {count}) each",
            told=f'{{"a.md": "limit", "zz.md": "pod job"}} | {told} | {more}',
        )  # fmt: skip


def _adds_up(db: Scratch, text: str) -> None:
    """Add the same three weights in three orders; as floating-point numbers they differ."""
    words = "pod job node gpu cpu tls dns url api".split()
    counts = (3, 5, 6, 3, 6, 5, 5, 6, 3)
    same = [" ".join(words[at : at + 3]) for at in (0, 3, 6)]
    rest = {
        f"{word}{n}.md": word
        for word, count in zip(words, counts, strict=True)
        for n in range(count - 1)
    }
    for names in (["a.md", "b.md", "c.md"], ["c.md", "b.md", "a.md"]):
        _ranks(
            db, text, " ".join(words), dict(zip(names, same, strict=True)) | rest, 3,
            ["a.md", "b.md", "c.md"], "each holds a word that is in 3 chunks, one in 5 and one in "
            "6, so their scores are equal; a sum of fractions depends on their order, a sum of "
            "integers does not",
        )  # fmt: skip
    rest = {"b.md": "limit probe", "l.md": "limit"} | _many("probe", 3)[0] | _many("job", 7, "j")[0]
    _ranks(
        db, text, "pod job limit probe", {"a.md": "pod job", **rest}, 2, ["a.md", "b.md"],
        "ln(2000 / 1) + ln(2000 / 8) is ln(2000 / 2) + ln(2000 / 4), and also the weights, rounded "
        "to a millionth, have the same sum; so the two come by name",
    )  # fmt: skip


def _bounds(db: Scratch, text: str) -> None:
    """Ask for words that are in 1,999 chunks, in 2,000, and in more."""
    chunks, told = _many("pod", COMMON - 1)
    _ranks(db, text, "pod", chunks, 1, ["m0.md"], "it is in 1,999 chunks: that is rare enough",
           told=told)  # fmt: skip
    more, told = _many("pod", COMMON)
    because = "'pod' is in 2,000 chunks: no chunk is found by it"
    _ranks(db, text, "pod", more, 5, [], because, told=told)
    rest = {"a.md": "limit", "b.md": "limit pod"}
    _ranks(
        db, text, "limit pod", {**more, **rest}, 5, ["b.md", "a.md"],
        "'pod' is in more than 2,000 chunks: no chunk is found by it, and it counts 1 for those "
        "that are found by another word", told=f"{told} | {rest}",
    )  # fmt: skip
    rest = {"a.md": "limit", "b.md": "job pod", "c.md": "job"}
    _ranks(
        db, text, "limit job pod", {**more, **rest}, 1, ["b.md"],
        "a.md has the highest sum, and with the common word 'pod' b.md has more: so twice as many "
        "as were asked for are kept", told=f"{told} | {rest}",
    )  # fmt: skip
    more, told = _many("pod tls url", COMMON)
    _ranks(db, text, "pod tls", more, 5, [], "each of the words is in 2,000 chunks: no chunk is "
           "found by them, also not by both", told=told)  # fmt: skip
    rest = {"a.md": "limit gpu", "b.md": "job", "c.md": "job", "d.md": "gpu", "e.md": "gpu pod tls"}
    rest |= {"f.md": "cpu", "g.md": "cpu", "h.md": "cpu", "i.md": "cpu pod tls url"}
    _ranks(
        db, text, "limit job gpu cpu pod tls url", {**rest, **more}, 2, ["a.md", "e.md"],
        "2 are asked for, so 4 are kept, with ties: a.md, two with 'job', both with 'gpu' alone. "
        "Then e.md has two common words more; i.md has three, but was not kept",
        told=f"{rest} | {told}",
    )  # fmt: skip


def _runs_the_course(db: Scratch, text: str) -> None:
    """Do what `course ingest` and `course search` do, with the learner's ranking."""
    import numpy as np
    import psycopg

    from course_lib.errors import CourseError
    from course_lib.records import Query
    from course_lib.retriever import search
    from course_lib.store import write_chunks
    from course_lib.store.schema import SCHEMA, WORDS_AND_TENANTS, filled

    called = "course search 'Where is the KubeflowPipeline?'"
    around = filled(SCHEMA + WORDS_AND_TENANTS, 3, db.schema, ranking=text)
    db.runs(around, called=called, because="your ranking is inside of the course's function")
    texts = ("A pipeline of Kubeflow", "kubeflow", "Nothing of it")
    try:
        write_chunks(db.connection, chunks_of(*texts), np.eye(3, dtype=np.float32))
        query = Query("Where is the KubeflowPipeline?", threshold=-1)
        found = search(db.connection, [0.5, 0.5, 0.5], query)
    except (psycopg.Error, CourseError) as error:
        got = str(error).split("\n")[0]
        db.probe.fail(called, got=got, expected="chunks that are found")
    Case(db.probe, called, value=[one.content for one in found]).gives(list(texts))


# --- 8.2 ---


@drawn(100)
def any_rankings(random: Draws) -> Call:
    """Draw rankings, two of which may give equal scores; more of them give different ones."""
    from course_lib.retriever.query import fuse as library

    items: Any = random.choice(("abcdef", [("a.md", 0), ("a.md", 1), ("b.md", 0)], range(6)))
    rankings = [random.some(items) for _ in range(random.randint(0, 4))]
    scores = sorted(score for _, score in library(*rankings))
    if any(high - low < 1e-9 for low, high in pairwise(scores)):
        rankings = rankings[:2]  # where three numbers are added up, their order matters
    return given(*(iter(one) if random.chance(0.2) else one for one in rankings))


@exercise("8.2", "retriever.query:fuse", 3, time_limit=2, draws=any_rankings)
def check_fuse(call: Probe) -> None:
    """Take one case for each way of adding it up wrongly."""
    with call.part(1, "scores and their order, equal ones too", needed=False):
        call.cases(
            ((["a"],), [("a", 1 / 61)],
             "a pair of what was ranked and its score; places count from 1, and RRF_K is 60"),
            ((["b"], ["a"]), [("b", 1 / 61), ("a", 1 / 61)],
             "each is first in one ranking; of equals, the first ranking's comes first"),
            ((["a", "b", "c"], ["c", "d"]),
             [("c", 1 / 63 + 1 / 61), ("a", 1 / 61), ("b", 1 / 62), ("d", 1 / 62)],
             "'c' is third in one and first in the other, and gets both"),
            ((["d", "c"], ["b", "a"]), [("d", 1 / 61), ("b", 1 / 61), ("c", 1 / 62), ("a", 1 / 62)],
             "equals come in the order of the first ranking, then of the next one"),
        )  # fmt: skip
    with call.part(1, "more rankings than two, and items of any kind"):
        call.cases(
            ((["a", "b"], ["a", "b"], ["b", "a"]), [("a", 2 / 61 + 1 / 62), ("b", 2 / 62 + 1 / 61)],
             "there may be more than two rankings"),
            ((["z", "x"], ["y"], ["x", "y"]), [("x", 1 / 62 + 1 / 61), ("y", 1 / 61 + 1 / 62),
                                               ("z", 1 / 61)],
             "'x' and 'y' are equal: of the two, 'x' alone is in the first ranking"),
            (([("a.md", 0), ("a.md", 1)], [("a.md", 1)]),
             [(("a.md", 1), 1 / 62 + 1 / 61), (("a.md", 0), 1 / 61)],
             "what is ranked may be a tuple"),
            ((list(range(101)),), [(at, 1 / (61 + at)) for at in range(101)],
             "what is ranked may be a number, also 0, and there may be many"),
        )  # fmt: skip
    with call.part(1, "rankings that are read once, or empty"):
        call.cases(
            ((iter(["a", "b"]), iter(["b"])), [("b", 1 / 62 + 1 / 61), ("a", 1 / 61)],
             "a ranking is any Iterable: it may have no length, and can be read once"),
            (([], ["a"]), [("a", 1 / 61)], "a ranking may be empty"),
            (([], []), [], "nothing was ranked"),
            ((), [], "there is no ranking"),
        )  # fmt: skip


# --- 8.3 ---


UNITS = ((1, 0, 0, 0), (3 / 5, 4 / 5, 0, 0), (1 / 3, 2 / 3, 2 / 3, 0), (2 / 7, 3 / 7, 6 / 7, 0))
"""Vectors of length 1."""


@drawn(60)
def any_vectors(random: Draws) -> Call:
    """Draw vectors of word pieces, all of length 1; at times there are none."""
    import numpy as np

    sides = []
    for _ in range(2):
        count = random.randint(0 if random.chance(0.2) else 1, 5)
        chosen = [random.sample(random.choice((*UNITS, (0.5,) * 4)), 4) for _ in range(count)]
        rows = [[number * random.choice((1, -1)) for number in one] for one in chosen]
        sides.append(np.array(rows, dtype=np.float32).reshape(count, 4))
    return given(*sides)


@exercise("8.3", "retriever.rerank:maxsim", 3, time_limit=2, draws=any_vectors)
def check_maxsim(call: Probe) -> None:
    """Take one case for each way of comparing the wrong things."""
    import numpy as np

    east, north, between = [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]

    def pieces(*rows: list[float]) -> Any:
        return np.array(rows, dtype=np.float32).reshape(-1, 2)

    with call.part(1, "the best match of each piece of the question, and their mean"):
        call.cases(
            ((pieces(east), pieces(between)), 0.6, "one piece each: their inner product"),
            ((pieces(east, north), pieces(east, between)), 0.9,
             "the first piece finds itself (1), the second one something like it (0.8): the mean"),
            ((pieces(east), pieces(between, north, east)), 1.0,
             "the best match counts, wherever it is in the passage; the others do not"),
            ((pieces(east, east, north), pieces(east)), 2 / 3,
             "the mean is over the question's pieces: two of three are in the passage"),
        )  # fmt: skip
    with call.part(1, "passages that say more, and matches below 0"):
        call.cases(
            ((pieces(east), pieces(east, north, north)), 1.0,
             "the passage may say more than was asked: that costs nothing"),
            ((pieces(east), pieces([-1.0, 0.0], [-0.8, -0.6])), -0.8,
             "the best match may be negative: -0.8 is the highest of -1 and -0.8"),
        )  # fmt: skip
    with call.part(1, "texts without a piece, and a float"):
        call.cases(
            ((pieces(), pieces(east)), 0.0, "a question without a word piece"),
            ((pieces(east), pieces()), 0.0, "a passage without a word piece"),
            ((pieces(), pieces()), 0.0, "neither has a word piece"),
        )  # fmt: skip
        case = call(pieces(east), pieces(between))
        case.holds(abs(float(case.value) - 0.6) < 1e-6, "0.6", because="it is their inner product")
        case.holds(type(case.value) is float, "a float", got=type(case.value).__name__)
