"""Lab 15, checking an answer: citations, and how far passages support a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Probe, exercise

CLAIMED = "cats Cat purring purrs it is rows 5 50 0.5 1,544 concat".split()


@drawn(120)
def any_citations(random: Draws) -> Call:
    """Draw paths that are alike, and sentences that cite some, right and wrong, or none."""
    paths = [name.replace("0", " v2") for name in random.names(random.choice((0, 1, 3, 12)))]
    sentences = []
    for _ in range(random.randrange(5)):
        parts = ["So items[0]"]
        for _ in range(random.randrange(4)):
            number = random.randrange(len(paths) + 3)
            path = random.choice((*paths, "b.py"))
            if paths and random.chance(0.6):
                number = random.randint(1, len(paths))
                path = paths[number - 1]
                path = random.choice((path, path, f"{path}i", f"docs/{path}", path[:-3], path[1:]))
            parts.append(f"{random.choice(('and ', ''))}[{number}: {path}]")
        sentences.append(" ".join(parts) + ".")
    return given(sentences, paths)


@exercise("15.1", "answers.citations:check_citations", 4, draws=any_citations)
def check_citation_check(call: Probe) -> None:
    """Look at right citations, wrong numbers, wrong paths, repetitions, and sentences without."""
    for points, about, rows in (
        (1, "sentences with right citations", CITED),
        (1, "sentences without a citation", UNCITED),
        (2, "wrong citations", WRONG),
    ):
        with call.part(points, about):
            call.cases(*rows)


_PATHS = ["docs/a.md", "b.py"]
Citing = tuple[tuple[tuple[list[str], list[str]], tuple[list[list[int]], list[str]], str], ...]
"""Sentences and paths, what is returned for them, and why."""

CITED: Citing = (
    ((["So [1: docs/a.md].", "And so [2: b.py]."], _PATHS), ([[1], [2]], []),
     "each sentence gets the passages that it cites"),
    ((["So [1: docs/a.md] and so [2: b.py]."], _PATHS), ([[1, 2]], []),
     "a sentence may cite more than one passage"),
    ((["So [2: b.py], so [1: docs/a.md], and [2: b.py]."], _PATHS), ([[2, 1]], []),
     "each once, in the order of the text"),
    ((["So [1: my-notes v2.md]."], ["my-notes v2.md"]), ([[1]], []),
     "a path may hold spaces and hyphens"),
    ((["So [10: j.py]."], [f"{letter}.py" for letter in "abcdefghij"]), ([[10]], []),
     "a number may have two digits"),
)  # fmt: skip

UNCITED: Citing = (
    ((["So [1: docs/a.md].", "It was so."], _PATHS), ([[1], [1]], []),
     "the second sentence cites nothing, so all that the answer cites counts; passage 2 is "
     "cited nowhere"),
    ((["So [2: b.py].", "It was so.", "And so [1: docs/a.md] [2: b.py]."], _PATHS),
     ([[2], [2, 1], [1, 2]], []),
     "the second sentence cites nothing, so it gets all passages that the answer cites, "
     "before it and after it, each once"),
    ((["items[0] is first.", "So items[0] [2: b.py]."], _PATHS), ([[2], [2]], []),
     "brackets alone cite nothing"),
    ((["No [5: x.py].", "It was."], _PATHS), ([[], []], ["[5: x.py]"]),
     "the answer cites no passage that exists"),
    ((["I don't know."], []), ([[]], []), "nothing is cited"),
    (([], _PATHS), ([], []), "there is no sentence"),
)  # fmt: skip

WRONG: Citing = (
    ((["So [3: c.py].", "So [0: b.py].", "Yes [1: docs/a.md]."], _PATHS),
     ([[], [], [1]], ["[3: c.py]", "[0: b.py]"]),
     "there is no passage 3, and no passage 0: these sentences have no source, and wrong "
     "citations come as they are written, in the order of the text"),
    ((["So [3: c.py], [3: c.py].", "So [3: c.py]."], _PATHS), ([[], []], ["[3: c.py]"] * 3),
     "a wrong citation is returned as often as it is in the text: here three times"),
    ((["So [1: b.py]."], _PATHS), ([[]], ["[1: b.py]"]),
     "passage 1 is docs/a.md: number and path have to agree"),
    ((["Yes [1: docs/a.md], no [1: b.py]."], _PATHS), ([[1]], ["[1: b.py]"]),
     "each citation is judged alone, also where numbers are equal"),
    ((["So [1: a.md]."], _PATHS), ([[]], ["[1: a.md]"]),
     "passage 1 has the path docs/a.md, of which a.md is a part"),
    ((["So [1: docs/a]."], _PATHS), ([[]], ["[1: docs/a]"]),
     "passage 1 has the path docs/a.md, which only begins so"),
    ((["So [2: b.pyi]."], _PATHS), ([[]], ["[2: b.pyi]"]),
     "passage 2 has the path b.py, which is another file"),
    ((["So [2: B.py]."], _PATHS), ([[]], ["[2: B.py]"]),
     "passage 2 has the path b.py, in small letters"),
)  # fmt: skip


def _supported(
    function: Callable[..., Any], sentence: str, lines: list[str], cosines: list[float]
) -> Any:
    """Call the function with an encoder that makes each line as similar as it is said to be."""
    encode = Encoder(dict(zip(lines, cosines, strict=True)))
    return round(float(function(sentence, lines, encode)), 6)


@drawn(150, apply=_supported, paste="support({0}, {1}, encode)")
def any_sentence(random: Draws) -> Call:
    """Draw a sentence and lines of few words and numbers, and how similar each line is to it."""

    def phrase(most: int) -> str:
        return " ".join(random.choices(CLAIMED, k=random.randint(1, most))) + random.choice(
            (".", "")
        )

    lines = list(dict.fromkeys(phrase(5) for _ in range(random.choice((0, 1, 2, 4)))))
    sentence = f"So {phrase(4)}"
    return given(sentence, lines, [random.choice((-0.3, 0.2, 0.6, 0.9)) for _ in lines])


@exercise("15.2", "answers.faithfulness:support", 3, draws=any_sentence)
def check_support(call: Probe) -> None:
    """Compare sentences with lines: similarity, words, numbers, and no lines at all."""
    for about, rows in (
        ("the similarity and the share of words", ONE_LINE),
        ("several lines, and no line or word", LINES),
        ("numbers", NUMBERS),
    ):
        with call.part(1, about):
            for sentence, likeness, expected, because in rows:
                call(sentence, [*likeness], Encoder(likeness)).gives(expected, because=because)


Supported = tuple[tuple[str, dict[str, float], float, str], ...]
"""A sentence, lines with their similarity to it, the support, and why."""

PURR = "Cats purr loudly."
ONE_LINE: Supported = (
    (PURR, {"A cat can purr.": 0.8}, (0.8 + 2 / 3) / 2,
     "the similarity is 0.8, and the line has two of the three words"),
    (PURR, {"It rains.": 0.2}, 0.1, "the similarity is 0.2, and the line has none of the words"),
    (PURR, {"Dogs purr.": -0.4}, (0 + 1 / 3) / 2,
     "a similarity below 0 counts as 0, and the line has one of the three words"),
    ("Purring relaxes.", {"It purrs to relax.": 0.5}, (0.5 + 1) / 2,
     "`stems` removes the endings: purring and purrs are one word"),
    ("Cats eat.", {"Cats purr when they are stroked, and cats eat fish.": 0.6}, (0.6 + 1) / 2,
     "the share is of the words of the sentence, not of those of the line"),
)  # fmt: skip
LINES: Supported = (
    (PURR, {}, 0.0, "without a line, nothing supports the sentence"),
    (PURR, {"Cats sleep.": 0.9, "They purr loudly.": 0.3}, (0.9 + 1) / 2,
     "only the most similar line gives the similarity, but all lines give the words"),
    (PURR, {"Cats sleep.": 0.3, "They purr loudly.": 0.9}, (0.9 + 1) / 2,
     "the most similar line may be any of them"),
    (PURR, {"Cats purr.": 0.6, "Cats sleep.": 0.2}, (0.6 + 2 / 3) / 2,
     "cats is in both lines, and still one word of three"),
    ("Cats eat.", {"Concatenation repeats.": 0.6}, 0.3,
     "cat and eat are parts of the line's words, but no words of it"),
    ("It is so.", {"Cats purr.": 0.6}, 0.3,
     "`stems` finds no word in the sentence, so its share is 0"),
)  # fmt: skip
LIMIT = {"The limit is 1,544 bytes, and of rows 50": 0.9, "0.5 was the one before.": 0.4}
NUMBERS: Supported = (
    ("The limit is 60 rows.", LIMIT, 0.0,
     "no line has the number 60, although the other words are equal"),
    ("The limit is 5 rows.", LIMIT, 0.0, "5 is a part of 50, but another number"),
    ("The limit is 50 rows, before 2.", LIMIT, 0.0,
     "50 is there and 2 is not: each number counts"),
    ("The limit was 0.5 before.", LIMIT, (0.9 + 1) / 2,
     "0.5 is in one of the lines, although this is not the most similar line"),
    ("The limit is 50 rows, before 0.5.", LIMIT, (0.9 + 1) / 2,
     "both numbers are there, each in a line of its own"),
    ("The limit is 1,544 bytes.", LIMIT, (0.9 + 1) / 2, "1,544 is one number, with its comma"),
)  # fmt: skip


class Encoder:
    """An encoder that knows how similar each line is to the sentence."""

    def __init__(self, likeness: dict[str, float]) -> None:
        self.likeness = likeness

    def __call__(self, texts: list[str]) -> Any:
        """Return a unit vector for each text; its first number is the similarity."""
        import numpy as np

        cosines = np.array([self.likeness.get(text, 1.0) for text in texts])
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)

    def __repr__(self) -> str:
        similar = ", ".join(f"{one!r} {how:g}" for one, how in self.likeness.items())
        return f"<encode; similar to the sentence: {similar or 'nothing'}>"


def _equally(lines: list[list[str]], cosine: float) -> Encoder:
    """Return an encoder for which each line is as similar as this to whatever is not a line."""
    return Encoder({line: cosine for some in lines for line in some})


def _named(
    function: Callable[..., Any], sentences: list[str], lines: list[list[str]], least: float
) -> Any:
    """Call the function with as many paths as there are lines; the first file has two passages."""
    paths = [f"{letter}.md" for letter in "abacde"[: len(lines)]]
    return function(sentences, paths, lines, _equally(lines, 0.5), least)


@drawn(150, apply=_named, paste="find_unsupported({0}, paths, {1}, encode, {2})")
def any_answer(random: Draws) -> Call:
    """Draw passages of few words, and sentences that cite some of them, none, or none that is."""

    def phrase() -> str:
        return " ".join(random.choices(CLAIMED, k=random.randint(1, 4)))

    lines = [[f"{phrase()}." for _ in range(random.randint(1, 2))] for _ in range(3)]
    sentences = []
    for _ in range(random.randint(0, 4)):
        cited = [random.choice(("1: a.md", "2: b.md", "3: a.md", "2: a.md", "4: d.md"))]
        cited = random.choice(([], cited, cited, [*cited, "1: a.md"]))
        sentences.append(
            " ".join([phrase(), *(f"[{one}]" for one in cited)]) + random.choice((".", ". "))
        )
    sentences += random.some(sentences)  # a sentence may come twice
    return given(sentences, lines, random.choice((0.3, 0.5, 0.65)))


@exercise("15.3", "answers.faithfulness:find_unsupported", 3, draws=any_answer)
def check_find_unsupported(call: Probe) -> None:
    """Hold sentences against their own passages, several, none and wrong ones; then thresholds."""
    paths = ["a.md", "b.md"]
    # No sentence is one of these lines, so that `encode` tells them apart in any order of calls.
    lines = [["So cats purr loudly.", "So cats eat fish."], ["So mills turn slowly.", "So it is."]]
    purr, turn = "Cats purr loudly [1: a.md].", "Mills turn slowly [2: b.md]."
    with call.part(2, "each sentence against its own passages"):
        for sentences, named, because in (
            ([purr], [], "its passage has all of its words: a citation is not one of them"),
            (["Dogs bark [1: a.md]."], [0], "its passage has none of its words"),
            ([turn], [], "passage 2 has all of its words, and its lines are in lines[1]"),
            (["Mills turn slowly [1: a.md]."], [0],
             "passage 2 says it, but the sentence cites passage 1"),
            ([turn, "Cats eat fish [2: b.md].", purr], [1],
             "passage 1 says it, but the sentence cites passage 2"),
            (["Cats purr, mills turn [1: a.md] [2: b.md]."], [],
             "the lines of both passages together have all of its words"),
            ([purr, "Cats eat fish."], [],
             "the second sentence cites nothing: it is held against what the answer cites"),
            ([purr, "Mills turn slowly."], [1],
             "the second sentence cites nothing, and the answer cites only passage 1"),
            ([purr, "Cats eat fish [1: b.md]."], [1],
             "there is no passage 1 with the path b.md, so the sentence has no evidence"),
            (["Mills turn slowly."], [0], "no passage is cited, so there is no evidence"),
            (["Dogs bark [1: a.md].", purr, "Dogs bark [1: a.md]."], [0, 2],
             "each sentence is named, in their order, also one that is there twice"),
            ([], [], "there is no sentence"),
        ):  # fmt: skip
            expected = [sentences[at] for at in named]
            call(sentences, paths, lines, _equally(lines, 0.6)).gives(expected, because=because)
    with call.part(1, "the threshold, and sentences and passages that are alike"):
        call(["Cats purr [1: a.md]."], paths, lines, _equally(lines, 0.2), 0.65).gives(
            ["Cats purr [1: a.md]."],
            because="no line is similar to it: each is compared as it is, not all as one text",
        )
        for word, cosine, least, is_named, because in (
            ("slowly", 0.5, 0.5, True, "a support of 0.42 is below a threshold of 0.5"),
            ("loudly", 0.5, 0.75, False, "a support of 0.75 is not below a threshold of 0.75"),
            ("loudly", 0.5, 0.8, True, "a support of 0.75 is below a threshold of 0.8"),
            ("slowly", -0.5, 0.1, False, "a support of 0.17 is not below a threshold of 0.1"),
        ):
            said = [f"{'Cats purr' if word == 'loudly' else 'Dogs purr'} {word} [1: a.md]."]
            call(said, paths, lines, _equally(lines, cosine), least).gives(
                said if is_named else [], because=because
            )
        for sentences, named, because in (
            (["Mills bark [1: a.md].", purr, "Dogs bark [1: a.md]."], [0, 2],
             "the sentences are in their order, which is not that of the alphabet"),
            (["- Dogs bark [1: a.md]. "], [0], "it is returned as it is written, with its spaces"),
            (["Cats purr loudly [1: a.md] [3: c.md]."], [],
             "there is no passage 3, but passage 1 has all of its words"),
        ):  # fmt: skip
            expected = [sentences[at] for at in named]
            call(sentences, paths, lines, _equally(lines, 0.6)).gives(expected, because=because)
        call(["Mills turn slowly [2: a.md]."], ["a.md"] * 2, lines, _equally(lines, 0.6)).gives(
            [], because="two passages may be of one file: the number says which one is cited"
        )
        call(["Cats bark [1: a.md]."], paths, lines, _equally(lines, 0.6)).gives(
            ["Cats bark [1: a.md]."],
            because="one word of two: the default of `least` is 0.65, and the support is 0.55",
        )
