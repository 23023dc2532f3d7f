"""Every endpoint over a real socket: what it answers, and what it answers to bad input."""

import json
from typing import Any

import httpx
import numpy as np
import pytest

from tests.service.conftest import Index
from tests.service.running import until

PROBLEM = "application/problem+json"
DRIFT = "How is drift measured?"


def ask(client: httpx.Client, **asked: Any) -> dict[str, Any]:
    answer = client.post("/search", json={"query": DRIFT, **asked})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def refused(answer: httpx.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == PROBLEM
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status and problem["title"] and problem["detail"]
    return problem


def test_health_says_ok_and_nothing_else(client: httpx.Client) -> None:
    answer = client.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_a_service_with_all_it_needs_is_ready(client: httpx.Client) -> None:
    answer = client.get("/ready")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ready", "database": "ready", "model": "ready"}


def test_a_search_finds_the_passage_and_says_where_it_stands(client: httpx.Client) -> None:
    found = ask(client, top_k=3)
    assert found["query"] == DRIFT and found["total_results"] == len(found["results"]) == 3
    best = found["results"][0]
    assert best["document_name"] == "model-monitoring.md"
    assert set(best) == {
        "chunk_id", "document_name", "content", "similarity_score", "metadata", "citation_url",
    }  # fmt: skip
    assert best["metadata"]["partition"] == "documentation"
    assert 0 < best["similarity_score"] <= 1
    assert found["embedding_time_ms"] > 0 and found["search_time_ms"] > 0


def test_five_results_come_where_no_number_is_given(client: httpx.Client) -> None:
    assert ask(client)["total_results"] == 5


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
@pytest.mark.parametrize("rerank", [None, "maxsim"])
def test_every_mode_answers(client: httpx.Client, mode: str, rerank: str | None) -> None:
    found = ask(client, mode=mode, rerank=rerank, top_k=4)
    names = [result["document_name"] for result in found["results"]]
    assert len(names) == 4 and "model-monitoring.md" in names


def test_the_threshold_is_about_the_cosine_in_every_mode(client: httpx.Client) -> None:
    for mode in ("hybrid", "dense"):
        scores = [r["similarity_score"] for r in ask(client, mode=mode, top_k=20)["results"]]
        limit = sorted(scores)[10]
        kept = ask(client, mode=mode, top_k=20, similarity_threshold=limit)["results"]
        assert kept and min(r["similarity_score"] for r in kept) >= limit - 1e-5


def test_filters_narrow_the_search(client: httpx.Client) -> None:
    assert ask(client, partitions=["documentation"], repo="documents")["total_results"] == 5
    for nowhere in ({"partitions": ["issues"]}, {"repo": "none"}, {"branch": "v9"},
                    {"kind": "Deployment"}, {"namespace": "none"}):  # fmt: skip
        assert ask(client, **nowhere)["results"] == []


def test_the_stats_count_what_is_there(client: httpx.Client) -> None:
    found = client.get("/documents/stats").json()
    assert found["total_documents"] == 5
    assert found["total_chunks"] > 50
    assert found["partitions"] == {
        "documentation": {"documents": 5, "chunks": found["total_chunks"]}
    }
    assert (found["embedding_dimension"], found["model_name"]) == (384, "all-MiniLM-L6-v2")


def test_embeddings_are_those_of_the_library(client: httpx.Client, embedder: Any) -> None:
    texts = ["drift", "", "a " * 5000] + [f"text {number}" for number in range(253)]
    answer = client.post("/embeddings", json={"texts": texts}).json()
    given = np.array(answer["embeddings"], np.float32)
    assert given.shape == (256, 384) and answer["dimension"] == 384
    # Batches of other lengths round otherwise.
    assert np.sum(given * embedder.encode(texts), axis=1).min() > 0.999


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"query": ""}, "query"),
        ({"query": "   "}, "query"),
        ({"query": "x" * 1001}, "query"),
        ({"query": "a\0b"}, "query"),
        ({"query": 7}, "query"),
        ({"query": None}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 51}, "top_k"),
        ({"top_k": "5"}, "top_k"),
        ({"top_k": 2.5}, "top_k"),
        ({"similarity_threshold": -0.1}, "similarity_threshold"),
        ({"similarity_threshold": 1.1}, "similarity_threshold"),
        ({"partitions": []}, "partitions"),
        ({"partitions": "documentation"}, "partitions"),
        ({"mode": "magic"}, "mode"),
        ({"rerank": "magic"}, "rerank"),
        ({"tenant": "acme"}, "tenant"),
    ],
)
def test_a_wrong_field_is_named(client: httpx.Client, wrong: dict[str, Any], field: str) -> None:
    problem = refused(client.post("/search", json={"query": DRIFT, **wrong}), 422)
    assert [error["field"].split(".")[0] for error in problem["errors"]] == [field]
    assert field in problem["detail"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"x"', b'{"query": "\\ud800"}', b'{"query": NaN}', b"\xff"]
)
def test_a_body_that_is_no_request_is_refused(client: httpx.Client, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = client.post("/search", content=body, headers=headers)
    assert answer.status_code in (400, 422) and answer.headers["content-type"] == PROBLEM


@pytest.mark.parametrize(
    "query", ["'; DROP TABLE documents; --", "%s %(x)s {}", "& | ! :* <->", "日本語", "🙂" * 300]
)
def test_strange_questions_are_questions(client: httpx.Client, query: str) -> None:
    assert client.post("/search", json={"query": query}).status_code == 200


@pytest.mark.parametrize("texts", [[], ["x"] * 257, "x", [1], ["a\0"], ["x" * 100_001]])
def test_wrong_texts_are_refused(client: httpx.Client, texts: Any) -> None:
    refused(client.post("/embeddings", json={"texts": texts}), 422)


def test_paths_and_methods_that_do_not_exist_are_problems_too(client: httpx.Client) -> None:
    refused(client.get("/nowhere"), 404)
    refused(client.get("/search"), 405)


def test_a_request_that_is_too_large_is_refused_before_it_is_read(client: httpx.Client) -> None:
    large = b'{"query": "' + b"x" * 9_000_000 + b'"}'
    assert "8000000 bytes" in refused(client.post("/search", content=large), 413)["detail"]

    def parts() -> Any:  # no length is announced
        for _ in range(9):
            yield b"x" * 1_000_000

    refused(client.post("/search", content=parts()), 413)


def test_the_description_names_every_endpoint_and_its_problems(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    assert {"/health", "/ready", "/search", "/documents/stats", "/embeddings",
            "/ingest/source-files"} <= set(described["paths"])  # fmt: skip
    answers = described["paths"]["/search"]["post"]["responses"]
    assert set(answers) == {"200", "401", "413", "422", "429", "503"}
    assert answers["422"]["content"] == {
        PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}
    }
    assert "HTTPValidationError" not in json.dumps(described)


def test_metrics_count_by_route_and_never_by_path(client: httpx.Client) -> None:
    ask(client)
    client.get("/made/up/path")
    # A request is counted when its answer has gone out, and so perhaps after it has come in.
    until(lambda: 'route="none",status="404"' in client.get("/metrics").text)
    text = client.get("/metrics").text
    assert 'course_requests_total{method="POST",route="/search",status="200"}' in text
    assert "made/up" not in text
    assert "course_pool_pool_size" in text and "course_encoded_texts" in text


def test_the_answer_bears_the_number_of_the_request(client: httpx.Client) -> None:
    answer = client.get("/health", headers={"X-Request-ID": "abc-1"})
    assert answer.headers["x-request-id"] == "abc-1"
    for strange in (b"a b", "é".encode("latin-1")):
        forged = client.get("/health", headers=[(b"X-Request-ID", strange)])
        assert forged.headers["x-request-id"].encode("latin-1") != strange


def test_a_key_that_is_nobodys_is_refused_and_not_repeated(client: httpx.Client) -> None:
    for headers in ({"Authorization": "Bearer made-up"}, {"X-API-Key": "made-up"}):
        answer = client.post("/search", json={"query": DRIFT}, headers=headers)
        assert "made-up" not in json.dumps(refused(answer, 401))
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_key_sees_its_own_tenants_documents_and_no_others(
    client: httpx.Client, index: Index
) -> None:
    answer = client.get("/documents/stats", headers={"X-API-Key": index.beta})
    assert answer.json()["total_chunks"] == 0
    answer = client.post("/search", json={"query": DRIFT}, headers={"X-API-Key": index.beta})
    assert answer.json()["results"] == []
