"""Pieces of resources: whole where they fit, cut along the indentation, each under its header."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.loader.kubernetes import split_resources
from course_lib.loader.kubernetes_records import parse_kubernetes
from course_lib.loader.resource_chunks import chunk_resources
from course_lib.loader.word_pieces import fits_model
from course_lib.records import Document

CONTAINER = """      - name: {name}
        image: registry.example.org/shop/{name}:1.2.3
        resources:
          limits:
            cpu: 500m
            memory: 256Mi
"""
DEPLOYMENT = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\nspec:\n"
    "  replicas: 2\n  template:\n    spec:\n      containers:\n"
    + "".join(CONTAINER.format(name=name) for name in ("front", "cache", "proxy"))
    + "      volumes:\n      - name: data\n        emptyDir: {}\n"
)
CRD = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: queues.shop.example.org
spec:
  group: shop.example.org
  names:
    kind: Queue
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: A queue of orders.
        properties:
          apiVersion:
            description: APIVersion defines the versioned schema.
            type: string
          spec:
            description: |-
              What is wanted
              of the queue.
            properties:
              depth:
                description: How deep.
                type: integer
            type: object
          status:
            properties:
              ready:
                type: boolean
            description: What is there.
        type: object
    served: true
"""


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("data:\n  a.conf: |\n    {}\n", 'data["a.conf"]'),
        ("items:\n- - b: {}\n", "items[0][0].b"),
        ("'data':\n    \"a b\": {}\n", 'data["a b"]'),
    ],
)
def test_a_value_that_is_too_long_is_cut_under_its_own_path(line: str, where: str) -> None:
    text = "kind: A\n" + line.format("word " * 60)
    pieces = chunk_resources(text, 120)
    assert {piece.path for piece in pieces[1:]} == {where}
    assert "".join(text[piece.start : piece.end] for piece in pieces) == text


def test_items_of_a_list_have_paths_of_their_own() -> None:
    item = "- kind: A\n  metadata:\n    name: a\n  spec:\n" + "    key: some value here\n" * 8
    pieces = chunk_resources("kind: List\nitems:\n" + item + item, 160)
    assert {piece.resource.identity.kind for piece in pieces} == {"A"}
    assert all(not piece.path.startswith(("items", "[")) for piece in pieces)
    assert any(piece.path.startswith("spec") for piece in pieces)


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from(DEPLOYMENT.splitlines(keepends=True) + CRD.splitlines(keepends=True)
                        + ["---\n", "\n", "# c\n", "  a: |\n", "x" * 300 + "\n", "\tt\r\n",
                           "{{ if }}\n", "- - a\n", '"q\n', "kind: List\n",
                           "items:\n", "          : x\n", "é" * 90 + "\r\n"]),
        max_size=60,
    ).map("".join),
    st.integers(100, 400),
)  # fmt: skip
def test_pieces_are_slices_that_fit_and_lose_nothing(text: str, size: int) -> None:
    covered = 0
    for piece in chunk_resources(text, size):  # the policy leaves out, but moves nothing
        assert covered <= piece.start < piece.end and len(piece.text) <= size
        covered = piece.end
    text = text.replace("CustomResourceDefinition", "Custom")  # of which nothing is left out
    pieces = chunk_resources(text, size, source_path="some/folder/file.yaml")
    for piece in pieces:
        assert piece.text == piece.header + text[piece.start : piece.end]
        assert len(piece.text) <= size
        assert text[piece.start : piece.end].strip()
    kept = "".join(text[piece.start : piece.end] for piece in pieces)
    spans = "".join(text[span.start : span.end] for span in split_resources(text))
    # A piece of white space alone is not a piece, so a line end between two may be in none.
    assert "".join(kept.split()) == "".join(spans.split())


def test_a_limit_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 100, not 99"):
        chunk_resources("kind: A", 99)


def test_a_header_leaves_room_for_the_piece_however_deep_it_lies() -> None:
    deep = "- " * 3_000
    pieces = chunk_resources(deep, 700, source_path="deep.yaml", fits=fits_model)
    assert "".join(deep[piece.start : piece.end] for piece in pieces) == deep
    assert min(piece.end - piece.start for piece in pieces[:-1]) > 50
    assert all("…[0]" in piece.header for piece in pieces[1:])
    assert pieces[-1].path.count("[0]") > 50


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("image: fluent\nkind: DaemonSet\nresources: {}\n", "yaml", "values.yaml"),
        ("kind: DaemonSet\nname: fluent\n", "yaml", "values.yaml"),
        ("kind: DaemonSet\nmetadata:\n  labels: {name: x}\n", "yaml", "values.yaml"),
        ("kind: DaemonSet\nimage: {{ .Values.image }}: [\n", "yaml", "values.yaml"),
        ("kind: DaemonSet\napiVersion: apps/v1\n", "DaemonSet", "values.yaml"),
        ("kind: DaemonSet\nmetadata: {name: fluent}\n", "DaemonSet", "fluent"),
        ("apiVersion: v1\nkind: PodList\nitems: [{metadata: {generateName: a-}}]\n", "Pod",
         "values.yaml"),
    ],
)  # fmt: skip
def test_a_kind_alone_makes_no_resource(text: str, kind: str, name: str) -> None:
    [chunk] = parse_kubernetes(Document(Path("chart/values.yaml"), "chart/values.yaml", text))
    assert (chunk.kind, chunk.name) == (kind, name)
    assert ("DaemonSet" in str(chunk.custom_meta["header"])) is (kind == "DaemonSet")
