"""Lab 11, grounded answers: file hints, diversity, the token budget, citations, edit markers."""

from __future__ import annotations

from course_lib.teaching.checks.probe import Probe, exercise

ENDINGS = {".py", ".yaml", ".md"}


@exercise(
    "11.1",
    function="file_hints",
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
    call("Compare apps/base/app.yaml with README.md", ENDINGS).gives(
        ["apps/base/app.yaml", "README.md"], because="a path is part of the name"
    )
    call("Look at (`main.py`), then at 'b.md'.", ENDINGS).gives(
        ["main.py", "b.md"], because="quotes, brackets and stops belong to the sentence"
    )
    call("Is ./main.py shorter?", ENDINGS).gives(
        ["main.py"], because="./ only says that it lies here"
    )
    call("a.py and b.py and a.py", ENDINGS).gives(["a.py", "b.py"], because="each name once")
    call("Main.PY?", ENDINGS).gives(["Main.PY"], because="an ending may be in capitals")
    call("Is v1.2 better, e.g. for main.go?", ENDINGS).gives(
        [], because="none of these endings was asked for"
    )
    call("What are .py files, and what is happy?", ENDINGS).gives(
        [], because="an ending alone is no name, nor is a word that ends in its letters"
    )
    call("", ENDINGS).gives([], because="there is no word")


@exercise(
    "11.2",
    function="maximal_marginal_relevance",
    points=3,
    library="course_lib.answers.selection",
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
    spread = np.array([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], np.float32)
    call([1.0, 0.95, 0.2, 0.9], spread, 3, diversity=0.5).gives(
        [0, 3, 1],
        because="after the first, the gains are 0.075, 0.1 and 0.15; then -0.005 and -0.3",
    )
    echo = np.array([[1, 0], [0, 1], [1, 0], [-1, 0]], np.float32)
    call([1.0, 0.9, 0.8, 0.5], echo, 3, diversity=0.5).gives(
        [0, 1, 3], because="the third copies the first, which was taken two rounds before"
    )
    call([1.0, 0.9], copies[:2] * [[1], [-1]], 2, diversity=0.5).gives(
        [0, 1], because="an opposite is unlike, and comes all the same: two were asked for"
    )
    call([0.9, 0.8, 0.7], copies, 1, taken=copies[:1]).gives(
        [2], because="the context has the first two already, in so many words"
    )
    call([0.9, 0.8], copies[:2], 5).gives([0, 1], because="there are no more than two")
    call([], np.empty((0, 2), np.float32), 3).gives([], because="there is no candidate")


@exercise(
    "11.3",
    function="fit_passages",
    points=2,
    hints=(
        "Begin with all places, and take one away as long as `fixed` and what the others cost are "
        "more than `room`.",
        "The one to go has the lowest score. Of equals it is the last one, so let `min` see the "
        "places from behind: `min(reversed(kept), key=lambda place: scores[place])`.",
        "`kept.remove(place)` leaves the others in their order. Before all that: if `fixed` alone "
        "is more than `room`, raise a ValueError that says that the question does not fit.",
    ),
)
def check_fit(call: Probe) -> None:
    """Drop nothing, the weakest, several, all; and refuse what cannot fit."""
    call(100, [50, 50, 50], [3, 2, 1], 300).gives([0, 1, 2], because="all of it fits: 250 of 300")
    call(100, [50, 50, 50], [3, 2, 1], 250).gives([0, 1, 2], because="exactly full is not too full")
    call(100, [50, 50, 50], [2, 1, 3], 249).gives(
        [0, 2], because="the weakest goes, and the others keep their order"
    )
    call(100, [10, 200, 10], [1, 3, 2], 300).gives(
        [1], because="10 goes first although it is short, then the next weakest: the score decides"
    )
    call(100, [50, 50, 50], [2, 1, 1], 220).gives([0, 1], because="of equals, the last one goes")
    call(100, [500], [1], 300).gives([], because="a passage that never fits goes, too")
    call(100, [], [], 100).gives([], because="there is nothing to drop, and it fits")
    call(101, [50], [1], 100).raises(
        ValueError, mentions="question", because="without any passage it is still too long"
    )


@exercise(
    "11.4",
    function="check_citations",
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
    call("items[0] is the first.", paths).gives(([], []), because="brackets alone cite nothing")
    call("I don't know.", []).gives(([], []), because="nothing is cited")


@exercise(
    "11.5",
    function="between_markers",
    points=2,
    hints=(
        "`answer.strip().split('\\n')` gives the lines. The first has to be one marker, the last "
        "one the other.",
        "Between them, `lines[1:-1]`, neither marker may occur in any line, and something has to "
        "stand there.",
        "Raise `ValueError(…)` in each case that is wrong. Last, join the lines, with a line end "
        "behind each: `''.join(line + '\\n' for line in lines[1:-1])`.",
    ),
)
def check_markers(call: Probe) -> None:
    """Take what has the right form, to the character, and nothing else."""
    begin, end = "<<BEGIN_FILE>>", "<<END_FILE>>"
    call(f"{begin}\nx = 1\n{end}").gives("x = 1\n", because="it stands between the markers")
    call(f"\n{begin}\n\n  x = 1\n\n{end}\n").gives(
        "\n  x = 1\n\n", because="every line in between belongs to the file, blank ones too"
    )
    why = "what is not between markers may be anything"
    call("x = 1").raises(ValueError, because=why)
    call(f"{begin}\nx = 1\n").raises(ValueError, because="the answer was cut off")
    call(f"Here you are:\n{begin}\nx = 1\n{end}").raises(ValueError, because=why)
    call(f"{begin}\nx = 1\n{end}\nI changed x.").raises(ValueError, because=why)
    call(f"{begin}\n{end}").raises(ValueError, because="nobody asked for an empty file")
    call(f"{begin}\nx\n{end}\nrm -rf\n{end}").raises(
        ValueError, because="with two ends, nobody knows which one is meant"
    )
    call(f"{begin}\na\n{begin}\nb\n{end}").raises(
        ValueError, because="with two beginnings, nobody knows which one is meant"
    )
