"""What senders and callers claim: names that are not theirs, and texts that are none."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.service import create_app
from course_lib.service.run import make_server
from tests.service.conftest import Index
from tests.service.running import Running, running

GOOD = {"sourcePath": "good.md", "content": "# Good\n\nAll is well.\n"}


@pytest.fixture(scope="module")
def own(index: Index, embedder: EmbeddingClient) -> Iterator[Running]:
    """A service with a name, behind no proxy."""
    config = index.config(hosts=("*.example.org",), rate_limit="30/minute")
    with running(create_app(config, embedder=embedder)) as service:
        yield service


def push(service: Running, key: str, body: dict[str, Any]) -> httpx.Response:
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    # Not `json=`: httpx refuses to send half of a surrogate pair.
    return service.client.post("/ingest/source-files", content=json.dumps(body), headers=headers)


@pytest.mark.parametrize(
    ("bad", "code", "field"),
    [
        ({"sourcePath": "a.md", "content": "x \ud800"}, "KB_SOURCE_FILE_INVALID", "content"),
        ({"sourcePath": "a\ud800.md", "content": "x"}, "KB_SOURCE_FILE_INVALID", "sourcePath"),
        ({"sourcePath": "a" * 1001, "content": " "}, "KB_SOURCE_FILE_INVALID", "sourcePath"),
        ({"sourcePath": "a" * 1001, "parsedChunks": []}, "KB_SOURCE_FILE_INVALID", "sourcePath"),
        ({"\ud800": 1}, "KB_PARSED_CHUNK_INVALID", "schemaVersion"),
    ],
)
def test_a_text_that_cannot_be_stored_is_refused_alone(
    service: Running, index: Index, bad: dict[str, Any], code: str, field: str
) -> None:
    answer = push(service, index.acme, {"repo": "hostile", "files": [bad, GOOD]})
    told = answer.json()
    assert (answer.status_code, told["documents"]) == (200, 1)
    (refused,) = told["rejections"]
    assert (refused["code"], refused["problems"][0]["field"]) == (code, field)


@pytest.mark.parametrize("field", ["repo", "branch", "partition"])
def test_a_name_too_long_for_the_index_is_the_caller_s_mistake(
    service: Running, index: Index, field: str
) -> None:
    answer = push(service, index.acme, {"repo": "r", field: "ü" * 126, "files": [GOOD]})
    assert answer.status_code == 422
    said = {"field": field, "message": "has 252 bytes; the limit is 250"}
    assert answer.json()["errors"] == [said]


def test_a_sender_s_metadata_replaces_nothing_of_ours(service: Running, index: Index) -> None:
    """beta publishes a chunk that says of itself that it is another repository's."""
    forged = {"repo": "documents", "score": 99, "also_in": ["v9"], "partition": "mine", "own": 1}
    record = {
        "schemaVersion": "1.0.0",
        "tenantId": "beta",
        "repoSlug": "documents",
        "rootKind": "external-source",
        "sourcePath": "forged.md",
        "content": "Okapis are striped like zebras.",
        "hashInputs": ["content"],
        "parserId": "own",
        "parserVersion": "1.0.0",
        "kind": "doc-section",
        "name": "Okapis",
        "customMeta": forged,
    }
    body = {"repo": "okapis", "visibility": "public", "files": [record]}
    assert push(service, index.beta, body).json()["rejections"] == []
    answer = service.client.post("/search", json={"query": "striped okapis", "top_k": 1})
    (found,) = answer.json()["results"]
    told = found["metadata"]
    assert (found["document_name"], told["repo"], told["own"]) == ("forged.md", "okapis", 1)
    assert (told["also_in"], told["partition"]) == ([], "documentation")
    assert told["score"] < 1


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("127.0.0.1:8000", 200), ("[::1]:8000", 200), ("10.1.2.3", 200),
        ("a.example.org:80", 200), ("LOCALHOST.", 200), ("example.org", 421), ("evil.test", 421),
        ("localhost.evil.test", 421), ("127.0.0.1.evil.test:8000", 421), ("", 421),
    ],
)  # fmt: skip
def test_only_a_name_of_its_own_is_answered(own: Running, host: str, status: int) -> None:
    """A page that had its own name lead to this machine sends that name."""
    assert own.client.get("/health", headers={"Host": host}).status_code == status


def test_a_client_is_its_connection_unless_a_proxy_is_named(own: Running) -> None:
    forged = [{"X-Forwarded-For": f"10.0.0.{number}"} for number in range(31)]
    statuses = [own.client.get("/nowhere", headers=one).status_code for one in forged]
    assert statuses[-1] == 429
    believed = make_server(own.app, ["127.0.0.1"]).config
    assert (believed.proxy_headers, believed.forwarded_allow_ips) == (True, ["127.0.0.1"])
