"""Lab 12: names of files, candidates, budgets, citations, and sentences that lines support."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_lib.teaching.audits import Call, audit, call
from course_lib.teaching.audits.draws import Draws, chance, matrix, names, numbers, some
from course_lib.teaching.checks.lab12 import Encoder

CLAIMED = ("cats", "Cat", "purring", "purrs", "it", "is", "rows", "5", "50", "0.5", "1,544")


@audit("12.1", count=150)
def find_hinted(random: Draws) -> Call:
    """Draw an index whose paths are alike, and a name that some of them end in, or end."""
    bases = random.sample(("main.go", "Main.go", "README.md", "readme.md"), random.randint(1, 3))
    folders = ("", "cmd/", "tools/cmd/", "xcmd/", "Cmd/", "a/tools/cmd/", "old/")
    manifest = {base: [folder + base for folder in some(random, folders, 1)] for base in bases}
    paths = [path for each in manifest.values() for path in each]
    path = random.choice((*paths, "cmd/b.py"))
    hint = random.choice(
        (
            *(path, path, f"home/{path}", f"home/x{path}", f"a/tools/{path}"),
            *(path.partition("/")[2] or path, path[1:], path.split("/")[-1]),
        )
    )
    return call(random.choice((hint, hint, hint.upper(), hint.lower())), manifest)


@audit("12.2", count=60)
def maximal_marginal_relevance(random: Draws) -> Call:
    """Draw candidates of which none adds nearly as much as another one, at any step."""
    import numpy as np

    from course_lib.answers.selection import maximal_marginal_relevance as choose

    while True:
        count = random.randrange(7)
        rows = matrix(random, count + 3, 3)
        rows /= (rows**2).sum(axis=1, keepdims=True) ** 0.5
        few = [random.choice((1, 1, -1)) * rows[random.randrange(len(rows))] for _ in rows]
        vectors = np.array(few, dtype="float32")
        relevance = numbers(random, count)
        named: dict[str, Any] = {}
        if chance(random, 0.6):
            named["diversity"] = random.choice((0.0, 0.5, 0.8, 1.0))
        if chance(random, 0.5):
            named["taken"] = vectors[count : count + random.randint(1, 3)]
        drawn = call(relevance, vectors[:count], random.randrange(8), **named)
        near = [[one + random.uniform(-1e-4, 1e-4) for one in relevance] for _ in range(4)]
        orders = [choose(each, *drawn.args[1:], **named) for each in (relevance, *near)]
        if all(order == orders[0] for order in orders):
            return drawn


@audit("12.3", count=150)
def fit_passages(random: Draws) -> Call:
    """Draw costs and scores, equal ones among them, and a room that is at times just enough."""
    count = random.randrange(7)
    costs = [random.choice((10, 50, 60, 150, 400)) for _ in range(count)]
    scores = [random.choice((1, 2, 3, 0.5, -1)) for _ in range(count)]
    fixed = random.choice((0, 100, 250))
    room = fixed + random.choice((sum(costs), sum(costs) - 1, sum(costs[1:]), 0, 100, -1))
    return call(fixed, costs, scores, room)


@audit("12.4", count=120)
def check_citations(random: Draws) -> Call:
    """Draw paths that are alike, and sentences that cite some, right and wrong, or none."""
    paths = [name.replace("0", " v2") for name in names(random, random.choice((0, 1, 3, 12)))]
    sentences = []
    for _ in range(random.randrange(5)):
        parts = ["So items[0]"]
        for _ in range(random.randrange(4)):
            number = random.randrange(len(paths) + 3)
            path = random.choice((*paths, "b.py"))
            if paths and chance(random, 0.6):
                number = random.randint(1, len(paths))
                path = random.choice(("{}", "{}", "{}i", "docs/{}")).format(paths[number - 1])
            parts.append(f"{random.choice(('and ', ''))}[{number}: {path}]")
        sentences.append(" ".join(parts) + ".")
    return call(sentences, paths)


def _supported(
    function: Callable[..., Any], sentence: str, lines: list[str], cosines: list[float]
) -> Any:
    """Call the function with an encoder that makes each line as similar as it is said to be."""
    encode = Encoder(dict(zip(lines, cosines, strict=True)))
    return round(float(function(sentence, lines, encode)), 6)


@audit("12.5", count=150, apply=_supported, paste="support({0}, {1}, encode)")
def support(random: Draws) -> Call:
    """Draw a sentence and lines of few words and numbers, and how similar each line is to it."""

    def phrase(most: int) -> str:
        return " ".join(random.choices(CLAIMED, k=random.randint(1, most))) + "."

    lines = list(dict.fromkeys(phrase(5) for _ in range(random.choice((0, 1, 2, 4)))))
    sentence = f"So {phrase(4)}"
    return call(sentence, lines, [random.choice((-0.3, 0.2, 0.6, 0.9)) for _ in lines])
