"""Identity, by hand: the cases in which a splitter goes wrong."""

from pathlib import Path

import pytest

from course_lib.loader.kubernetes import ResourceSpan, split_resources
from course_lib.loader.kubernetes_records import parse_kubernetes
from course_lib.loader.resource_chunks import chunk_resources
from course_lib.records import Document


def kinds(text: str) -> list[str | None]:
    return [span.identity.kind for span in split_resources(text)]


def only(text: str) -> ResourceSpan:
    [span] = split_resources(text)
    return span


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("spec:\n  - a: |\n      'x\nkind: A\nmetadata:\n  name: n\n", ("A", "n", None)),
        ('\'kind\': "A"\n"metadata":\n  \'name\': "n\\x21"\n', ("A", "n!", None)),
        ("kind: A\nx: &m {name: n}\nmetadata: *m\n", ("A", "n", None)),
        ("kind: A\nx: &m {name: n}\nmetadata:\n  <<: *m\n  namespace: s\n", ("A", "n", "s")),
        ("kind: A\nmetadata:\n  generateName: n-\n", ("A", None, None)),
        ("kind: A\nmetadata:\nspec:\n  name: x\n", ("A", None, None)),
        ("kind: A\nmetadata:\n  name: 012\n  namespace: 1e3\n", ("A", "012", "1e3")),
        ("kind: A\nmetadata:\n  name: a\n\n    b\n", ("A", "a\nb", None)),
        ("? kind\n: A\n? metadata\n: {name: n}\n", ("A", "n", None)),
        ("!!str kind: !!str A\n&m metadata: &x\n  name: n\n", ("A", "n", None)),
        ('a: "x\nkind: X\nmetadata:\n  name: x\n"\nkind: A\n', ("A", None, None)),
        ("a: {\nkind: X\n}\nkind: A\n", ("A", None, None)),
    ],
)
def test_identity_is_what_the_parser_says(
    text: str, who: tuple[str | None, str | None, str | None]
) -> None:
    span = only(text)
    assert span.identity[:3] == who


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("kind: A\nmetadata:\n  {{- with .l }}\n  labels:\n    name: x\n  {{- end }}\n  name: n\n",
         ("A", "n")),
        ("%TAG !e! tag:e,2000:\n---\nkind: !e!x A\n", ("!e!x A", None)),
        ('{\n  "kind": "A",\n  "metadata": {\n    "name": "n",\n', ("A", "n")),
        ("kind: A\nx: \0\nmetadata:\n  name: n\n", ("A", "n")),
        ("kind: A\nx: \ud800\nmetadata: { name: n\n", ("A", None)),
    ],
)  # fmt: skip
def test_what_no_parser_accepts_is_read_as_a_person_would(
    text: str, who: tuple[str | None, str | None]
) -> None:
    span = only(text)
    assert span.identity[:2] == who


def test_a_kind_chosen_by_a_template_is_one_resource() -> None:
    text = "{{ if .a }}\nkind: A\n{{ else }}\nkind: B\n{{ end }}\nmetadata:\n  name: n\n"
    assert [span.identity[:2] for span in split_resources(text)] == [("A", "n")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "apiVersion: rbac/v1\nkind: RoleList\nitems:\n- metadata:\n    name: a\n"
            "- kind: ClusterRole\n  apiVersion: rbac/v2\n  metadata: {name: b, namespace: n}\n",
            [("Role", "a", None, "rbac/v1"), ("ClusterRole", "b", "n", "rbac/v2")],
        ),
        (
            "items:\n- {metadata: {name: x}, data: {a: b}}\nkind: ConfigMapList\napiVersion: v1\n",
            [("ConfigMap", "x", None, "v1")],
        ),
        (  # a kind of one's own with items that are no resources
            "apiVersion: x/v1\nkind: AllowList\nmetadata: {name: a}\nitems:\n- host: b\n",
            [("AllowList", "a", None, "x/v1")],
        ),
        ("kind: RoleList\nitems: []\n", [("RoleList", None, None, None)]),
    ],
)
def test_the_items_of_a_list_of_one_kind_have_its_kind(
    text: str, found: list[tuple[str | None, ...]]
) -> None:
    spans = split_resources(text)
    assert [tuple(span.identity) for span in spans] == found
    assert "".join(text[span.start : span.end] for span in spans) == text


def test_a_separator_with_the_first_key_beside_it_separates() -> None:
    text = (
        "kind: A\nmetadata:\n  name: a\n---apiVersion: v1\nkind: B\n---kind: C\n---\nx: 1\n---y\n"
    )
    spans = split_resources(text)
    assert [span.identity.kind for span in spans] == ["A", "B", "C", None]
    assert [text[span.start : span.end] for span in spans][:3] == [
        "kind: A\nmetadata:\n  name: a\n", "apiVersion: v1\nkind: B\n", "kind: C\n",
    ]  # fmt: skip
    assert [span.identity.kind for span in split_resources("---kind: A\n---kind: B")] == ["A", "B"]


HOSTILE = {
    "brackets": "[" * 200_000,
    "closed brackets": "[" * 20_000 + "]" * 20_000,
    "dashes": "- " * 20_000,
    "braces": "kind: A\na: " + "{a: " * 20_000,
    "spaces": "kind: A\n" + " " * 50_000 + "x",
    "one key": "kind: A\n" * 5_000,
    "laughs": "kind: A\na: &a [b]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(999)),
    "quotes": '"' * 50_000,
    "comments": "#" * 50_000,
    "breaks": "\r" * 20_000,
    "indents": "kind: A\n" + "".join(" " * n + "a:\n" for n in range(2_000)),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_split_without_an_error(name: str) -> None:
    assert len(split_resources(HOSTILE[name])) <= 1
    for piece in chunk_resources(HOSTILE[name], 300):
        assert len(piece.text) <= 300


def test_an_item_of_a_list_has_the_comments_above_it() -> None:
    text = "kind: List\nitems:\n- kind: A\n  text: |\n    # no comment\n# why\n- kind: B\n"
    first, second = split_resources(text)
    assert text[first.start : first.end].endswith("    # no comment\n")
    assert text[second.start : second.end] == "# why\n- kind: B\n"


def test_a_template_is_not_cut_where_a_key_comes_late() -> None:
    text = "kind: Role\nmetadata:\n  name: {{ .Values.reader }}\napiVersion: v1\n"
    assert only(text).identity == ("Role", "{{ .Values.reader }}", None, "v1")


def test_only_line_feeds_end_a_line() -> None:
    assert kinds("# a\fkind: Wrong\nkind: Right\n") == ["Right"]


def test_names_that_nobody_reads_take_no_room() -> None:
    """A key, a path or a name of any length is in each record; the records stay small."""
    inner = "".join(f"  a{at}: value\n" for at in range(400))
    path = "\N{CJK UNIFIED IDEOGRAPH-8D44}" * 120
    for name, text in (
        ("a.yaml", "k" * 50_000 + ":\n" + inner),
        ("a.yaml", "kind: A\nmetadata:\n  name: " + "n" * 50_000 + "\nspec:\n" + inner),
        (path + "/a.yaml", f"kind: A\nmetadata:\n  name: {path}\nspec:\n{inner}"),
    ):
        records = parse_kubernetes(Document(Path(name), name, text))
        assert sum(len(record.to_json()) for record in records) < 500_000
        assert min(len(record.content) for record in records[:-1]) > 10


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: A\nmetadata: &m\n  name: x\n  annotations: *m\n",
        "a: &a\n  <<: *a\n  b: 1\nkind: &k {n: *k}\n",
        "kind: &k [*k]\n",
        "kind: List\nitems: &i\n- kind: A\n  x: *i\n- kind: B\n",
    ],
)
@pytest.mark.timeout(20)
def test_a_node_that_holds_itself_comes_to_an_end(text: str) -> None:
    assert "".join(text[one.start : one.end] for one in split_resources(text)) == text
