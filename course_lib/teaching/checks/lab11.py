"""Lab 11, grounded answers: file hints, diversity, the token budget, citations, edit markers."""

from __future__ import annotations

from course_lib.teaching.checks.probe import Probe, exercise

ENDINGS = {".py", ".yaml", ".md"}


@exercise(
    "11.1",
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
    "11.2",
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


@exercise(
    "11.3",
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
    "11.4",
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
    "11.5",
    function="between_markers",
    library="course_lib.answers.edit:between_markers",
    points=2,
    hints=(
        "`answer.strip().split('\\n')` gives the lines. The first has to be one marker, the last "
        "one the other.",
        "Between them, `lines[1:-1]`, no line may be a marker, and there has to be at "
        "least one line.",
        "Raise `ValueError(…)` in each case that is wrong. Last, join the lines, with a line end "
        "after each: `''.join(line + '\\n' for line in lines[1:-1])`.",
    ),
)
def check_markers(call: Probe) -> None:
    """Take what has the right form, to the character, and nothing else."""
    begin, end = "<<BEGIN_FILE>>", "<<END_FILE>>"
    call(f"{begin}\nx = 1\n{end}").gives(
        "x = 1\n",
        because="it stands between the markers, and each line ends with a line end, the last too",
    )
    call(f"  {begin}\nx\n{end}  ").gives(
        "x\n", because="white space around the whole answer does not matter, spaces neither"
    )
    call(f"{begin}\n\n{end}").gives(
        "\n", because="one line stands between the markers, a blank one: the file is that line"
    )
    call(f"\n{begin}\n\n  x = 1\n\n{end}\n").gives(
        "\n  x = 1\n\n", because="every line in between belongs to the file, blank ones too"
    )
    as_it_is = "the file comes as it is, to the character"
    call(f"{begin}\na  \n{end}").gives(
        "a  \n", because=f"{as_it_is}: spaces at the end of a line belong to it"
    )
    call(f"{begin}\n\tx\n{end}").gives("\tx\n", because=f"{as_it_is}: a tab is no spaces")
    call(f"{begin}\na\r\nb\n{end}").gives(
        "a\r\nb\n", because=f"{as_it_is}: a \\r before the line end belongs to it"
    )
    call(f"{begin}\na\n\x0c\nb\n{end}").gives(
        "a\n\x0c\nb\n", because=f"{as_it_is}: a form feed ends no line here, only \\n does"
    )
    call(f"{begin}\na\n```\nb\n```\nc\n{end}").gives(
        "a\n```\nb\n```\nc\n", because=f"{as_it_is}: code fences belong to it"
    )
    call(f"{begin}\nx = '{end}'\n{end}").gives(
        f"x = '{end}'\n", because="a marker inside a longer line is part of the file"
    )
    call(f"{begin}\n{end}!\n{end}").gives(
        f"{end}!\n", because="a line that begins with a marker is a longer line: part of the file"
    )
    call(f"{begin}\n  {end}\n{end}").gives(
        f"  {end}\n", because="an indented marker is a marker in a longer line: part of the file"
    )
    call("x = 1").raises(ValueError, because="there is no marker")
    call(f"{begin}\nx = 1\n").raises(
        ValueError, because=f"the line {end} is missing: the answer was cut off"
    )
    call(f"x = 1\n{end}").raises(ValueError, because=f"the line {begin} is missing")
    call(f"{end}\nx = 1\n{begin}").raises(
        ValueError, because="the markers are in the wrong order: nothing stands after the beginning"
    )
    call(f"{end}\nx = 1\n{end}").raises(ValueError, because=f"the line {begin} is missing")
    call(f"Here you are:\n{begin}\nx = 1\n{end}").raises(
        ValueError, because="a sentence stands before the first marker"
    )
    call(f"{begin}\nx = 1\n{end}\nI changed x.").raises(
        ValueError, because="a sentence stands after the last marker"
    )
    call(f"{begin} Here:\nx = 1\n{end}").raises(
        ValueError, because="the marker is no line of its own: more stands in its line"
    )
    call(f"{begin}\nx = 1{end}").raises(
        ValueError, because="the marker is no line of its own: the file's last line ends in it"
    )
    call(f"{begin}\nx\n  {end}").raises(
        ValueError, because=f"the line {end} is missing: an indented one is a longer line"
    )
    call(f"{begin}\n{end}").raises(ValueError, because="no line stands between the markers")
    call(f"{begin}\nx\n{end}\ny\n{end}").raises(
        ValueError, because="a line between the markers is a marker: there are two ends"
    )
    call(f"{begin}\nx\n{begin}\ny\n{end}").raises(
        ValueError, because="a line between the markers is a marker: there are two beginnings"
    )
