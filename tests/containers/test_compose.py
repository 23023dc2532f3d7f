"""Compose: the database, the API and the proxy come up, answer, and keep what they were given."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from course_lib.settings import project_root
from tests.containers.conftest import within

# What holds for nginx on this machine holds for nginx in its container.
from tests.service.test_proxy import (  # noqa: F401
    Address,
    test_a_body_over_the_limit_does_not_reach_the_api,
    test_a_client_that_asks_too_often_is_refused_whatever_it_says_of_its_address,
    test_half_open_connections_and_slow_bodies_leave_the_service_answering,
)

COURSE = Path(sys.executable).with_name("course")
FILE = project_root() / "infra" / "docker-compose.yml"
DATABASE_URL = "postgresql://rag:rag@127.0.0.1:5432/rag"
TENANT_KEYS = {"RAG_API_HOSTS": "127.0.0.1,localhost,retriever"}

Compose = Callable[..., None]


def compose_command() -> list[str]:
    """Docker's plugin, or Debian's program of the same work."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    if plugin.returncode == 0:
        return ["docker", "compose"]
    program = shutil.which("docker-compose")
    assert program, "Compose is not here: apt install docker-compose"
    return [program]


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.fixture(scope="module")
def compose(images: dict[str, int]) -> Iterator[Compose]:
    """Compose with a project of the tests' own, whose volumes are removed at the end."""
    taken = [port for port in (5432, 8000, 8080) if not is_free(port)]
    assert taken == [], f"Compose's ports are taken on this machine: {taken}"
    command = [*compose_command(), "--project-name", "course-test", "--file", os.fspath(FILE)]

    def call(*words: str) -> None:
        done = subprocess.run(
            [*command, "--profile", "public", *words],
            env={**os.environ, **TENANT_KEYS},
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stdout

    try:
        call("up", "--detach", "--no-build")
        yield call
    finally:
        call("down", "--volumes")


@pytest.fixture(scope="module")
def filled(compose: Compose) -> str:
    """The address of the API, over an index of the course's documents."""
    within(120, lambda: answers("http://127.0.0.1:8000/health"))
    done = subprocess.run(
        [COURSE, "ingest", project_root() / "data" / "documents"],
        env={**os.environ, "DATABASE_URL": DATABASE_URL},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    within(60, lambda: answers("http://127.0.0.1:8000/ready"))
    return "http://127.0.0.1:8000"


@pytest.fixture(scope="module")
def proxy(filled: str) -> Address:
    """The proxy's address, for the tests of the proxy that are imported here."""
    within(60, lambda: answers("http://127.0.0.1:8080/ready"))
    return "127.0.0.1", 8080


def answers(url: str) -> None:
    assert httpx.get(url, timeout=5).status_code == 200


def found(address: str) -> list[str]:
    body = {"query": "What is a feature store?", "top_k": 3}
    told = httpx.post(f"{address}/search", json=body, timeout=30)
    assert told.status_code == 200, told.text
    return [one["content"] for one in told.json()["results"]]


def test_a_search_finds_what_was_ingested_directly_and_through_the_proxy(
    filled: str, proxy: Address
) -> None:
    direct = found(filled)
    assert len(direct) == 3 and "feature store" in direct[0].lower()
    assert found(f"http://{proxy[0]}:{proxy[1]}") == direct


def test_metrics_are_not_to_be_had_through_the_proxy(proxy: Address) -> None:
    assert httpx.get(f"http://{proxy[0]}:{proxy[1]}/metrics").status_code == 404


def test_what_is_stored_outlives_a_restart_and_a_down(filled: str, compose: Compose) -> None:
    before = found(filled)
    compose("restart")
    within(120, lambda: answers(f"{filled}/ready"))
    assert found(filled) == before
    compose("down")
    assert is_free(8000) and is_free(5432)
    compose("up", "--detach", "--no-build")
    within(120, lambda: answers(f"{filled}/ready"))
    assert found(filled) == before
