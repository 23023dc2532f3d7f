"""The push way in: the key decides whose it is, and what is refused is told one by one."""

from typing import Any

import httpx
import pytest

from course_lib.loader.contract import FILE_INVALID, INVALID, PARSER_NOT_REGISTERED
from course_lib.records import Chunk
from course_lib.store import connect
from tests.service.conftest import Index

TEXT = "# Zebras\n\nA zebra crossing is painted in stripes.\n"


@pytest.fixture(autouse=True)
def clean(index: Index) -> Any:
    yield
    with connect(index.url, autocommit=True) as conn:
        for table in ("document_chunks", "documents"):
            conn.execute(f"DELETE FROM {table} WHERE tenant_id <> 'local'")  # type: ignore[call-overload]


def push(client: httpx.Client, key: str | None, *files: Any, **others: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    body = {"repo": "animals", "files": list(files), **others}
    return client.post("/ingest/source-files", json=body, headers=headers)


def seen(client: httpx.Client, key: str | None, query: str = "zebra") -> list[str]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    answer = client.post(
        "/search", json={"query": query, "repo": "animals", "top_k": 50}, headers=headers
    )
    return [result["content"] for result in answer.json()["results"]]


def record(**changed: Any) -> dict[str, Any]:
    chunk = Chunk(
        tenant_id="somebody-else",
        repo_slug="elsewhere",
        root_kind="external-source",
        source_path="b.md",
        content="Zebras sleep standing.",
        hash_inputs=["content"],
        parser_id="mine",
        parser_version="1.0.0",
        kind="doc-section",
        name="Zebras",
    )
    return chunk.model_dump(by_alias=True, exclude_none=True, mode="json") | changed


def test_writing_needs_a_key(client: httpx.Client) -> None:
    answer = push(client, None, {"sourcePath": "a.md", "content": TEXT})
    assert answer.status_code == 401
    assert push(client, "made-up", {"sourcePath": "a.md", "content": TEXT}).status_code == 401


def test_a_file_is_split_embedded_and_found_by_its_tenant_alone(
    client: httpx.Client, index: Index
) -> None:
    done = push(client, index.acme, {"sourcePath": "a.md", "content": TEXT})
    assert done.status_code == 200, done.text
    counts = done.json()
    assert (counts["documents"], counts["inserted"], counts["rejections"]) == (1, 1, [])
    assert any("stripes" in text for text in seen(client, index.acme))
    assert seen(client, index.beta) == [] and seen(client, None) == []


def test_what_is_public_is_found_by_everybody(client: httpx.Client, index: Index) -> None:
    push(client, index.acme, {"sourcePath": "a.md", "content": TEXT}, visibility="public")
    assert seen(client, index.beta) and seen(client, None)


def test_the_key_decides_the_tenant_and_not_the_record(client: httpx.Client, index: Index) -> None:
    assert push(client, index.beta, record()).json()["inserted"] == 1
    with connect(index.url, autocommit=True) as conn:
        row = conn.execute(
            "SELECT tenant_id, repo_slug FROM document_chunks WHERE document_name = 'b.md'"
        ).fetchone()
    assert row == ("beta", "animals")


def test_what_is_unchanged_is_not_written_again(client: httpx.Client, index: Index) -> None:
    for expected in ({"inserted": 1, "unchanged": 0}, {"inserted": 0}):
        done = push(client, index.acme, {"sourcePath": "a.md", "content": TEXT}).json()
        assert expected.items() <= done.items()


def test_what_is_refused_is_named_and_its_siblings_go_through(
    client: httpx.Client, index: Index
) -> None:
    answer = push(
        client,
        index.acme,
        {"sourcePath": "a.md", "content": TEXT},
        record(schemaVersion="9.9.9"),
        {"sourcePath": "c.x", "content": "x", "parserId": "unknown"},
        {"sourcePath": "../d.md", "content": "x"},
        {"nothing": 1},
    )
    assert answer.status_code == 200
    done = answer.json()
    assert done["inserted"] == 1
    codes = [one["code"] for one in done["rejections"]]
    assert sorted(codes) == sorted([FILE_INVALID, INVALID, INVALID, PARSER_NOT_REGISTERED])
    assert "files[1]" in [one["record"] for one in done["rejections"]]
    assert all(one["problems"] and one["problems"][0]["field"] for one in done["rejections"])


@pytest.mark.parametrize(
    "wrong",
    [{"files": []}, {"files": ["x"]}, {"files": None}, {"repo": ""}, {"visibility": "all"},
     {"partition": ""}, {"tenant": "beta"}],
)  # fmt: skip
def test_a_wrong_request_is_refused_whole(
    client: httpx.Client, index: Index, wrong: dict[str, Any]
) -> None:
    body = {"repo": "animals", "files": [record()], **wrong}
    headers = {"X-API-Key": index.acme}
    answer = client.post("/ingest/source-files", json=body, headers=headers)
    assert answer.status_code == 422 and answer.json()["errors"]
    assert seen(client, index.acme) == []
