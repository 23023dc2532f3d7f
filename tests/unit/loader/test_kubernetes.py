"""Boundaries and identity, by hand: the cases in which a splitter goes wrong."""

from pathlib import Path

import pytest

from course_lib.loader.kubernetes import ResourceSpan, split_resources
from course_lib.loader.kubernetes_records import parse_kubernetes
from course_lib.loader.resource_chunks import chunk_resources
from course_lib.loader.yaml_lines import lines_of
from course_lib.records import Document


def kinds(text: str) -> list[str | None]:
    return [span.identity.kind for span in split_resources(text)]


def only(text: str) -> ResourceSpan:
    [span] = split_resources(text)
    return span


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("kind: A\n---\nkind: B\n", ["A", "B"]),
        ("---\nkind: A\n---\n---\nkind: B\n---\n", ["A", "B"]),
        ("kind: A\n--- # a comment\nkind: B\n", ["A", "B"]),
        ("kind: A\n---\t\nkind: B\n", ["A", "B"]),
        ("kind: A\n---", ["A"]),
        ("kind: A\n---#c\nkind: B\n", ["A"]),
        ("kind: A\ntext: |\n  ---\n  kind: X\n", ["A"]),
        ("kind: A\ntext: |\n ----\n---\nkind: B\n", ["A", "B"]),
        ("kind: A\ntext: |\n  x\n---\nkind: B\n", ["A", "B"]),
        ("kind: A\n--- {kind: B, metadata: {name: b}}\n", ["A", "B"]),
        ("kind: A\n...\n---\nkind: B\n", ["A", "B"]),
        ("kind: A\n...\nkind: B\n", ["A", "B"]),
        ("kind: A\n... # done\n%YAML 1.1\n%TAG !e! tag:e,2000:\n---\nkind: B\n", ["A", "B"]),
        ("%YAML 1.1\n# head\n---\nkind: A\n", ["A"]),
        ("kind: A\n%YAML 1.1\n---\nkind: B\n", ["A", "B"]),
        ("\ufeffkind: A\n---\nkind: B\n", ["A", "B"]),
        ("\ufeff---\nkind: A\n", ["A"]),
        ("kind: A\r\n---\r\nkind: B\r\n", ["A", "B"]),
        ("kind: A\r---\rkind: B\r", ["A", "B"]),
        ("kind: A\x85---\x85kind: B", ["A", "B"]),
        ("kind: A\u2028---\u2029kind: B", ["A", "B"]),
        ("", []),
        ("\ufeff", []),
        ("# only a comment", []),
        ("---\n# a\n---\n  \t\n---\n", []),
        ("--- |\n  # text\n", [None]),
        ("a: 1\n---\n- 1\n---\ntext\n--- ''\n--- null\n--- &a\n", [None] * 6),
        ("%FOO is no directive\n", [None]),
    ],
)
def test_documents_begin_where_yaml_says(text: str, found: list[str | None]) -> None:
    assert kinds(text) == found


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("kind: A\nmetadata:\n  name: n\n  namespace: s\n", ("A", "n", "s")),
        ("spec: {a: b}\nkind: A\nmetadata:\n  labels:\n    name: x\n  name: n\n", ("A", "n", None)),
        ("spec:\n  metadata:\n    name: x\nkind: A\n", ("A", None, None)),
        ("spec:\n  a: |\n    kind: X\n    name: y\nkind: A\nmetadata: {name: n}", ("A", "n", None)),
        ("spec:\n  - a: |\n      'x\nkind: A\nmetadata:\n  name: n\n", ("A", "n", None)),
        ('\'kind\': "A"\n"metadata":\n  \'name\': "n\\x21"\n', ("A", "n!", None)),
        ("kind: 'it''s'\nmetadata:\n  name: 'a''b'\n", ("it's", "a'b", None)),
        ('{"kind": "A", "metadata": {"name": "n", "namespace": "s"}}', ("A", "n", "s")),
        ('{\n"kind": "A",\n"metadata": {\n"name": "n"\n}\n}\n', ("A", "n", None)),
        ("kind: A\nmetadata:\n  name: |-\n    n\n", ("A", "n", None)),
        ("kind: A\nx: &n n\nmetadata: {name: *n}\n", ("A", "n", None)),
        ("kind: A\nx: &m {name: n}\nmetadata: *m\n", ("A", "n", None)),
        ("kind: A\nx: &m {name: n}\nmetadata:\n  <<: *m\n  namespace: s\n", ("A", "n", "s")),
        ("kind: A\nmetadata:\n  generateName: n-\n", ("A", None, None)),
        ("kind: A\nmetadata: null\n", ("A", None, None)),
        ("kind: A\nmetadata:\nspec:\n  name: x\n", ("A", None, None)),
        ("kind: A\nmetadata:\n- name: x\n", ("A", None, None)),
        ("kind: A\nmetadata:\n  - name: x\n", ("A", None, None)),
        ("kind: A\nmetadata:\n  name: 123\n", ("A", "123", None)),
        ("kind: A\nmetadata:\n  name: on # off\n", ("A", "on", None)),
        ("kind: A\nmetadata:\n  name: 012\n  namespace: 1e3\n", ("A", "012", "1e3")),
        ("kind: A\nmetadata:\n  name:\n  namespace: ''\n", ("A", "", "")),
        ("kind: A\nmetadata:\n  name: system:node#1\n", ("A", "system:node#1", None)),
        ("kind: A\nmetadata:\n  name: a\n    - b\n", ("A", "a - b", None)),
        ("kind: A\nmetadata:\n  name: a\n    b\n", ("A", "a b", None)),
        ("kind: A\nmetadata:\n  name: a\n\n    b\n", ("A", "a\nb", None)),
        ("kind: A\n  b\n", ("A b", None, None)),
        ("kind: A\nkind: B\nmetadata:\n  name: a\n  name: b\n", ("B", "b", None)),
        ("? kind\n: A\n? metadata\n: {name: n}\n", ("A", "n", None)),
        ("kind : A\nmetadata : {name: n}\n", ("A", "n", None)),
        ("kind:\tA\n", ("A", None, None)),
        ("!!str kind: !!str A\n&m metadata: &x\n  name: n\n", ("A", "n", None)),
        ('a: "x\nkind: X\nmetadata:\n  name: x\n"\nkind: A\n', ("A", None, None)),
        ("a: {\nkind: X\n}\nkind: A\n", ("A", None, None)),
        ("a: x\n  kind\nkind: A\n", ("A", None, None)),
        (" kind: A\n metadata:\n   name: n\n", ("A", "n", None)),
        ("kind: Kustomization\nnamespace: x\nnamePrefix: p\n", ("Kustomization", None, None)),
        ("kind: [A]\nmetadata: {name: {a: b}}\n", (None, None, None)),
        ("kind: A\r\nmetadata:\r\n  name: n\r\n  namespace: s\r\n", ("A", "n", "s")),
        ("kind: A\nmetadata:\n  name: 日本\n", ("A", "日本", None)),
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
        ("{{- if .a }}\nkind: A\nmetadata:\n  name: {{ .n }}-x\n{{- end }}\n", ("A", "{{ .n }}-x")),
        ("kind: A\nmetadata:\n  name: {{ .n }}\n", ("A", "{{ .n }}")),
        ("kind: A\nmetadata:\n  {{- with .l }}\n  labels:\n    name: x\n  {{- end }}\n  name: n\n",
         ("A", "n")),
        ("kind: A\n\tmetadata: x\n", ("A", None)),
        ("kind: A\nmetadata:\n  name: \"n\nspec: [\n", ("A", "n")),
        ('{"kind": "A",\n "metadata": {\n', ("A", None)),
        ("%TAG !e! tag:e,2000:\n---\nkind: !e!x A\n", ("!e!x A", None)),
        ("  {{- if .a }}\n  kind: A\n  metadata:\n    name: n\n  {{- end }}\n", ("A", "n")),
        ('{\n  "kind": "A",\n  "metadata": {\n    "name": "n",\n', ("A", "n")),
        ("spec:\n  kind: X\nfoo: 'a' b\n", (None, None)),
        ("kind: A\nmetadata: *nowhere\n", ("A", None)),
        ("kind: A\nx: \0\nmetadata:\n  name: n\n", ("A", "n")),
        ("kind: A\nx: \ud800\nmetadata: { name: n\n", ("A", None)),
    ],
)  # fmt: skip
def test_what_no_parser_accepts_is_read_as_a_person_would(
    text: str, who: tuple[str | None, str | None]
) -> None:
    span = only(text)
    assert span.identity[:2] == who


def test_each_branch_of_a_template_is_a_resource_of_its_own() -> None:
    text = (
        "{{- if .a }}\napiVersion: v1\nkind: A\nmetadata:\n  name: one\n{{- else }}\n"
        "apiVersion: v1\nkind: B\nmetadata:\n  name: two\n{{- end }}\n"
    )
    spans = split_resources(text)
    assert [span.identity[:2] for span in spans] == [("A", "one"), ("B", "two")]
    assert "".join(text[span.start : span.end] for span in spans) == text


def test_a_kind_chosen_by_a_template_is_one_resource() -> None:
    text = "{{ if .a }}\nkind: A\n{{ else }}\nkind: B\n{{ end }}\nmetadata:\n  name: n\n"
    assert [span.identity[:2] for span in split_resources(text)] == [("A", "n")]


def test_one_bad_document_leaves_the_good_ones_alone() -> None:
    assert kinds("kind: A\n---\nkind: B\nx: [\n---\nkind: C\n") == ["A", "B", "C"]


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: List\nitems:\n- kind: A\n  metadata: {name: a}\n- kind: B\n",
        "apiVersion: v1\nitems:\n  - # first\n    kind: A\n    metadata:\n      name: a\n"
        "  # second\n  - kind: B\nkind: List\nmetadata:\n  resourceVersion: ''\n",
        '{"kind": "List", "items": [{"kind": "A", "metadata": {"name": "a"}}, {"kind": "B"}]}',
        "kind: List\nitems:\n- kind: List\n  items:\n  - kind: A\n    metadata: {name: a}\n"
        "- kind: B\n",
    ],
)
def test_a_list_is_expanded_and_loses_nothing(text: str) -> None:
    spans = split_resources(text)
    assert [span.identity[:2] for span in spans] == [("A", "a"), ("B", None)]
    assert "".join(text[span.start : span.end] for span in spans) == text
    assert all(text[span.body :].lstrip('{"').startswith("kind") for span in spans)


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


@pytest.mark.parametrize(
    "text",
    [
        "kind: List\n",
        "kind: List\nitems: []\n",
        "kind: List\nitems: {a: b}\n",
        "kind: List\nitems: &a\n- kind: List\n  items: *a\n",
    ],
)
def test_a_list_without_items_of_its_own_stays_a_list(text: str) -> None:
    assert kinds(text) == ["List"]


def test_spans_take_the_comments_above_and_on_the_separators_line() -> None:
    text = "# licence\n\nkind: A\n\n---\n\n# about b\nkind: B\n# end\n\n--- {kind: C}\n"
    text += "--- # d\nkind: D"
    assert [text[span.start : span.end] for span in split_resources(text)] == [
        "# licence\n\nkind: A\n",
        "# about b\nkind: B\n# end\n",
        "{kind: C}\n",
        "# d\nkind: D",
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_records_name_their_lines(end: str) -> None:
    text = "# licence\n\nkind: A\n\n---\n\n# about b\nkind: B\n# end\n\n--- {kind: C}\n"
    document = Document(Path("a.yaml"), "a.yaml", text.replace("\n", end))
    records = parse_kubernetes(document)
    assert [(one.line_start, one.line_end) for one in records] == [(1, 3), (7, 9), (11, 11)]


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


def test_the_text_of_an_item_is_no_key() -> None:
    lines = lines_of("a:\n- |\n k: v\n-   |\n  k: v\nb: 1\n", 0, 35)
    assert [line.path for line in lines[:-1]] == ["a", "a[0]", "a[1]", "b"]


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
