"""What lab 02 stands on: lines with depths, keys, and the parser as a referee."""

from course_lib.loader.kubernetes import split_resources, split_stream
from course_lib.loader.yaml_lines import Line, lines_of, shared_path
from course_lib.settings import project_root
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
