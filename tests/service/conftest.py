"""One index and one service over it for most tests; what a test changes, it makes for itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from course_lib.embedder import EmbeddingClient
from course_lib.indexing import ingest
from course_lib.service import ServiceConfig, create_app, new_key
from course_lib.service.config import key_digest
from course_lib.settings import project_root
from course_lib.store import connect, fresh_database
from tests.service.running import Running, running


@dataclass(frozen=True)
class Index:
    """A filled database, and keys of two tenants."""

    url: str
    acme: str
    beta: str

    def config(self, **others: object) -> ServiceConfig:
        keys = {key_digest(self.acme): "acme", key_digest(self.beta): "beta"}
        return ServiceConfig(database_url=self.url, **{"keys": keys, **others})  # type: ignore[arg-type]


def record(**fields: Any) -> dict[str, Any]:
    """Return a parsed-chunk-v1 record of beta's, with whatever matters to a test."""
    return {
        **{"schemaVersion": "1.0.0", "tenantId": "beta", "repoSlug": "x", "sourcePath": "a.md"},
        **{"rootKind": "external-source", "content": "a", "hashInputs": ["content"]},
        **{"parserId": "own", "parserVersion": "1.0.0", "kind": "note", "name": "a"},
        **fields,
    }


@pytest.fixture(scope="session")
def index(embedder: EmbeddingClient) -> Iterator[Index]:
    """The course's documents, as the tenant `local` has them."""
    with fresh_database("service") as fresh:
        with connect(fresh.url, autocommit=True) as conn:
            ingest(
                project_root() / "data" / "documents",
                conn=conn,
                embedder=embedder,
            )
        yield Index(fresh.url, new_key("acme"), new_key("beta"))


@pytest.fixture(scope="session")
def service(index: Index, embedder: EmbeddingClient) -> Iterator[Running]:
    with running(create_app(index.config(), embedder=embedder)) as found:
        yield found


@pytest.fixture(scope="session")
def client(service: Running) -> httpx.Client:
    return service.client
