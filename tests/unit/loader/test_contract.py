"""The contract: every field broken in every way is refused by name, and its siblings go through."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.loader.contract import (
    SCHEMA_PATH,
    Rejection,
    check_record,
    json_schema,
    schema_text,
)
from course_lib.records import Chunk, Scope, content_hash

GOOD: dict[str, Any] = {
    "schemaVersion": "1.0.0",
    "tenantId": "acme",
    "repoSlug": "platform",
    "rootKind": "bare-repo",
    "sourcePath": "deploy/api.yaml",
    "content": "kind: Deployment",
    "hashInputs": ["content", "kind", "sourcePath"],
    "parserId": "kubernetes",
    "parserVersion": "1.2.3-rc.1+build",
    "kind": "Deployment",
    "name": "api",
    "line_start": 3,
    "line_end": 9,
    "className": "A",
    "extends": "B",
    "customMeta": {"chunkIndex": 0, "namespace": "prod", "own": [1, {"x": None}]},
}


def broken(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **changes}


def refused(record: Any, where: str = "record") -> Rejection:
    judged = check_record(record, where)
    assert isinstance(judged, Rejection), judged
    return judged


def chunk_of(**changes: Any) -> Chunk:
    chunk = check_record(broken(**changes))
    assert isinstance(chunk, Chunk), chunk
    return chunk


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((name, f"{GOOD[name]}x") for name in ("content", "kind", "name", "sourcePath")),
        ("line_start", 4),
        ("customMeta", {"chunkIndex": 1}),
        ("hashInputs", ["content", "name"]),
        ("tenantId", "other"),
        ("repoSlug", "other"),
    ],
)
def test_the_hash_changes_with_what_it_is_made_of_and_with_nothing_else(
    field: str, value: Any
) -> None:
    inputs = ["content", field]
    changed = {field: value} if field == "hashInputs" else {field: value, "hashInputs": inputs}
    before = chunk_of() if field == "hashInputs" else chunk_of(hashInputs=inputs)
    assert content_hash(before) != content_hash(chunk_of(**changed))
    always = ("content", "tenantId", "repoSlug", "hashInputs")
    if field not in always:
        assert content_hash(chunk_of(hashInputs=["content"])) == content_hash(
            chunk_of(**{"hashInputs": ["content"], field: value})
        )


def test_values_never_run_together() -> None:
    inputs = ["content", "name"]
    hashes = {
        content_hash(chunk_of(hashInputs=inputs, content=content, name=name))
        for content, name in (("ab", "c"), ("a", "bc"), ("abc", ""), ("a1:b", "c"))
    }
    assert len(hashes) == 4


@given(
    st.dictionaries(st.text(st.characters(exclude_characters="\0", codec="utf-8")), st.integers())
)
def test_the_order_of_keys_is_no_part_of_the_hash(meta: dict[str, Any]) -> None:
    meta = {f"own-{key}": value for key, value in meta.items()}
    backwards = dict(reversed(meta.items()))
    inputs = ["content", "customMeta"]
    one, other = (chunk_of(hashInputs=inputs, customMeta=value) for value in (meta, backwards))
    assert content_hash(one) == content_hash(other)


@pytest.mark.parametrize(
    "values",
    [{"tenant": "Not Kebab"}, {"repo": ""}, {"visibility": "secret"}, {"role": "admin"}],
)
def test_a_tenant_context_is_checked(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(values))):
        Scope(**{"tenant": "acme", "repo": "platform", **values})


def test_the_committed_schema_is_the_one_of_the_model() -> None:
    assert SCHEMA_PATH.read_text(encoding="utf-8") == schema_text()
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(GOOD, json_schema())
