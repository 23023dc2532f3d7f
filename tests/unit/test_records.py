"""The records: parsed-chunk-v1 takes what it should, refuses the rest, and survives JSON."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from course_lib.records import Chunk

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


def test_a_record_cannot_be_changed() -> None:
    chunk = Chunk.model_validate(BASE)
    with pytest.raises(ValidationError):
        chunk.content = "other"


def test_python_names_and_json_names_are_both_taken() -> None:
    chunk = Chunk.model_validate({**BASE, "class_name": "C"})
    assert chunk == Chunk.model_validate({**BASE, "className": "C"})
