"""Servers: what every client says where the environment names what it cannot use."""

from collections.abc import Callable
from pathlib import Path

import huggingface_hub
import pytest

from course_lib.addresses import PROXIES
from course_lib.answers import GenerationError, Prompt, Request
from course_lib.answers.generators.ollama import Ollama, models_at, server_address
from course_lib.answers.generators.openai_compatible import OpenAICompatible
from course_lib.embedder.hub import load
from course_lib.embedder.openai_backend import OpenAIBackend
from course_lib.errors import CourseError, InputError
from course_lib.loader.github.client import GitHubClient
from course_lib.pipeline.remote import submit
from course_lib.teaching.lab.serving import serve
from tests.blackbox.language_models import (
    CHAT,
    COMPLETIONS,
    Answer,
    Reply,
    models,
    nobody,
    ollama,
    openai,
)
from tests.certificates import certificate

ELSEWHERE = "http://models.example.org"
QUESTION = Request(Prompt("Be brief.", "What is drift?"), "", (), 50, 900)


def from_hub() -> object:
    huggingface_hub.close_session()  # it keeps its client
    return load(lambda name, **how: Path(name).read_bytes(), "somebody/something", "")


CLIENTS: dict[str, Callable[[], object]] = {
    "ollama": lambda: list(Ollama(ELSEWHERE).stream(QUESTION)),
    "ollama's window": lambda: Ollama(ELSEWHERE).window,
    "auto": lambda: models_at(ELSEWHERE),
    "openai": lambda: list(OpenAICompatible(api_key="k", base_url=ELSEWHERE).stream(QUESTION)),
    "embeddings": lambda: OpenAIBackend("m", 8, "k", ELSEWHERE).encode(["q"]),
    "github": lambda: GitHubClient("https://api.github.com"),
    "kubeflow": lambda: submit("docs_pipeline", host=ELSEWHERE),
    "hub": from_hub,
}
UNUSABLE = {
    "a SOCKS proxy": ("ALL_PROXY", "socks5://ada:hunter2@localhost:1080", "socksio"),
    "another proxy": ("all_proxy", "ftp://ada:hunter2@localhost", "http://proxy.example:3128"),
    "no port": ("HTTPS_PROXY", "http://ada:hunter2@localhost:x", "http://proxy.example:3128"),
    "no file": ("SSL_CERT_FILE", "/nowhere/ca.pem", "(/nowhere/ca.pem)"),
    "no certificate": ("SSL_CERT_FILE", __file__, "no certificate or crl found"),
}


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without proxies."""
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("what", UNUSABLE)
def test_every_client_names_the_variable_that_it_cannot_use_and_no_password(
    client: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, value, says = UNUSABLE[what]
    monkeypatch.setenv(name, value)
    with pytest.raises(CourseError) as caught:
        CLIENTS[client]()
    assert name in caught.value.hint and says in str(caught.value), caught.value
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("value", ["[::1]", "fd00::/8", "host:abc"])
def test_a_list_of_hosts_that_httpx_cannot_read_is_named(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads it wherever there is a proxy or none; httpx2 takes all of these."""
    monkeypatch.setenv("NO_PROXY", value)
    with pytest.raises(InputError) as caught:
        GitHubClient("https://api.github.com")
    assert caught.value.hint.startswith("Correct or unset NO_PROXY. ")


def test_servers_of_this_machine_need_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async def app(scope, receive, send):  # type: ignore[no-untyped-def]
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    monkeypatch.setenv("ALL_PROXY", "socks5://localhost:1")
    GitHubClient("http://localhost:8099").close()
    with pytest.raises(CourseError, match="no Kubeflow Pipelines answers at http://127.0.0.1:1: "):
        submit("docs_pipeline", host="127.0.0.1:1")
    with serve(app) as api:
        assert api.get("/").status_code == 204


def test_a_certificate_that_is_not_trusted_is_told_and_one_that_is_named_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An HTTPS server of this machine, or of a company: SSL_CERT_FILE counts for both."""
    pem = certificate(tmp_path, "127.0.0.1")
    replies: dict[str, Reply | list[Answer]] = {CHAT: ollama("x"), COMPLETIONS: openai("y")}
    monkeypatch.setenv("ALL_PROXY", nobody())
    with models(replies, pem) as server:
        asked = Ollama(server.url), OpenAICompatible(api_key="k", base_url=f"{server.url}/v1")
        for one in asked:
            with pytest.raises(GenerationError, match="has a certificate that is not tr") as caught:
                list(one.stream(QUESTION))
            assert "SSL_CERT_FILE" in caught.value.hint
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        assert [list(one.stream(QUESTION)) for one in asked] == [["x"], ["y"]]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("localhost:11434", "http://localhost:11434"),
        ("localhost", "http://localhost:11434"),
        ("0.0.0.0", "http://0.0.0.0:11434"),
        ("0.0.0.0:8080/", "http://0.0.0.0:8080"),
        ("ollama.example.org/v1/", "http://ollama.example.org:11434"),
        ("http://ollama.example.org/v1", "http://ollama.example.org"),
        ("https://example.org/ollama/", "https://example.org/ollama"),
        ("example.org/ollama", "http://example.org/ollama"),
    ],
)
def test_an_address_of_ollama_may_be_written_as_ollama_takes_it(given: str, address: str) -> None:
    assert server_address(given) == address
    assert OpenAICompatible(api_key="k", base_url="localhost:8080/v1/").url.endswith("8080/v1")
