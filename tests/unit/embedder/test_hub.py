"""Models from a hub: it is asked once, and what it cannot give is said at once."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from course_lib.embedder import hub
from course_lib.errors import ModelError


class Hub(ThreadingHTTPServer):
    """A hub that answers every question with one status, and remembers what it was asked."""

    status = 404
    code = "RepoNotFound"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(self.server.status)
        self.send_header("X-Error-Code", self.server.code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Hub]:
    with Hub() as hub:
        thread = Thread(target=hub.serve_forever, args=(0.01,))
        thread.start()
        yield hub
        hub.shutdown()
        thread.join()


def use(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}"
    )
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


def test_a_name_that_the_hub_does_not_know_is_asked_for_once(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(server.url, monkeypatch)
    with pytest.raises(
        ModelError, match=r"'nobody/nothing'.*does not hand it out \(404\)"
    ) as error:
        hub.ask_hub("nobody/nothing")
    assert server.asked == ["/nobody/nothing/resolve/main/config.json"]
    assert "RAG_EMBED_MODEL" in error.value.hint


def test_a_short_name_is_looked_up_as_sentence_transformers_does(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(server.url, monkeypatch)
    with pytest.raises(ModelError, match="'nothing'"):
        hub.ask_hub("nothing")
    assert [path.removesuffix("/resolve/main/config.json") for path in server.asked] == [
        "/sentence-transformers/nothing",
        "/nothing",
    ]


def test_a_hub_that_is_down_is_not_asked_again_and_one_that_has_the_model_is_no_error(
    server: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(server.url, monkeypatch)
    server.status, server.code = 503, ""
    with pytest.raises(ModelError, match="503"):
        hub.ask_hub("nobody/nothing")
    assert len(server.asked) == 1
    server.status, server.code = 404, "EntryNotFound"
    hub.ask_hub("somebody/something")


def test_a_hub_that_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "PATIENCE", 0.02)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        use(f"http://127.0.0.1:{silent.getsockname()[1]}", monkeypatch)
        with pytest.raises(ModelError, match="does not answer"):
            hub.ask_hub("nothing")


@pytest.mark.parametrize("name", ["a/b/c", "x y", ""])
def test_what_is_no_name_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use("http://127.0.0.1:9", monkeypatch)
    assert not hub.was_fetched(name)
    with pytest.raises(ModelError, match="could not be fetched"):
        hub.ask_hub(name)


def encode(model: str, home: Path) -> subprocess.CompletedProcess[str]:
    """Encode a text in a process of its own, whose hub cannot be reached."""
    program = """
import sys
from course_lib.embedder import EmbeddingClient
from course_lib.errors import ModelError
try:
    print(EmbeddingClient(sys.argv[1]).encode(["q"]).shape)
except ModelError as error:
    print("torch" in sys.modules, error)
"""
    return subprocess.run(
        [sys.executable, "-c", program, model],
        env=os.environ | {"HF_HOME": str(home), "HF_ENDPOINT": "http://127.0.0.1:9"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )


def test_an_unreachable_hub_costs_one_quiet_attempt_and_no_torch(tmp_path: Path) -> None:
    done = encode("nobody/nothing", tmp_path)
    assert done.stdout.startswith("False the model 'nobody/nothing' is not on this machine")
    assert done.stderr == ""


@pytest.mark.long
def test_a_model_that_was_fetched_earlier_needs_no_hub(tmp_path: Path, model: Path) -> None:
    repository = tmp_path / "hub" / "models--somebody--something"
    commit = "0" * 40
    shutil.copytree(model, repository / "snapshots" / commit, ignore=shutil.ignore_patterns("*.py"))
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit, encoding="utf-8")
    done = encode("somebody/something", tmp_path)
    assert json.loads(done.stdout.replace("(", "[").replace(")", "]")) == [1, 384]
    assert "Retrying" not in done.stderr
