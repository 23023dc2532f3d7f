"""The records: parsed-chunk-v1 takes what it should, refuses the rest, and survives JSON."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from course_lib.records import Chunk, content_hash, hash_texts, vector_key

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


@pytest.mark.parametrize(
    ("change", "hashed"),
    [
        ({"content": "ü"}, b"4:acme4:docs2:\xc3\xbc"),
        ({"content": "a\r\n"}, b"4:acme4:docs3:a\r\n"),
        ({"hashInputs": ["name", "content"]}, b"4:acme4:docs5:hello6:Hello."),
        ({"hashInputs": ["content", "repoSlug"]}, b"4:acme4:docs6:Hello.4:docs"),
        ({"hashInputs": ["content", "className", "name"]}, b"4:acme4:docs6:Hello.0:5:hello"),
        ({"hashInputs": ["content", "line_start"], "line_start": 12},
         b"4:acme4:docs6:Hello.2:12"),
        ({"hashInputs": ["content", "customMeta"]}, b"4:acme4:docs6:Hello.2:{}"),
        ({"hashInputs": ["content", "customMeta"],
          "customMeta": {"b": {"d": 1, "c": None}, "a": "ü"}},
         b'4:acme4:docs6:Hello.31:{"a":"\xc3\xbc","b":{"c":null,"d":1}}'),
        ({"hashInputs": ["content", "hashInputs"]},
         b'4:acme4:docs6:Hello.24:["content","hashInputs"]'),
    ],
)  # fmt: skip
def test_a_hash_is_that_of_each_value_after_its_length(
    change: dict[str, Any], hashed: bytes
) -> None:
    values = BASE | {"tenantId": "acme", "name": "hello"} | change
    digest = hashlib.sha256(hashed).hexdigest()
    assert content_hash(Chunk.model_validate(values)) == digest


def test_a_hash_of_texts_says_where_each_one_ends() -> None:
    assert hash_texts(["acme", "Grüße."]) == hashlib.sha256("4:acme8:Grüße.".encode()).hexdigest()
    assert hash_texts([]) == hashlib.sha256(b"").hexdigest()
    assert hash_texts(["acme", "platform"]) != hash_texts(["acmep", "latform"])


def test_the_key_of_a_vector_is_its_tenant_its_text_and_its_model() -> None:
    moved = Chunk.model_validate(
        BASE | {"sourcePath": "b.md", "line_start": 9, "parserVersion": "9.0.0", "name": "B"}
    )
    under = Chunk.model_validate(BASE | {"customMeta": {"header": "def f():\n"}})
    assert vector_key(moved, "mini") == hash_texts(["local", "Hello.", "mini"])
    assert vector_key(under, "mini") == hash_texts(["local", "def f():\nHello.", "mini"])
