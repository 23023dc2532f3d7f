"""What lab 02 stands on: lines with depths, keys, the parser as a referee, and its figures."""

import re
from itertools import pairwise

import pytest

from course_lib.errors import InputError
from course_lib.loader.kubernetes import split_resources, split_stream
from course_lib.loader.resource_chunks import ResourcePiece
from course_lib.loader.yaml_lines import Line, lines_of, shared_path
from course_lib.records import Span
from course_lib.settings import project_root
from course_lib.teaching.lab import figures
from course_lib.teaching.lab.manifests import parsed_identity

MANIFESTS = {
    path.name: path.read_bytes().decode("utf-8")
    for path in sorted((project_root() / "data" / "manifests").rglob("*.yaml"))
}
ITEMS = "spec:\n  list:\n  - name: a\n    b: |\n      c: 1\n  # above\n  - name: d\n"


def test_a_line_knows_its_depth_and_whether_it_is_the_first_of_its_block():
    assert lines_of(ITEMS, 0, len(ITEMS)) == [
        Line(0, 0, False, "spec"),
        Line(6, 4, True, "spec.list"),
        Line(14, 5, True, "spec.list[0].name"),
        Line(26, 8, False, "spec.list[0].b"),
        Line(46, 5, False, "spec.list[1].name"),
        Line(68, -1, False, ""),
    ]
    assert ITEMS[46:].startswith("  # above\n  - name: d"), "the comment goes with its line"


def test_paths_share_whole_steps_only():
    def shared(*paths: str) -> str:
        return shared_path([Line(0, 0, False, path) for path in paths])

    assert shared("spec.a[1].b", "spec.a[12].b") == "spec.a"
    assert shared("spec.ab", "spec.abc") == "spec"
    assert shared("spec", "spec.a") == "spec"
    assert shared("data", "spec") == ""
    assert shared("spec.a[0]") == "spec.a[0]"


def test_the_referee_agrees_with_the_course_and_refuses_what_is_no_yaml():
    refused = 0
    for name, text in MANIFESTS.items():
        spans = split_resources(text)
        for document in split_stream(text):
            who = parsed_identity(document.text)
            refused += who is None
            if who is None or who.kind == "List":
                continue
            [span] = [one for one in spans if document.start <= one.start < document.end]
            assert span.identity == who, name
    assert refused >= 5
    assert parsed_identity("- just\n- a list\n") == (None, None, None, None)


def test_the_pieces_that_hold_the_phrase_are_open_and_named():
    text = "one two\nthree\n"
    spans = [Span(0, 8, text[:8]), Span(8, 14, text[8:])]
    figure = figures.pieces(text, spans, ["first", "second"], mark="three")
    assert figure.html.count("<details open") == 1
    assert figure.html.index("<details open") > figure.html.index("first")
    assert figure.alt == "2 pieces: first, second. 'three' is in second."
    assert "'four' is in none of them" in figures.pieces(text, spans, ["a", "b"], mark="four").alt


def test_pieces_of_one_label_have_one_colour():
    spans = [Span(i, i + 1, "abc"[i]) for i in range(3)]
    html = figures.pieces("abc", spans, ["A", "B", "A"]).html
    x, y, z = re.findall(r"border-left: 5px solid (#\w+)", html)
    assert x == z != y


def test_a_tree_has_the_resources_of_a_file_and_below_each_its_pieces():
    text = "kind: Role\nmetadata:\n  name: <a>\n---\n" + ITEMS
    role, other = split_resources(text)
    found = [ResourcePiece(text[: role.end], "", role.start, role.end, "", role)]
    for line, after in pairwise(lines_of(text, other.start, other.end)[2:]):
        start, end = line.start, after.start
        found.append(ResourcePiece(text[start:end], "", start, end, line.path, other))
    figure = figures.tree("a.yaml", found, mark="name: d")
    labels = re.findall(r"<b[^>]*>([^<]*)</b>", figure.html)
    assert labels[:4] == ["a.yaml", "Role &lt;a&gt;", "top level", ""]
    assert labels[4:] == ["spec.list[0].name", "spec.list[0].b", "spec.list[1].name"]
    assert figure.html.count("<details open") == 1
    assert figure.alt.startswith("a.yaml with 4 pieces: Role <a> (1)")
    assert "'name: d' at spec.list[1].name" in figure.alt


def test_pieces_without_a_label_each_are_refused():
    with pytest.raises(InputError, match="as many labels"):
        figures.pieces("ab", [Span(0, 2, "ab")], [])


def test_cuts_are_drawn_above_the_lines_before_which_they_lie():
    lines = lines_of(ITEMS, 0, len(ITEMS))
    figure = figures.outline(ITEMS, lines, [46, len(ITEMS)])
    rows = re.sub(r"<[^>]+>", "", figure.html).splitlines()
    [cut] = [number for number, row in enumerate(rows) if "✂" in row and "─" in row]
    assert rows[cut + 1].split() == ["4", "46", "5", "#", "above"]
    assert rows[cut - 1].strip() == "c: 1"
    assert "5 lines with depths from 0 to 8, cut into 2 pieces" in figure.alt
