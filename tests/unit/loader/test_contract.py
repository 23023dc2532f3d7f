"""The contract: every field broken in every way is refused by name, and its siblings go through."""

from typing import Any

import jsonschema
import pytest

from course_lib.loader.contract import (
    SCHEMA_PATH,
    json_schema,
    schema_text,
)
from course_lib.records import Scope

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
