"""What the exercises of labs 01 to 03 ask for, worked by hand: checks take it from the library."""

from typing import Any

import pytest

from course_lib.loader.code import choose_header
from course_lib.loader.kubernetes import split_stream
from course_lib.loader.languages import LANGUAGES, find_definitions, parse_source, split_definitions
from course_lib.loader.recursive import find_cut, split_text
from course_lib.loader.resource_identity import Identity, read_identity
from course_lib.loader.yaml_lines import lines_of, next_cut
from course_lib.teaching.checks import load
from course_lib.teaching.lab.reference import reference

BOTH = ["class Mill:\n", "    def grind(\n        self, corn\n    ):\n"]
ITEMS = lines_of("a:\n- \nb:\nc:\n", 0, 12)
DOCUMENT = (
    "{{ if .x }}\nkind: A\n{{ else }}\nkind: B\n{{ end }}\nmetadata:\n    name: 12\nname: y\n"
)


def starts_and_ends(function: Any, *args: Any) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in function(*args)]


@pytest.mark.parametrize(
    ("args", "chunks"),
    [
        (("ab cd\nef. gh", 6), ["ab cd\n", "ef. gh"]),
        (("aa\n\na\n\n", 3), ["aa\n", "\n", "a\n\n"]),
        (("a;b,c;d", 3, (";", ",", "")), ["a;", "b,", "c;d"]),
    ],
)
def test_the_sketch_of_a_recursive_splitter(args: tuple[Any, ...], chunks: list[str]) -> None:
    assert reference("01", load("01")["1.1"])(*args) == chunks


@pytest.mark.parametrize(
    ("args", "cut"),
    [
        (("a\n\n\nbcdef", 0, 6), 4),
        (("xx ab cdefghij", 3, 11, 5), 6),
        (("a\n\nb cdefgh", 0, 9, 4), 5),
        (("ab--cdefgh", 0, 8, 3, ("--",)), 4),
        (("ab", 0, 8, 2), 8),
    ],
)
def test_a_cut_is_after_the_floor_and_the_strongest_in_reach(
    args: tuple[Any, ...], cut: int
) -> None:
    assert find_cut(*args) == cut


def test_pieces_have_the_offsets_that_were_counted_by_hand() -> None:
    assert starts_and_ends(split_text, "ab cdefghij", 8, 3) == [(0, 8), (5, 11)]
    assert starts_and_ends(split_text, "a;b,c,d", 4, 0, (";", ",")) == [(0, 2), (2, 6), (6, 7)]
    assert starts_and_ends(split_stream, "a: 1\r\n---\r\nb: 2\r\n") == [(0, 6), (9, 17)]
    assert starts_and_ends(split_stream, "a: x\u2028--- y\n") == [(0, 11)]
    assert next_cut(ITEMS, 1, 99) == 2


def test_an_identity_is_read_from_the_lines_of_a_template() -> None:
    assert read_identity(DOCUMENT) == Identity("A", "12", None, None)


def test_definitions_are_found_by_lines_and_in_the_tree() -> None:
    text = "x = 'é'\n# Says.\ndef yes():\n    return 1\n"
    pieces = split_definitions(text, LANGUAGES["python"].starts)
    assert [(name, span.start) for name, span in pieces] == [("", 0), ("yes", 8)]
    root = parse_source("if x:\n    def a(): pass\nclass B:\n    def c(self): pass\n", "python")
    assert root is not None
    found = find_definitions(root, LANGUAGES["python"].definitions)
    assert [(node.text or b"")[:7] for node in found] == [b"def a()", b"class B"]


@pytest.mark.parametrize(
    ("room", "header"), [(80, "".join(BOTH)), (50, BOTH[1]), (36, "    def grind(\n"), (14, "")]
)
def test_the_longest_header_that_fits_is_chosen(room: int, header: str) -> None:
    assert choose_header(BOTH, room) == header
