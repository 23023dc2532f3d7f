"""Lab 15, checking an answer: citations, and how far passages support a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from course_lib.teaching.checks.definition import Parts, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given

PATHS = {1: "docs/a.md", 2: "b.py", 4: "c.py"}
CLAIMED = "cats Cat purring purrs it is rows 5 50 0.5 1,544 concat straße cafe\u0301".split()
SIMILAR = """similar = lambda texts: np.array([[c, (1 - c * c) ** 0.5] for c in [
    likeness.get(text, 1) for text in texts]])
"""
"""How a learner makes the encoder of a call; a notebook has one of its own named `encode`."""


@drawn(120, varies=(0, 1))
def any_citations(random: Draws) -> Call:
    """Draw paths that are alike, and sentences that cite some, right and wrong, or none."""
    names = random.names(random.choice((0, 1, 3, 12)))
    names = [name.replace("0", " v2").replace("1", "e\u0301") for name in names]
    paths = {number: name for number, name in enumerate(names, 1) if random.chance(0.9)}
    sentences = []
    for _ in range(random.randrange(5)):
        parts = [random.choice(("So items[0]", random.prose(3)))]
        for _ in range(random.choice((0, 1, 2, 3, 8))):
            number, path = random.choice([*enumerate((*names, "b.py"), 1)])
            wrong = (f"{path}i", f"docs/{path}", path[1:], path.upper())
            path = random.choice((path, path, path, path.split("/")[-1], *wrong))
            number = random.choice((number, number, number, number, number + 1, 0))
            cited = random.choice((f"[{number}]", f"[{number}: {path}]"))
            parts.append(f"{random.choice(('and ', ''))}{cited}")
        sentences.append(" ".join(parts) + ".")
    return given(sentences, paths)


@exercise("15.1", "answers.citations:check_citations", draws=any_citations)
def check_citation_check() -> Parts:
    """Look at right citations, wrong numbers, wrong paths, repetitions, and sentences without."""
    return [
        part(1, "sentences with right citations",
            ((["So [2], so [1: docs/a.md], and [2: b.py].", "And so [1]."], PATHS),
             "each sentence gets the passages that it cites: each once, in the order of the text"),
            ((["So [4]."], PATHS), "there is a passage 4, although there is no passage 3"),
            ((["So [1: a.md]."], PATHS), "a.md is the end of docs/a.md, after a slash")),
        part(1, "sentences without a citation",
            ((["So [2].", "It was so.", "And [1: docs/a.md] [2]."], PATHS),
             "the second sentence cites nothing, so it gets all passages that the answer cites, "
             "before it and after it, each once; passage 4 is cited nowhere"),
            ((["The items.", "So the items [2: b.py]."], PATHS), "it gets what the answer cites")),
        part(2, "wrong citations",
            ((["So [3].", "So [0: b.py].", "Yes [1]."], PATHS),
             "no passage is 3, and none is 0: both have no source, and come as they are written"),
            ((["So [3], [3].", "So [3]."], PATHS),
             "a wrong citation is returned as often as it is in the text: here three times"),
            ((["So [1: b.py]."], PATHS), "passage 1 is docs/a.md: a path that is given counts"),
            ((["Yes [1: docs/a.md], no [1: b.py]."], PATHS), "each citation is judged alone"),
            ((["So [1: ocs/a.md]."], PATHS), "passage 1 is docs/a.md, which only ends so"),
            ((["So [1: docs/a.m]."], PATHS), "passage 1 is docs/a.md, which only begins so"),
            ((["So [2: b.pyi]."], PATHS), "passage 2 has the path b.py, which is another file"),
            ((["So [2: B.py]."], PATHS), "passage 2 has the path b.py, in small letters")),
    ]  # fmt: skip


def _encoder(likeness: dict[str, Any]) -> Callable[[list[str]], Any]:
    """Return an encoder by which each line is as similar as this to whatever is not a line."""

    def encode(texts: list[str]) -> Any:
        cosines = [likeness.get(text, 1.0) for text in texts]
        return np.array([[one, (1 - one**2) ** 0.5] for one in cosines])

    return encode


@drawn(
    150, varies=(0,),
    apply=lambda f, one, lines, like: f(one, lines, _encoder(dict(zip(lines, like, strict=True)))),
    paste=f"likeness = dict(zip({{1}}, {{2}}))\n{SIMILAR}support({{0}}, {{1}}, similar)",
)  # fmt: skip
def any_sentence(random: Draws) -> Call:
    """Draw a sentence and lines of few words and numbers, and how similar each line is to it."""

    def phrase(most: int) -> str:
        words = random.choices(CLAIMED, k=random.randint(1, most))
        return " ".join(words) + random.choice((".", ""))

    lines = list(dict.fromkeys(phrase(5) for _ in range(random.choice((0, 1, 2, 4, 12)))))
    return given(f"So {phrase(4)}", lines, [random.choice((-0.3, 0.2, 0.6, 0.9)) for _ in lines])


@exercise("15.2", "answers.faithfulness:support", draws=any_sentence)
def check_support() -> Parts:
    """Compare sentences with lines: similarity, words, numbers, and no lines at all."""
    purr, two = "Cats purr loudly.", ["Cats sleep.", "They purr loudly."]
    limit = ["The limit is 1,544 bytes, and of rows 50", "0.5 was the one before."], [0.9, 0.4]
    return [
        part(1, "the similarity and the share of words",
            ((purr, ["A cat can purr."], [0.8]), "the mean of 0.8 and two of the three words"),
            ((purr, ["Dogs purr."], [-0.4]), "a similarity below 0 counts as 0")),
        part(1, "several lines, and no line or word",
            ((purr, [], []), "without a line, nothing supports the sentence"),
            ((purr, two, [0.9, 0.3]),
             "only the most similar line gives the similarity, but all lines give the words"),
            ((purr, two, [0.3, 0.9]), "the most similar line may be any of them"),
            ((purr, ["Cats purr.", "Cats sleep."], [0.6, 0.2]), "cats is still one word of three"),
            (("Cats eat.", ["It is beaten."], [0.6]), "eat is a part of beaten, but another word"),
            (("It is so.", ["Cats purr."], [0.6]), "`stems` finds no word: its share is 0")),
        part(1, "numbers",
            (("The limit is 60 rows.", *limit), "no line has the number 60"),
            (("The limit is 5 rows.", *limit), "5 is a part of 50, but another number"),
            (("It is 50, before 2.", *limit), "50 is there and 2 is not: each number counts"),
            (("It was 0.5 before.", *limit), "a line has it, though not the most similar line"),
            (("It is 50, before 0.5.", *limit), "both are there, each in a line of its own")),
    ]  # fmt: skip


@drawn(
    150, varies=(0, 2, 3, 4),
    apply=lambda answer, sentences, paths, lines, cosine, *least: answer(
        sentences, paths, lines, _encoder(dict.fromkeys(sum(lines.values(), []), cosine)), *least
    ),
    paste=f"likeness = dict.fromkeys(sum({{2}}.values(), []), {{3}})\n{SIMILAR}"
    "find_unsupported({0}, {1}, {2}, similar, {rest})",
)  # fmt: skip
def any_answer(random: Draws) -> Call:
    """Draw passages of few words, and sentences that cite some of them, none, or none that is."""

    def phrase() -> str:
        return " ".join(random.choices(CLAIMED, k=random.randint(1, 4)))

    lines = {n: [f"{phrase()}." for _ in range(random.randint(1, 2))] for n in (1, 2, 3)}
    sentences = []
    for _ in range(random.randint(0, 4)):
        cited = [random.choice(("1", "2: b.md", "3: a.md", "2", "2: a.md", "4"))]
        cited = random.choice(([], cited, cited, [*cited, "1"]))
        words = [phrase(), *(f"[{one}]" for one in cited)]
        sentences.append(" ".join(words) + random.choice((".", ". ")))
    sentences += random.some(sentences)  # a sentence may come twice
    cosine, least = random.choice((0.5, 0.5, -0.5)), random.choice(([], [0.0], [0.3], [0.5]))
    return given(sentences, {1: "a.md", 2: "b.md", 3: "a.md"}, lines, cosine, *least)


@exercise("15.3", "answers.faithfulness:find_unsupported", draws=any_answer)
def check_find_unsupported() -> Parts:
    """Hold sentences against their own passages, several, none and wrong ones; then thresholds."""
    # No sentence is one of these lines, so that the encoder tells them apart in any order of calls.
    cats, mills = (
        ["So cats purr loudly.", "So cats eat fish."],
        ["So mills turn slowly.", "So it is."],
    )
    lines = {1: cats, 2: mills}
    own, bark = ({1: "a.md", 2: "b.md"}, lines), "Dogs bark [1]."
    purr, turn = "Cats purr loudly [1].", "Mills turn slowly [2]."
    return [
        part(2, "each sentence against its own passages", *(
            ((sentences, *own, 0.6), because) for sentences, because in (
                ([purr], "its passage has all of its words: a citation is not one of them"),
                ([bark], "its passage has none of its words"),
                (["Mills turn [1]."], "passage 2 says it, but the sentence cites passage 1"),
                ([turn, "Cats eat fish [2].", purr],
                 "passage 1 says it, but the sentence cites passage 2"),
                (["Cats, mills [1] [2: b.md]."], "both passages together have its words"),
                ([purr, "Cats eat."], "it cites nothing: held against what the answer cites"),
                ([purr, "Mills turn."], "it cites nothing, and the answer cites only passage 1"),
                ([purr, "Cats eat fish [1: b.md]."], "passage 1 is a.md, so it has no evidence"),
                ([bark, purr, bark], "each sentence is named, also one that is there twice"),
            )
        )),
        part(1, "the threshold, and sentences and passages that are alike",
            ((["Cats purr [1]."], *own, 0.2, 0.65),
             "no line is similar to it: each is compared as it is, not all as one text"),
            (([purr], *own, 0.5, 0.75), "a support of 0.75 is not below a threshold of 0.75"),
            (([purr], *own, 0.5, 0.8), "a support of 0.75 is below a threshold of 0.8"),
            ((["Mills bark [1].", bark], *own, 0.6), "the order is not that of the alphabet"),
            (([f"- {bark} "], *own, 0.6), "it is returned as it is written, with its spaces"),
            ((["Cats purr [1] [3]."], *own, 0.6), "passage 1 has all of its words"),
            ((["Mills [2]."], {1: "a.md", 2: "a.md"}, lines, 0.6), "two passages are of one file"),
            ((["Cats bark [1]."], *own, 0.6), "0.55 is below 0.65, the default of `least`")),
    ]  # fmt: skip
