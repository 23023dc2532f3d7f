"""The contract: every field broken in every way is refused by name, and its siblings go through."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.errors import InputError
from course_lib.loader.contract import (
    EMBEDDING_REJECTED,
    INVALID,
    SCHEMA_PATH,
    Rejection,
    check_lines,
    check_record,
    check_records,
    content_hash,
    json_schema,
    schema_text,
)
from course_lib.records import Chunk, TenantContext

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
OPTIONAL = ("line_start", "line_end", "className", "extends", "customMeta")
TEXTS = (
    *("tenantId", "repoSlug", "sourcePath", "content", "parserId", "parserVersion", "kind"),
    "name",
)
NO_TEXT = (None, 3, 1.5, True, ["a"], {"a": "b"})

# field → values that the schema refuses too
BROKEN: list[tuple[str, Any]] = [
    *((field, value) for field in TEXTS for value in NO_TEXT),
    *((field, "") for field in TEXTS if field != "name"),
    *(("schemaVersion", value) for value in ("1.0", "1.0.1", "2.0.0", "", *NO_TEXT)),
    *(("tenantId", value) for value in ("Acme", "a_b", "a b", "-a", "a-", "a--b", "é", "a" * 64)),
    *(("rootKind", value) for value in ("repo", "", "Bare-Repo", *NO_TEXT)),
    *(("sourcePath", value) for value in ("/a", "..", "../a", "a/../b", "a/..", "a\\b", "/")),
    *(("hashInputs", value) for value in ([], ["kind"], "content", None, 3, {"content": 1})),
    *(("parserVersion", value) for value in ("1", "1.0", "v1.0.0", "1.0.0.0", "1.0.0-", "a.b.c")),
    ("parserVersion", "١.٢.٣"),
    *((field, value) for field in ("line_start", "line_end") for value in (0, -1, 1.5, "3", [3])),
    *((field, True) for field in ("line_start", "line_end")),
    *((field, value) for field in ("className", "extends") for value in (3, True, ["A"], {})),
    *(("customMeta", value) for value in (None, "x", 3, [], True)),
]
# field that is named → changes that only the contract can see, or sees at another place
SUBTLE: list[tuple[str, dict[str, Any]]] = [
    ("hashInputs.1", {"hashInputs": ["content", "kinds"]}),
    ("hashInputs.0", {"hashInputs": ["source_path", "content"]}),
    ("hashInputs.1", {"hashInputs": ["content", 3]}),
    ("hashInputs.1", {"hashInputs": ["content", ""]}),
    ("line_end", {"line_start": 9, "line_end": 3}),
    *((f, {f: f"{GOOD[f]}\0"}) for f in ("content", "kind", "name", "sourcePath", "className")),
    ("repoSlug", {"repoSlug": "r" * 251}),
    ("kind", {"kind": "k" * 251}),
    ("sourcePath", {"sourcePath": "é" * 501}),
    ("customMeta.branch", {"customMeta": {"branch": "b" * 251}}),
    *(
        ("customMeta.chunkIndex", {"customMeta": {"chunkIndex": value}})
        for value in (-1, 2**31, 1.5, "0", None, True, [0])
    ),
    *(
        (f"customMeta.{key}", {"customMeta": {key: value}})
        for key in ("branch", "namespace", "commitSha", "citationUrl", "header")
        for value in (None, 3, True, ["x"], {})
    ),
    ("customMeta.citationUrl", {"customMeta": {"citationUrl": "javascript:alert(1)"}}),
    ("customMeta.x", {"customMeta": {"x": ["a\0"]}}),
    ("customMeta (a key)", {"customMeta": {"a\0": 1}}),
    ("vector", {"vector": [0.1]}),
    ("source_path", {"source_path": "a.md"}),
    ("tenant_id", {"tenant_id": "evil"}),
]


def broken(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **changes}


def refused(record: Any, where: str = "record") -> Rejection:
    judged = check_record(record, where)
    assert isinstance(judged, Rejection), judged
    return judged


def test_a_good_record_passes_as_values_and_as_text() -> None:
    for record in (GOOD, json.dumps(GOOD), json.dumps(GOOD).encode()):
        chunk = check_record(record)
        assert isinstance(chunk, Chunk)
        assert json.loads(chunk.to_json()) == GOOD


@pytest.mark.parametrize("field", [name for name in GOOD if name not in OPTIONAL])
def test_a_record_without_a_field_that_is_required_is_refused(field: str) -> None:
    record = {name: value for name, value in GOOD.items() if name != field}
    found = refused(record, "line 4")
    assert (found.code, found.record, found.field) == (INVALID, "line 4", field)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, json_schema())


@pytest.mark.parametrize("field", OPTIONAL)
def test_a_record_without_an_optional_field_passes(field: str) -> None:
    record = {name: value for name, value in GOOD.items() if name != field}
    assert isinstance(check_record(record), Chunk)
    jsonschema.validate(record, json_schema())


@pytest.mark.parametrize(("field", "value"), BROKEN, ids=repr)
def test_a_broken_field_is_refused_by_name(field: str, value: Any) -> None:
    record = broken(**{field: value})
    for form in (record, json.dumps(record)):
        found = refused(form, "record 5")
        assert (found.code, found.record) == (INVALID, "record 5")
        assert found.field.split(".")[0] == field
        assert found.problems[0].message
        assert len({problem.field.split(".")[0] for problem in found.problems}) == 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(record, json_schema())


@pytest.mark.parametrize(("field", "changes"), SUBTLE, ids=repr)
def test_what_types_do_not_say_is_refused_by_name(field: str, changes: dict[str, Any]) -> None:
    for form in (broken(**changes), json.dumps(broken(**changes))):
        found = refused(form)
        assert (found.code, found.field) == (INVALID, field)


@pytest.mark.parametrize("value", [[0.1, 0.2], None, "", {}])
def test_an_embedding_is_refused_with_its_own_code(value: Any) -> None:
    found = refused(broken(embedding=value), "line 2")
    assert (found.code, found.record, found.field) == (EMBEDDING_REJECTED, "line 2", "embedding")
    # … whatever else is wrong with the record
    assert refused({"embedding": value}).code == EMBEDDING_REJECTED


def test_every_broken_field_is_named_at_once() -> None:
    found = refused(broken(kind="", name=3, line_start=0, extra=1))
    assert {problem.field for problem in found.problems} == {"kind", "name", "line_start", "extra"}
    assert all(f"{name}: " in str(found) for name in ("kind", "name", "line_start", "extra"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ("nonsense", "is no JSON"),
        ("[]", "not an array"),
        ("null", "not null"),
        ('"text"', "not a string"),
        ("3", "not a number"),
        (b"\xff{}", "is not UTF-8"),
        ("[" * 100_000, "nested too deep"),
        (json.dumps(GOOD)[:-1] + ', "kind": "Service"}', "has the key 'kind' twice"),
        (json.dumps(broken(customMeta={"x": float("nan")})), "holds NaN"),
        (json.dumps(broken(customMeta={"x": float("-inf")})), "holds -Infinity"),
        (json.dumps(GOOD).replace('"line_start": 3', '"line_start": ' + "9" * 5000), "digits"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_line_that_is_no_object_is_refused(text: str | bytes, reason: str) -> None:
    found = refused(text, "line 1")
    assert (found.code, found.record, found.field) == (INVALID, "line 1", "record")
    assert reason in found.message


def test_half_a_surrogate_pair_is_refused() -> None:
    for changes in ({"content": "\ud800"}, {"customMeta": {"x": "\udfff"}}):
        assert refused(json.dumps(broken(**changes))).code == INVALID


def test_siblings_of_a_broken_record_go_through(tmp_path: Path) -> None:
    records = [GOOD, broken(kind=""), broken(content="b"), broken(embedding=[1.0]), "{", GOOD]
    chunks, rejections = check_records(records)
    assert [chunk.content for chunk in chunks] == [GOOD["content"], "b", GOOD["content"]]
    assert [(one.record, one.code, one.field) for one in rejections] == [
        ("record 1", INVALID, "kind"),
        ("record 3", EMBEDDING_REJECTED, "embedding"),
        ("record 4", INVALID, "record"),
    ]
    file = tmp_path / "chunks.jsonl"
    lines = [one if isinstance(one, str) else json.dumps(one) for one in records]
    file.write_text("\n".join([*lines[:2], "", *lines[2:]]), encoding="utf-8")
    judged = list(check_lines(file))
    assert [one.record for one in judged if isinstance(one, Rejection)] == [
        *("line 2", "line 5", "line 6"),
    ]
    assert sum(isinstance(one, Chunk) for one in judged) == 3


def test_a_file_that_is_missing_is_no_empty_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        list(check_lines(tmp_path / "none.jsonl"))


def test_the_committed_schema_is_the_one_of_the_model() -> None:
    assert SCHEMA_PATH.read_text(encoding="utf-8") == schema_text()
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(GOOD, json_schema())


def test_no_field_is_missing_from_the_matrix() -> None:
    assert set(GOOD) == {str(info.alias) for info in Chunk.model_fields.values()}
    assert {field for field, _ in BROKEN} == set(GOOD)


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
        TenantContext(**{"tenant": "acme", "repo": "platform", **values})
