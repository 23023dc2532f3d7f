"""What senders and callers claim: names that are not theirs, and texts that are none."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.service import create_app
from tests.service.conftest import Index, record
from tests.service.running import Running, running

GOOD = {"sourcePath": "good.md", "content": "# Good\n\nAll is well.\n"}


@pytest.fixture(scope="module")
def own(index: Index, embedder: EmbeddingClient) -> Iterator[Running]:
    """A service with a name."""
    config = index.config(hosts=("*.example.org",))
    with running(create_app(config, embedder=embedder)) as service:
        yield service


def push(service: Running, key: str, body: dict[str, Any]) -> httpx.Response:
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    # Not `json=`: httpx refuses to send half of a surrogate pair.
    return service.client.post("/ingest/source-files", content=json.dumps(body), headers=headers)


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
    text = "Okapis are striped like zebras."
    sent = record(repoSlug="documents", sourcePath="forged.md", content=text, customMeta=forged)
    body = {"repo": "okapis", "visibility": "public", "files": [sent]}
    assert push(service, index.beta, body).json()["rejections"] == []
    # 1.0 is an integer of the OpenAPI description as well.
    answer = service.client.post("/search", json={"query": "striped okapis", "top_k": 1.0})
    (found,) = answer.json()["results"]
    told = found["metadata"]
    assert (found["document_name"], told["repo"], told["own"]) == ("forged.md", "okapis", 1)
    assert (told["also_in"], told["partition"]) == ([], "documentation")
    assert told["score"] < 1


def test_a_stranger_s_copy_of_a_passage_says_nothing_about_ours(
    service: Running, index: Index
) -> None:
    """The same text under the same names: its branch is none of ours, and its place is not ours."""
    file = {"sourcePath": "a.md", "content": "# Quokkas\n\nQuokkas smile at tapirs.\n"}
    asked = {"query": "quokkas smile at tapirs", "repo": "quokkas"}
    copy = {"repo": "quokkas", "branch": "forged", "visibility": "public", "files": [file]}
    assert push(service, index.acme, {"repo": "quokkas", "files": [file]}).status_code == 200
    assert push(service, index.beta, copy).status_code == 200
    headers = {"X-API-Key": index.acme}
    answer = service.client.post("/search", json=asked, headers=headers).json()
    told = [(one["metadata"]["branch"], one["metadata"]["also_in"]) for one in answer["results"]]
    assert sorted(told) == [("", []), ("forged", [])]


def test_a_refusal_of_half_a_surrogate_pair_can_be_sent(service: Running, index: Index) -> None:
    half = record(customMeta={"namespace": "\ud800"})
    answer = push(service, index.beta, {"repo": "x", "files": [half, GOOD]})
    assert (answer.status_code, answer.json()["documents"]) == (200, 1)
    assert len(answer.json()["rejections"]) == 1


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200), ("127.0.0.1:8000", 200), ("[::1]:8000", 200), ("10.1.2.3", 400),
        ("a.example.org:80", 200), ("LOCALHOST", 200), ("example.org", 400), ("evil.test", 400),
        ("localhost.evil.test", 400), ("127.0.0.1.evil.test:8000", 400), ("", 400),
        ("localhost:80@evil.test", 400), ("[::1]evil.test", 400), ("localhost:evil.test", 400),
    ],
)  # fmt: skip
def test_only_a_name_of_its_own_is_answered(own: Running, host: str, status: int) -> None:
    """A page that had its own name lead to this machine sends that name."""
    assert own.client.get("/health", headers={"Host": host}).status_code == status


@pytest.mark.parametrize("path", ["/search", "/embeddings", "/xray/suggest"])
def test_ten_thousand_unknown_fields_are_one_error(index: Index, own: Running, path: str) -> None:
    headers = {"X-API-Key": index.acme}
    asked = {f"unknown{number}": 1 for number in range(10_000)}
    answer = own.client.post(path, json=asked, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"field": "body", "message": "has 10000 fields"}]


@pytest.mark.parametrize("in_parts", [False, True])
def test_a_caller_without_a_key_sends_a_megabyte_at_most(
    service: Running, index: Index, in_parts: bool
) -> None:
    def embed(size: int, **headers: str) -> int:
        content = json.dumps({"texts": ["a"]}).encode() + b" " * size
        sent = iter([content]) if in_parts else content
        headers |= {"Content-Type": "application/json"}
        return service.client.post("/embeddings", content=sent, headers=headers).status_code

    assert [embed(900_000), embed(1_000_000)] == [200, 413]
    assert embed(1_000_000, Authorization=f"Bearer {index.acme}") == 200


def test_no_cache_may_keep_an_answer(service: Running) -> None:
    for path in ("/", "/documents/stats", "/nowhere"):
        assert service.client.get(path).headers["cache-control"] == "no-store"
