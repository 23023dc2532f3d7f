"""Lab 12, grounded answers: file hints, diversity, the token budget, citations, faithfulness."""

from __future__ import annotations

from typing import Any

from course_lib.teaching.checks.probe import Probe, exercise

ENDINGS = {".py", ".yaml", ".md"}


@exercise(
    "12.1",
    function="file_hints",
    library="course_lib.answers.hints:file_hints",
    points=2,
    hints=(
        "`question.split()` gives the words. Each may carry signs around it that belong to the "
        "sentence: quotes, brackets, commas, a full stop.",
        "`word.lstrip(signs).rstrip(signs + '.')` takes signs from both ends, and the full stop "
        "from the right alone: `./main.py` begins with one, which wants `removeprefix('./')`.",
        "`PurePosixPath(word).suffix.lower()` is a name's ending, and of `.py` alone it is empty. "
        "`list(dict.fromkeys(words))` keeps each word once, in the order in which they came.",
    ),
)
def check_file_hints(call: Probe) -> None:
    """Find names in a sentence, among words that only look like names."""
    call("What does registry.py do", ENDINGS).gives(
        ["registry.py"], because="it is the only word with one of the endings"
    )
    call("b.py or a.py", ENDINGS).gives(["b.py", "a.py"], because="b.py is named before a.py")
    call("a.py and b.py and a.py", ENDINGS).gives(["a.py", "b.py"], because="each name once")
    call("Look at a.py, then a.py.", ENDINGS).gives(
        ["a.py"], because="with and without its comma it is the same name"
    )
    call("apps/base/app.yaml", ENDINGS).gives(
        ["apps/base/app.yaml"], because="a path is part of the name"
    )
    for around in ("(`{}`)", "'{}'", '"{}"', "[{}]", "{{{}}}", "{},", "{}:", "{};", "{}!", "{}?"):
        call(around.format("main.py"), ENDINGS).gives(
            ["main.py"], because="quotes, brackets and punctuation belong to the sentence"
        )
    call("So main.py.", ENDINGS).gives(["main.py"], because="the full stop ends the sentence")
    call("./main.py", ENDINGS).gives(["main.py"], because="./ is left out")
    call("../main.py", ENDINGS).gives(
        ["../main.py"], because="../ is another folder: only ./ at the beginning is left out"
    )
    call("__init__.py", ENDINGS).gives(
        ["__init__.py"], because="the underscores are part of the name"
    )
    call(".github/ci.yaml", ENDINGS).gives(
        [".github/ci.yaml"], because="this dot is part of the name: only ./ is left out"
    )
    call("docs/v1.2/my-notes.md", ENDINGS).gives(
        ["docs/v1.2/my-notes.md"], because="hyphens and further dots are part of the name"
    )
    call("a.py\nb.py", ENDINGS).gives(
        ["a.py", "b.py"], because="a line end separates words, as a space does"
    )
    call("Main.PY", ENDINGS).gives(
        ["Main.PY"], because="an ending may be in capitals, and the name stays as it is written"
    )
    call("main.pyc and a.py.bak", ENDINGS).gives(
        [], because=".pyc and .bak are other endings: .py has to be at the end"
    )
    call("lib.rs or a.py", {".rs"}).gives(
        ["lib.rs"], because="`endings` says which words are names, and .py is not among them"
    )
    call("What are .py files, and what is happy?", ENDINGS).gives(
        [], because="an ending alone is no name, nor is a word that ends in its letters"
    )
    call("", ENDINGS).gives([], because="there is no word")


@exercise(
    "12.2",
    function="maximal_marginal_relevance",
    library="course_lib.answers.selection:maximal_marginal_relevance",
    points=3,
    hints=(
        "Keep one number for each candidate: its likeness to the closest of those that were taken. "
        "At first it is 0, or the largest inner product with the rows of `taken`.",
        "In each round take the largest `(1 - diversity) * relevance - diversity * likeness` of "
        "those that are left. `np.argmax` takes the first of equals.",
        "After taking one, its inner products with all vectors may be larger than the likeness "
        "that you have: `np.maximum(likeness, vectors @ vectors[best])`.",
    ),
)
def check_mmr(call: Probe) -> None:
    """Choose among copies, opposites and what the context has already."""
    import numpy as np

    copies = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    call([0.9, 0.8, 0.7], copies, 3).gives(
        [0, 2, 1], because="the second says what the first said, so the third adds more"
    )
    call([0.9, 0.8, 0.7], copies, 2, diversity=0).gives(
        [0, 1], because="where likeness costs nothing, relevance alone decides"
    )
    call([0.1, 0.9, 0.8], copies, 1).gives([1], because="the first one taken is the most relevant")
    call([0.9], copies[:1], 0).gives([], because="none was asked for")
    partly = np.array([[1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5], [0, 1, 0, 0]], np.float32)
    call([1.0, 0.8, 0.4], partly, 2, diversity=0.5).gives(
        [0, 2], because="after the first, the second adds 0.4 - 0.25 and the third 0.2 - 0"
    )
    opposite = np.array([[1, 0], [-1, 0], [0, 1]], np.float32)
    call([1.0, 0.5, 0.4], opposite, 2, diversity=0.5).gives(
        [0, 1], because="an inner product below 0 is no likeness that could cost anything"
    )
    echo = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]], np.float32)
    call([1.0, 0.9, 0.8, 0.2], echo, 3, diversity=0.5).gives(
        [0, 1, 3],
        because="the third copies the first, which was taken two rounds before: it adds 0.4 - 0.5, "
        "and the last one 0.1 - 0",
    )
    between = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0.5] * 4, [0, 0, 1, 0]], np.float32)
    call([1.0, 0.9, 0.8, 0.2], between, 3, diversity=0.5).gives(
        [0, 1, 2],
        because="only the closest counts: the third adds 0.4 - 0.25, though it is like both that "
        "were taken",
    )
    call([0.9, 0.8, 0.7], copies, 1, taken=copies[:1]).gives(
        [2], because="the context has the first two already, in so many words"
    )
    call([1.0, 0.9, 0.8, 0.3], echo[[1, 0, 1, 3]], 2, diversity=0.5, taken=echo[:1]).gives(
        [0, 3],
        because="the second copies what the context had, and the third what was taken just now",
    )
    call([0.9, 0.8], copies[:2], 5).gives([0, 1], because="there are no more than two")
    call([], np.empty((0, 2), np.float32), 3).gives([], because="there is no candidate")
    call([1.0, 0.3, 0.45], opposite, 2, diversity=0.5).gives(
        [0, 2],
        because="an inner product below 0 counts as 0, and adds nothing either: the second adds "
        "0.15, the third 0.225",
    )


@exercise(
    "12.3",
    function="fit_passages",
    library="course_lib.answers.budget:fit_passages",
    points=2,
    hints=(
        "Begin with all places, and take one away as long as `fixed` and what the others cost are "
        "more than `room`.",
        "The one to go has the lowest score. Of equals it is the last one, so let `min` see the "
        "places from the end: `min(reversed(kept), key=lambda place: scores[place])`.",
        "`kept.remove(place)` leaves the others in their order. Before all that: if `fixed` alone "
        "is more than `room`, raise a ValueError that says that the question does not fit.",
    ),
)
def check_fit(call: Probe) -> None:
    """Drop nothing, the weakest, several, all; and refuse what cannot fit."""
    call(100, [50, 50, 50], [3, 2, 1], 300).gives([0, 1, 2], because="all of it fits: 250 of 300")
    call(100, [50, 50, 50], [3, 2, 1], 250).gives([0, 1, 2], because="exactly full is not too full")
    call(100, [50, 50, 50], [2, 1, 3], 249).gives(
        [0, 2], because="the weakest goes, and the others keep their order and their numbers"
    )
    call(100, [10, 200, 10], [1, 3, 2], 300).gives(
        [1], because="10 goes first although it is short, then the next weakest: the score decides"
    )
    call(100, [50, 100, 10], [3, 2, 1], 200).gives(
        [0], because="the last one went first, and does not come back when there is room again"
    )
    call(100, [50, 50, 50], [2, 1, 1], 220).gives([0, 1], because="of equals, the last one goes")
    call(100, [500], [1], 300).gives([], because="a passage that never fits goes, too")
    call(100, [], [], 100).gives([], because="there is nothing to drop, and it fits")
    call(101, [50], [1], 100).raises(
        ValueError, mentions="question", because="without any passage it is still too long"
    )


@exercise(
    "12.4",
    function="check_citations",
    library="course_lib.answers.citations:check_citations",
    points=1,
    hints=(
        "`re.findall(r'\\[(\\d+): ([^\\[\\]]+)\\]', answer)` gives pairs: the number, as text, and "
        "the path.",
        "A pair is right if `1 <= number <= len(paths)` and `paths[number - 1]` is its path. "
        "Numbers begin at 1, places in a list at 0.",
    ),
)
def check_citation_check(call: Probe) -> None:
    """Look at right citations, wrong numbers, wrong paths, and repetitions."""
    paths = ["docs/a.md", "b.py"]
    call("So [1: docs/a.md] and so [2: b.py].", paths).gives(
        ([1, 2], []), because="both numbers have these paths"
    )
    call("So [2: b.py], so [1: docs/a.md], and [2: b.py].", paths).gives(
        ([2, 1], []), because="each once, in the order of the answer"
    )
    call("So [3: c.py] and [0: b.py].", paths).gives(
        ([], ["[3: c.py]", "[0: b.py]"]), because="there is no passage 3, and no passage 0"
    )
    call("So [1: b.py].", paths).gives(
        ([], ["[1: b.py]"]), because="passage 1 is docs/a.md: number and path have to agree"
    )
    call("Yes [1: docs/a.md], no [1: b.py].", paths).gives(
        ([1], ["[1: b.py]"]), because="each citation is judged alone, also where numbers are equal"
    )
    call("So [1: a.md].", paths).gives(
        ([], ["[1: a.md]"]), because="passage 1 has the path docs/a.md, of which a.md is a part"
    )
    call("So [2: b.pyi].", paths).gives(
        ([], ["[2: b.pyi]"]), because="passage 2 has the path b.py, which is another file"
    )
    call("So [1: my-notes v2.md].", ["my-notes v2.md"]).gives(
        ([1], []), because="a path may hold spaces and hyphens"
    )
    call("So [10: j.py].", [f"{letter}.py" for letter in "abcdefghij"]).gives(
        ([10], []), because="a number may have two digits"
    )
    call("items[0] is the first.", paths).gives(([], []), because="brackets alone cite nothing")
    call("I don't know.", []).gives(([], []), because="nothing is cited")


@exercise(
    "12.5",
    function="support",
    library="course_lib.answers.faithfulness:support",
    points=2,
    hints=(
        "Begin with what is 0: no line at all, or a number of the sentence that is not among "
        "`re.findall(NUMBER, …)` of the lines joined by blanks.",
        "`vectors = encode([sentence, *evidence])`: row 0 is the sentence's, the others are the "
        "lines'. They have length 1, so `vectors[1:] @ vectors[0]` holds the similarities.",
        "`set().union(*(stems(line) for line in evidence))` holds the words of all lines. The "
        "share is `len(words & held) / max(1, len(words))`.",
    ),
)
def check_support(call: Probe) -> None:
    """Hold sentences against lines: likeness, words, numbers, and nothing at all."""
    purr = "Cats purr loudly."
    call(purr, ["A cat can purr."], _Encode({"A cat can purr.": 0.8})).gives(
        (0.8 + 2 / 3) / 2, because="the likeness is 0.8, and the line has two of the three words"
    )
    call(purr, ["It rains."], _Encode({"It rains.": 0.2})).gives(
        0.1, because="the likeness is 0.2, and none of the words is there"
    )
    call(purr, [], _Encode({})).gives(0.0, because="without a line, nothing supports the sentence")
    two = ["Cats sleep.", "They purr loudly."]
    call(purr, two, _Encode({two[0]: 0.9, two[1]: 0.3})).gives(
        (0.9 + 1) / 2,
        because="the most similar line alone gives the likeness, and all lines give the words",
    )
    call(purr, two, _Encode({two[0]: 0.3, two[1]: 0.9})).gives(
        (0.9 + 1) / 2, because="the most similar line may be any of them"
    )
    call(purr, ["Dogs bark."], _Encode({"Dogs bark.": -0.4})).gives(
        0.0, because="a likeness below 0 counts as 0"
    )
    call("Purring relaxes.", ["It purrs to relax."], _Encode({"It purrs to relax.": 0.5})).gives(
        (0.5 + 1) / 2, because="`stems` takes the endings away: purring and purrs are one word"
    )
    long = "Cats purr when they are stroked, and cats eat fish."
    call("Cats eat.", [long], _Encode({long: 0.6})).gives(
        (0.6 + 1) / 2, because="the share is of the words of the sentence, not of those of the line"
    )
    call("It is so.", ["Cats purr."], _Encode({"Cats purr.": 0.6})).gives(
        0.3, because="`stems` finds no word in the sentence, so that its share is 0"
    )
    limit = ["The limit is 50 rows, or 1,544 bytes.", "It was 0.5 before."]
    alike = _Encode({limit[0]: 0.9, limit[1]: 0.4})
    call("The limit is 60 rows.", limit, alike).gives(
        0.0, because="no line has the number 60, whatever else is alike"
    )
    call("The limit is 5 rows.", limit, alike).gives(
        0.0, because="5 is a part of 50, and another number"
    )
    call("The limit is 50 rows, before 2.", limit, alike).gives(
        0.0, because="50 is there and 2 is not: each number counts"
    )
    call("The limit was 0.5 before.", limit, alike).gives(
        (0.9 + 1) / 2, because="0.5 is in one of the lines, be it not the most similar one"
    )
    call("The limit is 1,544 bytes.", limit, alike).gives(
        (0.9 + 1) / 2, because="1,544 is one number, with its comma"
    )


class _Encode:
    """An encoder that knows how similar each line is to the sentence."""

    def __init__(self, likeness: dict[str, float]) -> None:
        self.likeness = likeness

    def __call__(self, texts: list[str]) -> Any:
        import numpy as np

        cosines = np.array([self.likeness.get(text, 1.0) for text in texts])
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)

    def __repr__(self) -> str:
        similar = ", ".join(f"{one!r} {how:g}" for one, how in self.likeness.items())
        return f"<encode; similar to the sentence: {similar or 'nothing'}>"
