"""The X-Ray over HTTP: what is scanned is suggested, to the key's tenant and to nobody else."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import httpx
import numpy as np
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.service import create_app, new_key
from course_lib.service.config import key_digest
from course_lib.settings import project_root
from course_lib.store import connect, fresh_database
from tests.service.conftest import Index
from tests.service.running import running
from tests.waiting import until

SPOTIFY = "fetch top charts from Spotify"
LOCKS = project_root() / "data" / "lockfiles"
API = (LOCKS / "rider-app" / "api" / "requirements.txt").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def clean(index: Index) -> Iterator[None]:
    yield
    with connect(index.url, autocommit=True) as conn:
        for table in ("xray_report_packages", "xray_checksums", "xray_packages"):
            conn.execute(f"DELETE FROM {table}".encode())


def headers(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def scan(
    client: httpx.Client, key: str | None, project: str = "app", **files: str
) -> httpx.Response:
    sent = [{"path": name.replace("_", "."), "content": text} for name, text in files.items()]
    body = {"project": project, "files": sent}
    return client.post("/xray/scan", json=body, headers=headers(key))


def suggest(client: httpx.Client, key: str | None, **others: Any) -> httpx.Response:
    body = {"project": "app", "language": "python", "instruction": SPOTIFY, **others}
    return client.post("/xray/suggest", json=body, headers=headers(key))


def names(client: httpx.Client, key: str | None, **others: Any) -> list[str]:
    answer = suggest(client, key, **others)
    assert answer.status_code == 200, answer.text
    return [one["name"] for one in answer.json()["packages"]]


def test_nobody_names_a_tenant(client: httpx.Client, index: Index) -> None:
    scan(client, index.acme, requirements_txt="acme-secret==1.0\n")
    files = [{"path": "go.sum", "content": ""}]
    for claim in ("tenant", "tenant_id", "tenantId"):
        body = {"project": "app", "files": files, claim: "acme"}
        answer = client.post("/xray/scan", json=body, headers=headers(index.beta))
        assert answer.status_code == 422
        assert suggest(client, index.beta, **{claim: "acme"}).status_code == 422
        forged = {**headers(index.beta), "X-Tenant": "acme", "X-Tenant-ID": "acme"}
        body = {"project": "app", "language": "python", "instruction": SPOTIFY}
        answer = client.post(f"/xray/suggest?{claim}=acme", json=body, headers=forged)
        assert answer.json()["packages"] == []


def test_an_answer_does_not_tell_what_others_use(client: httpx.Client, index: Index) -> None:
    def one_after_the_other() -> list[Any]:
        scan(client, index.beta, "probe", go_sum="example.com/a v1.0.0 h1:00=\n")
        texts = ("private-thing==1.0\nrich==1\n", "rich==1\n")
        return [scan(client, index.beta, "probe", requirements_txt=one).json() for one in texts]

    alone = one_after_the_other()
    scan(client, index.acme, requirements_txt="private-thing==1.0\nrich==1\n")
    assert one_after_the_other() == alone


class BrokenModel:
    """A model that cannot be loaded."""

    model_name = "broken"
    dimension = 384
    prompts: Mapping[str, str] = MappingProxyType({})

    def encode(self, texts: Sequence[str], batch_size: int = 32) -> np.ndarray[Any, Any]:
        raise OSError("the weights are gone")


def test_without_a_model_packages_are_stored_and_the_first_fifty_suggested(
    index: Index, embedder: EmbeddingClient
) -> None:
    app = create_app(index.config(), embedder=BrokenModel())
    with running(app, wait=False) as service:
        until(lambda: service.client.get("/ready").json()["database"] == "ready")
        until(lambda: scan(service.client, index.acme, requirements_txt=API).status_code == 200)
        found = suggest(service.client, index.acme).json()
        assert found["fallback"] == "there is no model" and len(found["packages"]) == 50
        assert all(one["similarity"] is None for one in found["packages"])
    with running(create_app(index.config(), embedder=embedder)) as service:
        found = suggest(service.client, index.acme).json()
        assert "course xray scan" in found["fallback"] and len(found["packages"]) == 50
        assert scan(service.client, index.acme, requirements_txt=API).json()["vectors"]
        assert names(service.client, index.acme)[0] == "spotipy"


def test_a_service_that_starts_on_an_empty_database_makes_the_tables(
    embedder: EmbeddingClient,
) -> None:
    key = new_key("acme")
    with fresh_database("service-xray") as fresh:
        config = Index(fresh.url, key, key).config(keys={key_digest(key): "acme"})
        with running(create_app(config, embedder=embedder)) as service:
            assert suggest(service.client, key).json() == {"packages": [], "fallback": ""}
            assert scan(service.client, key, requirements_txt="rich==1\n").status_code == 200
            assert names(service.client, key) == ["rich"]
