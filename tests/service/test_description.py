"""Requests made up from the OpenAPI description: many of them, and never our mistake."""

import pytest
import schemathesis
from hypothesis import given, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.conftest import Index
from tests.service.running import Running

CHECKS = [
    schemathesis.checks.not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]
OPERATIONS = {
    "GET /health", "GET /ready", "GET /metrics", "POST /search", "GET /documents/stats",
    "POST /embeddings", "POST /ingest/source-files", "POST /xray/scan", "POST /xray/suggest",
}  # fmt: skip


@pytest.fixture(scope="module")
def description(service: Running) -> schemathesis.schemas.BaseSchema:
    return schemathesis.openapi.from_url(f"{service.url}/openapi.json")


@pytest.mark.parametrize("label", sorted(OPERATIONS))
def test_no_request_is_answered_with_our_mistake(
    description: schemathesis.schemas.BaseSchema, index: Index, label: str
) -> None:
    found = (one.ok() for one in description.get_all_operations())
    operation = next(one for one in found if one.label == label)

    @given(case=operation.as_strategy())
    @settings(max_examples=20, derandomize=True)
    def ask(case: schemathesis.Case) -> None:
        response = case.call(headers={"X-API-Key": index.beta}, timeout=60)
        case.validate_response(response, checks=CHECKS)

    ask()
