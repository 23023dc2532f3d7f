"""The records: parsed-chunk-v1 takes what it should, refuses the rest, and survives JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from course_lib.records import Chunk, Span, explain

BASE: dict[str, Any] = {
    "schemaVersion": "1.0.0",
    "tenantId": "local",
    "repoSlug": "docs",
    "rootKind": "external-source",
    "sourcePath": "guide/a.md",
    "content": "Hello.",
    "hashInputs": ["content"],
    "parserId": "markdown",
    "parserVersion": "1.0.0",
    "kind": "doc-section",
    "name": "Greeting",
}
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(content=st.text(min_size=1), name=st.text(), meta=st.dictionaries(st.text(), json_values))
def test_a_record_survives_json(content: str, name: str, meta: dict[str, Any]) -> None:
    chunk = Chunk.model_validate({**BASE, "content": content, "name": name, "customMeta": meta})
    line = chunk.to_json()
    assert "\n" not in line
    assert Chunk.model_validate_json(line) == chunk


def test_json_has_the_names_of_the_contract() -> None:
    optional = {
        "line_start": 1,
        "line_end": 2,
        "className": "C",
        "extends": "D",
        "customMeta": {"chunkIndex": 0},
    }
    record = {**BASE, **optional}
    assert json.loads(Chunk.model_validate(record).to_json()) == record


def test_what_is_unset_is_left_out() -> None:
    assert json.loads(Chunk.model_validate(BASE).to_json()) == {**BASE, "customMeta": {}}


@pytest.mark.parametrize("field", sorted({*BASE} - {"schemaVersion"}))
def test_every_field_of_the_base_is_required(field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        Chunk.model_validate({name: value for name, value in BASE.items() if name != field})


@pytest.mark.parametrize(
    "change",
    [
        {"embedding": [0.1]},
        {"unknown": 1},
        {"lineStart": 1},
        {"schemaVersion": "1.0.1"},
        {"schemaVersion": "1.0"},
        {"tenantId": "Local"},
        {"tenantId": "a--b"},
        {"tenantId": "a\n"},
        {"tenantId": "a" * 64},
        {"tenantId": ""},
        {"repoSlug": ""},
        {"rootKind": "folder"},
        {"sourcePath": ""},
        {"sourcePath": "/etc/passwd"},
        {"sourcePath": "a/../b"},
        {"sourcePath": ".."},
        {"sourcePath": "a\\b"},
        {"content": ""},
        {"content": 7},
        {"hashInputs": []},
        {"hashInputs": ["name"]},
        {"hashInputs": ["content", ""]},
        {"parserVersion": "1.0"},
        {"parserVersion": "v1.0.0"},
        {"kind": ""},
        {"name": None},
        {"line_start": 0},
        {"line_start": 5, "line_end": 4},
        {"customMeta": [1]},
    ],
)
def test_what_breaks_the_contract_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Chunk.model_validate({**BASE, **change})


@pytest.mark.parametrize(
    "change",
    [
        {"tenantId": "a-1-b"},
        {"sourcePath": "a..b/...md"},
        {"parserVersion": "1.0.0-rc.1+build.5"},
        {"name": ""},
        {"line_start": 4, "line_end": 4},
        {"kind": "anything at all"},
        {"rootKind": "neo-workspace"},
        {"rootKind": "bare-repo"},
    ],
)
def test_what_keeps_the_contract_is_taken(change: dict[str, Any]) -> None:
    assert Chunk.model_validate({**BASE, **change})


def test_a_record_cannot_be_changed() -> None:
    chunk = Chunk.model_validate(BASE)
    with pytest.raises(ValidationError):
        chunk.content = "other"


def test_python_names_and_json_names_are_both_taken() -> None:
    chunk = Chunk.model_validate({**BASE, "class_name": "C"})
    assert chunk == Chunk.model_validate({**BASE, "className": "C"})


def test_an_explanation_is_one_line_of_at_most_three_fields() -> None:
    with pytest.raises(ValidationError) as caught:
        Chunk.model_validate({"kind": "", "name": "x"})
    said = explain(caught.value)
    assert said.startswith("tenantId: Field required; repoSlug: Field required; rootKind: ")
    assert "\n" not in said
    assert said.count(": ") == 3


def test_a_span_is_a_plain_triple() -> None:
    start, end, text = Span(0, 2, "ab")
    assert (start, end, text) == (0, 2, "ab")
