"""The figure of a token budget says in words what it shows."""

from course_lib.answers.budget import Budget, Fitted
from course_lib.answers.passages import Origin, Passage
from course_lib.answers.prompts import Prompt
from course_lib.records import SearchResult
from course_lib.teaching.lab import figures


def passage(index: int, origin: Origin) -> Passage:
    found = SearchResult("1", f"{'deep/' * 12}{index}.py", 0, "x", 0, 0, "p", "r", "", "kind", "n")
    return Passage(index, found, origin, 1 / index)


def fitted(sizes: tuple[int, ...]) -> Fitted:
    kept = (passage(1, "hint"), passage(2, "structure"), passage(3, "search"))
    plan = Budget(4096, 512, 1024, 300, sizes, "an estimate")
    return Fitted(Prompt("", ""), kept, (passage(4, "search"),), plan)


def test_every_piece_and_its_origin_are_told_and_what_did_not_fit() -> None:
    figure = figures.budget(fitted((100, 200, 50)), "a window")
    for words in ("a window of 4096", "300 tokens (fixed)", "100 tokens (hint)", "1024 tokens"):
        assert words in figure.alt
    assert "200 tokens (structure)" in figure.alt and "50 tokens (search)" in figure.alt
    assert figure.alt.endswith("/4.py.")  # the end of a long path says more than its beginning
    assert figure.html.startswith('<img src="data:image/png')
