"""The contract's scope and its committed schema; tests/blackbox/test_contract.py judges records."""

import json
from typing import Any

import pytest

from course_lib.loader.contract import SCHEMA_PATH
from course_lib.records import Chunk, Scope


@pytest.mark.parametrize(
    "values",
    [{"tenant": "Not Kebab"}, {"repo": ""}, {"visibility": "secret"}, {"role": "admin"}],
)
def test_a_tenant_context_is_checked(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(values))):
        Scope(**{"tenant": "acme", "repo": "platform", **values})


def test_the_committed_schema_has_the_fields_of_the_model() -> None:
    """What it takes and refuses is in tests/blackbox/test_contract.py."""
    schema = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    fields = Chunk.model_fields.values()
    required = {one.alias for one in fields if one.is_required()} | {"schemaVersion"}
    assert set(schema["properties"]) == {one.alias for one in fields}
    assert set(schema["required"]) == required and schema["additionalProperties"] is False
