"""Lab 08, words and meaning: a ranking by words in SQL, fused rankings, and the index of words."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from course_lib.teaching.checks.chunk_rows import chunks_of
from course_lib.teaching.checks.definition import Case, Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.statements import TIME_LIMIT, refused
from course_lib.teaching.checks.word_tables import fill, indexed

# --- 8.1 ---

COMMON = 2_000
"""So many chunks make a word a common one."""
WORDS = ["pod", "job", "node", "limit", "probe", "seldom", "nowhere"]

QUESTION = "Where is the KubeflowPipeline?"


def _ranked(connection: Any, text: str, most: int, *tables: Any) -> dict[str, Any]:
    """Return the names of the documents that the statement ranks; the course's own without any."""
    if not tables:
        return {"found": _found_by_the_course(connection, ranking=text)}
    fill(connection, *tables)
    cursor = connection.execute(text.encode(), {"most": most})
    names = [column.name for column in cursor.description or ()]
    rows = cursor.fetchall()
    return {"columns": names, "documents": [row[names.index("document_name")] for row in rows]}


def _found_by_the_course(connection: Any, **own: str) -> list[str]:
    """Do what `course ingest` and `course search` do, with the learner's text (see `filled`)."""
    import numpy as np

    from course_lib.records import Query
    from course_lib.retriever import search
    from course_lib.store import write_chunks
    from course_lib.store.schema import SCHEMA, WORDS_AND_TENANTS, filled

    connection.execute("DISCARD TEMP")
    (schema,) = connection.execute("SELECT current_schema()").fetchone()
    connection.execute(filled(SCHEMA + WORDS_AND_TENANTS, 3, schema, **own))
    texts = chunks_of("A pipeline of Kubeflow", "kubeflow", "Nothing of it")
    write_chunks(connection, texts, np.eye(3, dtype=np.float32))
    found = search(connection, [0.5, 0.5, 0.5], Query(QUESTION, threshold=-1))
    return [one.content for one in found]


def _paste(most: int, *tables: Any) -> str:
    if not tables:
        return f"course search {QUESTION!r}"
    asked, chunks, *more = tables
    rest = [f", {name}={one}" for name, one in zip(("hidden", "many"), more, strict=True) if one]
    return (
        "from course_lib.teaching.checks.word_tables import fill\n"
        "with lab.connect(autocommit=True) as db:\n"
        f"    fill(db, {asked!r}, {chunks}{''.join(rest)})\n"
        f'    print([row[4] for row in db.execute(RANK_BY_WORDS, {{"most": {most}}})])'
    )


@drawn(8, look=_ranked, paste=_paste, varies=(0, 1, 2))
def any_chunks(random: Draws) -> Call:
    """Draw chunks of some words, and ask for words of which some are frequent, some are nowhere."""
    few = random.sample(WORDS[:-1], 4)
    names = [f"{letter}{at}.md" for at in range(5) for letter in "abz"]
    chunks = {name: " ".join(random.some(few)) or "other" for name in random.some(names, 1)[:8]}
    hidden = {f"h{at}.md": " ".join(random.some(few)) for at in range(random.choice((0, 0, 2, 5)))}
    kinds = [" ".join(random.some(few, 1)[:3]) for _ in range(random.choice((0, 1, 2)))]
    many = {words: random.choice((5, 40, 300, 300, COMMON)) for words in kinds}
    asked = random.sample(WORDS, random.randint(1, 4))
    return given(random.choice((1, 1, 2, 3, 30)), " ".join(asked), chunks, hidden, many)


def _ranks(
    asked: str, chunks: dict[str, str], because: str, most: int = 5,
    hidden: dict[str, str] | None = None, many: dict[str, int] | None = None,
) -> Case:  # fmt: skip
    """Return a case; see `fill` for its tables."""
    return case(most, asked, chunks, hidden or {}, many or {}, because=because)


NINE = {"pod": 3, "job": 5, "node": 6, "gpu": 3, "cpu": 6, "tls": 5, "dns": 5, "url": 6, "api": 3}
"""In how many chunks each of nine words is."""


@exercise("8.1", "store.schema:RANK_BY_WORDS", time_limit=TIME_LIMIT, draws=any_chunks)
def check_ranking() -> Parts:
    """Rank a few chunks, one case a rule; then search the course's own table with it."""
    one_each = {"a.md": "pod", "b.md": "pod", "c.md": "limit"}
    common = {"pod": COMMON}
    triples = [" ".join(list(NINE)[at : at + 3]) for at in (0, 3, 6)]
    rest = {word: count - 1 for word, count in NINE.items()}
    twice = {"a.md": "limit gpu", "b.md": "job", "c.md": "job", "d.md": "gpu",
             "e.md": "gpu pod tls", "f.md": "cpu", "g.md": "cpu", "h.md": "cpu",
             "i.md": "cpu pod tls url"}  # fmt: skip
    return [
        part(1, "chunks that hold the words, the rarer ones first",
             _ranks("pod", {"a.md": "podium job", "b.md": "pod"},
                    "one chunk holds the word; chunks without any of the words are not found"),
             _ranks("pod limit", {"a.md": "pod", "b.md": "pod limit", "c.md": "limit"},
                    "b.md holds both words and gets the weights of both; the others have one, of "
                    "equal weight"),
             _ranks("pod limit", one_each,
                    "'limit' is in one chunk and 'pod' in two: the rarer a word, the more it "
                    "weighs")),
        part(1, "hidden chunks, addresses, words that are nowhere, and how many",
             _ranks("pod limit", one_each,
                    "chunks that are not visible are not found, and n counts the visible ones only",
                    hidden={"h.md": "limit", "i.md": "limit", "j.md": "limit pod"}),
             _ranks("pod job", {"a.md": "pod", "za.md": "job", "zb.md": "pod job"},
                    "a chunk is part and address together: two parts have the same addresses"),
             _ranks("pod job", {"a.md": "pod", "b.md": "job", "c.md": "job", "za.md": "pod"},
                    "each word is in 2 chunks; 'pod' is in two parts, at the same address"),
             _ranks("nowhere", {"a.md": "pod"}, "no chunk holds the word"),
             _ranks("nowhere pod", {"a.md": "pod"}, "one of the words is enough"),
             _ranks("pod", {f"{name}.md": "pod" for name in "edcba"},
                    "all have the same score: those that are equal to the last one stay, and the "
                    "end of the statement decides among them, by name", most=1),
             _ranks("pod limit job",
                    {"a.md": "pod", "b.md": "pod limit", "c.md": "pod limit job", "d.md": "pod"},
                    "the best two were asked for", most=2)),
        part(1, "weights, and words that are in very many chunks",
             *(_ranks("pod job limit", {"a.md": "limit", "zz.md": "pod job"},
                      "'limit' is in 1 chunk and weighs 1 + ln(2000), which is 8.6; 'pod' and "
                      f"'job' are in {count} chunks each, and weigh 1 + ln(2000 / {count}) each",
                      most=2, many={"pod": count - 1, "job": count - 1}) for count in (68, 80)),
             _ranks("pod", {}, "it is in 1,999 chunks: that is rare enough", most=1,
                    many={"pod": COMMON - 1}),
             _ranks("pod", {}, "'pod' is in 2,000 chunks: no chunk is found by it", many=common),
             _ranks("limit pod", {"a.md": "limit", "b.md": "limit pod"},
                    "'pod' is in more than 2,000 chunks: no chunk is found by it, and it counts 1 "
                    "for those that are found by another word", many=common),
             _ranks("limit job pod", {"a.md": "limit", "b.md": "job pod", "c.md": "job"},
                    "a.md has the highest sum, and with the common word 'pod' b.md has more: so "
                    "twice as many as were asked for are kept", most=1, many=common),
             _ranks("pod tls", {}, "each of the words is in 2,000 chunks: no chunk is found by "
                    "them, also not by both", many={"pod tls": COMMON}),
             _ranks("limit job gpu cpu pod tls url", twice,
                    "2 are asked for, so 4 are kept, with ties: a.md, two with 'job', both with "
                    "'gpu' alone. Then e.md has two common words more; i.md has three, but was not "
                    "kept", most=2, many={"pod tls url": COMMON}),
             _ranks("limit pod job", {"a.md": "limit"},
                    "those are kept whose sum is the highest, and not those with the most words: "
                    "'limit' weighs 8.6, and 'pod' and 'job' 3.6", most=1, many={"pod job": 900}),
             _ranks("gpu tls pod job", {"a.md": "gpu", "b.md": "tls", "c.md": "pod job",
                                        "d.md": "pod", "e.md": "job"},
                    "those are kept whose sum is the highest, and not those with the rarest word: "
                    "c.md has two words that are in 2 chunks each", most=1),
             *(_ranks(" ".join(NINE), dict(zip(names, triples, strict=True)),
                      "each holds a word that is in 3 chunks, one in 5 and one in 6, so their "
                      "scores are equal; a sum of fractions depends on their order, a sum of "
                      "integers does not", most=3, many=rest)
               for names in (["a.md", "b.md", "c.md"], ["c.md", "b.md", "a.md"])),
             _ranks("pod job limit probe",
                    {"a.md": "pod job", "b.md": "limit probe", "l.md": "limit"},
                    "ln(2000 / 1) + ln(2000 / 8) is ln(2000 / 2) + ln(2000 / 4), and also the "
                    "weights, rounded to a millionth, have the same sum; so the two come by name",
                    most=2, many={"probe": 3, "job": 7})),
        part(1, "the course's own search with it",
             case(3, because="your ranking is inside of the course's function")),
    ]  # fmt: skip


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


@exercise("8.2", "retriever.query:fuse", time_limit=2, draws=any_rankings)
def check_fuse() -> Parts:
    """Take one case for each way of adding it up wrongly."""
    return [
        part(1, "scores and their order, equal ones too",
             ((["a"],),
              "a pair of what was ranked and its score; places count from 1, and RRF_K is 60"),
             ((["b"], ["a"]),
              "each is first in one ranking; of equals, the first ranking's comes first"),
             ((["a", "b", "c"], ["c", "d"]),
              "'c' is third in one and first in the other, and gets both"), needed=False),
        part(1, "more rankings than two, and items of any kind",
             ((["a", "b"], ["a", "b"], ["b", "a"]), "there may be more than two rankings"),
             ((["z", "x"], ["y"], ["x", "y"]),
              "'x' and 'y' are equal: of the two, 'x' alone is in the first ranking"),
             (([("a.md", 0), ("a.md", 1)], [("a.md", 1)]), "what is ranked may be a tuple"),
             ((list(range(101)),),
              "what is ranked may be a number, also 0, and there may be many")),
        part(1, "rankings that are read once, or empty",
             ((iter(["a", "b"]), iter(["b"])),
              "a ranking is any Iterable: it may have no length, and can be read once"),
             (([], ["a"]), "a ranking may be empty"),
             ((), "there is no ranking")),
    ]  # fmt: skip


# --- 8.3 ---

PIECES = ("pod", "Pod", "GPU", "GPUs", "v1", "HTTP", "Server", "Only", "a", "2", "tls")
JOINTS = ("", "", "", "-", "_", ".", " ", "/")
COURSE = "what `course ingest` and `course search` do"
INDEX_SAYS = {
    "is not immutable": "a generated column takes immutable functions only: use || and coalesce",
    "invalid input syntax for type json": "->> gives the header as text, -> as JSON",
}
"""What a learner may have forgotten in the index of words, by what PostgreSQL says."""


def _indexed(connection: Any, text: str, asked: Any) -> list[str]:
    if asked == COURSE:
        return _found_by_the_course(connection, words=text)
    return indexed(connection, text, asked)


def _paste_indexed(asked: Any) -> str:
    if asked == COURSE:
        return f"course search {QUESTION!r}"
    return (
        "from course_lib.teaching.checks.word_tables import indexed\n"
        "with lab.connect(autocommit=True) as db:\n"
        f"    print(indexed(db, SEARCH_WORDS, {asked!r}))"
    )


@drawn(20, look=_indexed, paste=_paste_indexed, why=refused, says=INDEX_SAYS)
def any_identifiers(random: Draws) -> Call:
    """Draw a text of identifiers, or a chunk of such texts."""

    def text() -> str:
        count = random.randint(1, 5)
        return "".join(random.choice(PIECES) + random.choice(JOINTS) for _ in range(count))

    columns = ("name", "kind", "document_name", "content")
    chunk = {one: text() for one in columns} | ({"header": text()} if random.chance(0.5) else {})
    return given(text() if random.chance(0.7) else chunk)


@exercise("8.3", "store.schema:SEARCH_WORDS", time_limit=TIME_LIMIT, draws=any_identifiers)
def check_indexed() -> Parts:
    """Take one case for each place where an identifier is cut, and for each column."""
    chunk = {"name": "porter", "kind": "Role", "document_name": "doors", "content": "port 5556"}
    return [
        part(2, "the words of identifiers",
             (("a pipeline that waits",), "there is no identifier: the words are in stems"),
             (("kubeflow-pipelines",), "kubeflow and pipelin are its parts, cut at -; as a whole "
              "it is without -"),
             (("pipeline.api",), "its parts are cut at . and as a whole it is without ."),
             (("ml_pipeline",), "as a whole it is without _"),
             (("a-b.c a-d.e",), "every - and . is a cut, and not only the first one"),
             (("NetworkPolicy",), "its parts are cut between a small letter and a capital"),
             (("v1Beta",), "its parts are cut between a digit and a capital"),
             (("HTTPServer",), "there is a cut between two capitals before two small letters"),
             (("PodGPUsOnly",), "one small letter follows after GPU: there is no cut in GPUs"),
             (("HTTP2",), "there is no cut before a digit"), needed=False),
        part(1, "the column search_text",
             (({**chunk, "header": "metadata:\n  labels"},), "the words of all five are indexed"),
             ((chunk,), "it has no header: text || NULL is NULL"),
             ((dict.fromkeys(chunk, "pod"),), "'pod' is in each: blanks keep the words apart"),
             ((COURSE,), "your text makes the index of words")),
    ]  # fmt: skip
