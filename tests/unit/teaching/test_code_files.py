"""What lab 03 measures with, and its figure: they have to be right about what splitters do."""

from itertools import pairwise

import pytest

from course_lib.loader import split_code
from course_lib.records import Span
from course_lib.teaching.lab import figures
from course_lib.teaching.lab.code_files import (
    definitions,
    kept_whole,
)

TEXT = '''import os


@first
@second(
    1,
)
def outer(a):
    """Grüße."""
    def inner():
        return "\\d"
    return inner


class Box:
    async def open(self): return 1
'''


def at(*offsets: int) -> list[Span]:
    return [Span(begin, end, TEXT[begin:end]) for begin, end in pairwise(offsets)]


def test_definitions_go_from_their_decorators_to_their_last_line(
    recwarn: pytest.WarningsRecorder,
) -> None:
    found = {one.name: one for one in definitions(TEXT)}
    assert list(found) == ["outer", "Box", "inner", "open"]
    assert found["outer"].span.text.startswith("@first\n@second(")
    assert found["outer"].span.text.endswith("return inner")
    assert found["inner"].span.text == 'def inner():\n        return "\\d"'
    assert [name for name, one in found.items() if one.outer] == ["outer", "Box"]
    assert all(TEXT[one.span.start : one.span.end] == one.span.text for one in found.values())
    assert not recwarn.list  # an invalid escape is no matter for a reader of the lab


def test_a_definition_counts_as_whole_if_it_lies_in_one_piece() -> None:
    box = TEXT.index("class Box")
    assert kept_whole(lambda text, _: at(0, len(TEXT)), [TEXT]) == (100, 100)
    assert kept_whole(lambda text, _: at(0, box + 5, len(TEXT)), [TEXT]) == (75, 50)
    overlapping = [*at(0, box + 5), *at(box, len(TEXT))]
    assert kept_whole(lambda text, _: overlapping, [TEXT]) == (100, 100)


def test_the_figure_says_what_is_torn_and_what_is_too_large() -> None:
    outer = [(one.name, one.span) for one in definitions(TEXT) if one.outer]
    inside = TEXT.index("class Box") + 8
    figure = figures.torn(outer, {"two": at(0, inside, len(TEXT)), "one": at(0, len(TEXT))}, "<t>")
    assert figure.alt == (
        "Strips, <t>: of 2 that fit, two tears 1, one tears 0. "
        "two: outer whole; two: Box torn; one: outer whole; one: Box whole."
    )
    small = figures.torn(outer, {"split_code": split_code(TEXT, "python", 60, 0)}, size=60)
    assert "outer larger than a piece" in small.alt and "torn" not in small.alt
