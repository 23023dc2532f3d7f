"""Lab 15, checking an answer: citations, and how far passages support a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_lib.teaching.checks.drawn import Call, Draws, drawn, given
from course_lib.teaching.checks.probe import Probe, exercise

CLAIMED = ("cats", "Cat", "purring", "purrs", "it", "is", "rows", "5", "50", "0.5", "1,544")


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
                path = random.choice(("{}", "{}", "{}i", "docs/{}")).format(paths[number - 1])
            parts.append(f"{random.choice(('and ', ''))}[{number}: {path}]")
        sentences.append(" ".join(parts) + ".")
    return given(sentences, paths)


@exercise("15.1", "answers.citations:check_citations", 5, draws=any_citations)
def check_citation_check(call: Probe) -> None:
    """Look at right citations, wrong numbers, wrong paths, repetitions, and sentences without."""
    paths = ["docs/a.md", "b.py"]
    call.cases(
        ((["So [1: docs/a.md].", "And so [2: b.py]."], paths), ([[1], [2]], []),
         "each sentence gets the passages that it cites"),
        ((["So [1: docs/a.md] and so [2: b.py]."], paths), ([[1, 2]], []),
         "a sentence may cite more than one passage"),
        ((["So [1: docs/a.md].", "It was so."], paths), ([[1], [1]], []),
         "the second sentence cites nothing, so all that the answer cites counts; passage 2 is "
         "cited nowhere"),
        ((["So [2: b.py], so [1: docs/a.md], and [2: b.py]."], paths), ([[2, 1]], []),
         "each once, in the order of the text"),
        ((["So [2: b.py].", "It was so.", "And so [1: docs/a.md]."], paths),
         ([[2], [2, 1], [1]], []),
         "the second sentence cites nothing, so it gets all passages that the answer cites, "
         "before it and after it"),
        ((["So [3: c.py].", "So [0: b.py].", "Yes [1: docs/a.md]."], paths),
         ([[], [], [1]], ["[3: c.py]", "[0: b.py]"]),
         "there is no passage 3, and no passage 0: these sentences have no source, and wrong "
         "citations come as they are written, in the order of the text"),
        ((["So [3: c.py].", "So [3: c.py]."], paths), ([[], []], ["[3: c.py]", "[3: c.py]"]),
         "a wrong citation is returned as often as it is in the text: here twice"),
        ((["So [1: b.py]."], paths), ([[]], ["[1: b.py]"]),
         "passage 1 is docs/a.md: number and path have to agree"),
        ((["Yes [1: docs/a.md], no [1: b.py]."], paths), ([[1]], ["[1: b.py]"]),
         "each citation is judged alone, also where numbers are equal"),
        ((["So [1: a.md]."], paths), ([[]], ["[1: a.md]"]),
         "passage 1 has the path docs/a.md, of which a.md is a part"),
        ((["So [1: docs/a]."], paths), ([[]], ["[1: docs/a]"]),
         "passage 1 has the path docs/a.md, which only begins so"),
        ((["So [2: b.pyi]."], paths), ([[]], ["[2: b.pyi]"]),
         "passage 2 has the path b.py, which is another file"),
        ((["So [1: my-notes v2.md]."], ["my-notes v2.md"]), ([[1]], []),
         "a path may hold spaces and hyphens"),
        ((["So [10: j.py]."], [f"{letter}.py" for letter in "abcdefghij"]), ([[10]], []),
         "a number may have two digits"),
        ((["items[0] is first.", "So [2: b.py]."], paths), ([[2], [2]], []),
         "brackets alone cite nothing"),
        ((["No [5: x.py].", "It was."], paths), ([[], []], ["[5: x.py]"]),
         "the answer cites no passage that exists"),
        ((["I don't know."], []), ([[]], []), "nothing is cited"),
        (([], paths), ([], []), "there is no sentence"),
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
        return " ".join(random.choices(CLAIMED, k=random.randint(1, most))) + "."

    lines = list(dict.fromkeys(phrase(5) for _ in range(random.choice((0, 1, 2, 4)))))
    sentence = f"So {phrase(4)}"
    return given(sentence, lines, [random.choice((-0.3, 0.2, 0.6, 0.9)) for _ in lines])


@exercise("15.2", "answers.faithfulness:support", 5, draws=any_sentence)
def check_support(call: Probe) -> None:
    """Compare sentences with lines: similarity, words, numbers, and no lines at all."""
    purr = "Cats purr loudly."
    two = ["Cats sleep.", "They purr loudly."]
    long = "Cats purr when they are stroked, and cats eat fish."
    limit = ["The limit is 50 rows, or 1,544 bytes.", "It was 0.5 before."]
    alike = Encoder({limit[0]: 0.9, limit[1]: 0.4})
    call.cases(
        ((purr, ["A cat can purr."], Encoder({"A cat can purr.": 0.8})), (0.8 + 2 / 3) / 2,
         "the similarity is 0.8, and the line has two of the three words"),
        ((purr, ["It rains."], Encoder({"It rains.": 0.2})), 0.1,
         "the similarity is 0.2, and the line has none of the words"),
        ((purr, [], Encoder({})), 0.0, "without a line, nothing supports the sentence"),
        ((purr, two, Encoder({two[0]: 0.9, two[1]: 0.3})), (0.9 + 1) / 2,
         "only the most similar line gives the similarity, but all lines give the words"),
        ((purr, two, Encoder({two[0]: 0.3, two[1]: 0.9})), (0.9 + 1) / 2,
         "the most similar line may be any of them"),
        ((purr, ["Dogs purr."], Encoder({"Dogs purr.": -0.4})), (0 + 1 / 3) / 2,
         "a similarity below 0 counts as 0, and the line has one of the three words"),
        (("Purring relaxes.", ["It purrs to relax."], Encoder({"It purrs to relax.": 0.5})),
         (0.5 + 1) / 2,
         "`stems` removes the endings: purring and purrs are one word"),
        (("Cats eat.", [long], Encoder({long: 0.6})), (0.6 + 1) / 2,
         "the share is of the words of the sentence, not of those of the line"),
        (("It is so.", ["Cats purr."], Encoder({"Cats purr.": 0.6})), 0.3,
         "`stems` finds no word in the sentence, so its share is 0"),
        (("The limit is 60 rows.", limit, alike), 0.0,
         "no line has the number 60, although the other words are equal"),
        (("The limit is 5 rows.", limit, alike), 0.0, "5 is a part of 50, but another number"),
        (("The limit is 50 rows, before 2.", limit, alike), 0.0,
         "50 is there and 2 is not: each number counts"),
        (("The limit was 0.5 before.", limit, alike), (0.9 + 1) / 2,
         "0.5 is in one of the lines, although this is not the most similar line"),
        (("The limit is 50 rows, before 0.5.", limit, alike), (0.9 + 1) / 2,
         "both numbers are there, each in a line of its own"),
        (("The limit is 1,544 bytes.", limit, alike), (0.9 + 1) / 2,
         "1,544 is one number, with its comma"),
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
