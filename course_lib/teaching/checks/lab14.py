"""Lab 14, choosing passages: file hints, diversity, the token budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from course_lib.teaching.checks.definition import Parts, case, exercise, part
from course_lib.teaching.checks.drawn import Call, Draws, drawn, given

THREE = {"main.go": ["tools/cmd/main.go", "cmd/main.go", "main.go"]}
TWO = {"main.go": ["b/cmd/main.go", "a/cmd/main.go", "a/main.go"]}
NOTES = {"README.md": ["README.md"], "readme.md": ["old/readme.md"]}
CAPITALS = {"main.go": ["tools/cmd/main.go", "Cmd/main.go", "x/main.go"]}


@drawn(150)
def any_hint(random: Draws) -> Call:
    """Draw an index whose paths are alike, and a name that some of them share folders with."""
    bases = random.sample(("main.go", "Main.go", "README.md", "readme.md"), random.randint(1, 3))
    folders = ("", "cmd/", "tools/cmd/", "xcmd/", "Cmd/", "a/tools/cmd/", "old/", "cmd/old/")
    manifest = {base: [folder + base for folder in random.some(folders, 1)] for base in bases}
    paths = [path for each in manifest.values() for path in each]
    path = random.choice((*paths, "cmd/b.py", "cmd/main.md"))
    tails = (path, path, path.partition("/")[2] or path, path[1:], path.split("/")[-1])
    before = random.choice(("home/", "home/x", "a/tools/", "old/", "cmd/new/", "tools/"))
    hint = random.choice((*tails, before + path, before + path.split("/")[-1]))
    return given(random.choice((hint, hint, hint.upper(), hint.lower())), manifest)


@exercise("14.1", "answers.hints:find_hinted", draws=any_hint)
def check_find_hinted() -> Parts:
    """Ask for names that one file has, or many, in other capitals, and from other folders."""
    return [
        part(
            1, "names without folders",
            (("app.yaml", {"app.yaml": ["k8s/app.yaml"], "b.py": ["b.py"]}),
             "one file has this base name"),
            (("main.go", THREE),
             "a hint without folders may mean any of them; they come in the manifest's order"),
        ),
        part(
            1, "names with folders",
            (("a/cmd/main.go", TWO),
             "it shares two folders, a and cmd; the first path shares one, and the third shares "
             "none: its last folder is a, and the hint's is cmd"),
            (("lib/main.go", {"main.go": ["cmd/main.go"]}),
             "cmd is another folder than lib, so no path shares a folder with the hint"),
            (("home/xcmd/main.go", {"main.go": ["cmd/main.go"]}),
             "xcmd is another folder than cmd, although it ends with cmd"),
            (("cmd/main.go", TWO),
             "two paths share the folder cmd, in the manifest's order, and the third shares none"),
            (("home/ada/tools/cmd/main.go", THREE),
             "the hint begins above the indexed folder; tools/cmd/main.go shares two folders with "
             "it"),
            (("tools/main.go", THREE),
             "no path has tools as its last folder: folders are counted from the end; main.go has "
             "no folder, so the index may begin in tools"),
            (("src/app/main.go", {"main.go": ["lib/main.go", "main.go", "src/main.go"]}),
             "no path shares a folder, and only main.go has none"),
            (("tools/cmd/x/main.go", {"main.go": ["tools/cmd/y/main.go", "x/main.go"]}),
             "the count begins at the last folder, x; that the paths begin alike does not count"),
        ),
        part(
            1, "upper and lower case, and names that no file has",
            (("MAIN.go", THREE), "no base name is written exactly like this, so case is ignored"),
            (("README.md", NOTES),
             "one base name is written exactly like this, and readme.md is another name"),
            (("CMD/main.go", CAPITALS), "case is ignored in folders"),
            (("new/README.md", {"README.md": ["README.md"], "readme.md": ["new/readme.md"]}),
             "one base name is written exactly like this, so case is not ignored; its path has no "
             "folder"),
            (("cmd/main.py", {"main.go": ["cmd/main.go"], "domain.py": ["cmd/domain.py"]}),
             "the base name main.py is there neither exactly nor in other capitals"),
        ),
    ]  # fmt: skip


@drawn()
def any_candidates(random: Draws) -> Call:
    """Draw candidates of which none adds nearly as much as another one, at any step."""
    from course_lib.answers.selection import maximal_marginal_relevance as choose

    while True:
        count = random.randrange(7)
        rows = random.matrix(count + 3, 3)
        rows /= (rows**2).sum(axis=1, keepdims=True) ** 0.5
        few = [random.choice((1, 1, -1)) * rows[random.randrange(len(rows))] for _ in rows]
        vectors = np.array(few, dtype="float32")
        relevance = random.numbers(count)
        named: dict[str, Any] = {"diversity": random.choice((0.0, 0.3, 0.5, 0.8, 1.0))}
        if random.chance(0.5):
            named["taken"] = vectors[count : count + random.randint(1, 3)]
        drawn = given(relevance, vectors[:count], random.randrange(8), **named)
        near = [[one + random.uniform(-1e-4, 1e-4) for one in relevance] for _ in range(4)]
        orders = [choose(each, *drawn.args[1:], **named) for each in (relevance, *near)]
        if all(order == orders[0] for order in orders):
            return drawn


@exercise("14.2", "answers.selection:maximal_marginal_relevance", draws=any_candidates)
def check_mmr() -> Parts:
    """Choose among copies, opposites and what the context has already."""
    copies = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    half = np.array([[1, 0], [0.8, 0.6], [0, 1]], np.float32)
    partly = np.array([[1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5], [0, 1, 0, 0]], np.float32)
    opposite = np.array([[1, 0], [-1, 0], [0, 1]], np.float32)
    echo = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]], np.float32)
    between = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0.5] * 4, [0, 0, 1, 0]], np.float32)
    equal = (
        "both add 0.25, one of them 0.5 - 0.25 and the other 0.25 - 0: the first candidate is taken"
    )
    return [
        part(
            2, "relevance, less what is similar to the one before",
            case([0.9], copies[:1], 1, diversity=0.5,
                 because="at the first choice, nothing is taken yet to compare with"),
            case([0.9, 0.8, 0.7], copies, 3, diversity=0.3,
                 because="the second is a copy of the first, so the third adds more"),
            case([0.9, 0.8, 0.7], copies, 2, diversity=0,
                 because="with diversity 0, only relevance counts"),
            case([1.0, 0.9, 0.5], half, 2, diversity=0.3,
                 because="the second adds 0.63 - 0.24, and the third 0.35 - 0"),
            case([1.0, 0.8, 0.4], partly, 2, diversity=0.5,
                 because="after the first, the second adds 0.4 - 0.25 and the third 0.2 - 0"),
        ),
        part(
            1, "the most similar of all that are taken, in the context too; opposites",
            case([1.0, 0.8, 0.4], opposite, 2, diversity=0.5,
                 because="an inner product below 0 counts as a similarity of 0: the second adds "
                 "0.4 - 0"),
            case([1.0, 0.9, 0.8, 0.2], echo, 3, diversity=0.5,
                 because="the third is a copy of the first, which was taken two rounds before: it "
                 "adds 0.4 - 0.5, and the last one adds 0.1 - 0"),
            case([1.0, 0.9, 0.8, 0.2], between, 3, diversity=0.5,
                 because="only the most similar one counts: the third adds 0.4 - 0.25, although it "
                 "is similar to both that were taken"),
            case([0.9, 0.8, 0.7], copies, 1, diversity=0.3, taken=copies[:1],
                 because="the context already has a copy of the first two"),
            case([1.0, 0.9, 0.8, 0.3], echo[[1, 0, 1, 3]], 2, diversity=0.5, taken=echo[:1],
                 because="the second is a copy of what the context had, and the third of what was "
                 "just taken"),
            case([1.0, 0.3, 0.45], opposite, 2, diversity=0.5,
                 because="an inner product below 0 counts as 0: the second adds 0.15, the third "
                 "0.225"),
        ),
        part(
            1, "none, too few, and equal ones",
            case([0.1, 0.2], copies[:2], 2, diversity=0.3, taken=copies[:1],
                 because="all are taken; the first adds 0.07 - 0.3, and the second 0.14 - 0.3, "
                 "which is more"),
            case([0.9, 0.8], copies[:2], 5, diversity=0.3, because="there are no more than two"),
            case([0.5, 0.5, 0.5], copies[[0, 2, 1]], 2, diversity=0.3,
                 because="of equal values, the first candidate is taken, and the third is a copy "
                 "of it"),
            *(case(relevance, partly[places], 1, diversity=0.5, taken=partly[:1], because=equal)
              for relevance, places in (([1.0, 0.5], [1, 2]), ([0.5, 1.0], [2, 1]))),
        ),
    ]  # fmt: skip


@drawn(150)
def any_costs(random: Draws) -> Call:
    """Draw costs and scores, equal ones among them, and a room that is at times just enough."""
    count = random.randrange(7)
    costs = [random.choice((10, 50, 60, 150, 400)) for _ in range(count)]
    scores = [random.choice((1, 2, 3, 0.5, -1)) for _ in range(count)]
    fixed = random.choice((0, 100, 250))
    room = fixed + random.choice((sum(costs), sum(costs) - 1, sum(costs[1:]), 0, 100, -1))
    return given(fixed, costs, scores, room)


@exercise("14.3", "answers.budget:fit_passages", draws=any_costs)
def check_fit() -> Parts:
    """Drop nothing, the weakest, several, all; and refuse what cannot fit."""
    return [
        part(
            2, "the worst goes, until the rest fits",
            ((100, [50, 50, 50], [3, 2, 1], 300), "all of it fits: 250 of 300"),
            ((100, [50, 50, 50], [3, 2, 1], 250), "250 of 250 tokens still fit"),
            ((100, [50, 50, 50], [3, 2, 4], 249),
             "100 and three times 50 are 250, one more than fits: the weakest goes, and the "
             "others keep their order and their numbers"),
            ((100, [10, 200, 10], [1, 3, 2], 300),
             "the first passage is dropped although it is short, then the third: only the score "
             "decides"),
            ((100, [50, 100, 10], [3, 2, 1], 200),
             "the last one is dropped first, and does not come back when there is room again"),
        ),
        part(
            1, "equal scores, no passage left, and a question that does not fit",
            ((100, [60, 10, 40], [1, 1, 1], 200),
             "of equal scores, the last one is dropped, whatever it costs"),
            ((100, [50, 50, 50], [3, 0, -1], 300),
             "all of it fits, 250 of 300, so scores do not count"),
            ((100, [500], [1], 300), "a passage that never fits is dropped, too"),
            ((100, [50, 500], [1, 2], 300),
             "the worst is dropped first, although it is short, and does not come back when the "
             "other one goes, too"),
            ((100, [], [], 100), "there is nothing to drop, and it fits"),
            case(101, [50], [1], 100, raises=ValueError, mentions="question",
                 because="without any passage it is still too long"),
            case(101, [], [], 100, raises=ValueError, mentions="question",
                 because="there are no passages, and it is too long"),
        ),
    ]  # fmt: skip
