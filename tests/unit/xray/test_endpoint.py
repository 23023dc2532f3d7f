"""Descriptions from a model, asked of a real server that is well, busy, silent or wrong."""

from __future__ import annotations

import json
import socket
from typing import Any

import psycopg
import pytest

from course_lib.xray import LockFiles, Package, sync_project
from course_lib.xray.descriptions import (
    DescriberStoppedError,
    Descriptions,
    InstalledDescriber,
)
from course_lib.xray.endpoint import EndpointDescriber

KEY = "sk-very-secret-42"
PACKAGES = [Package("python", f"p{number}", "1.0") for number in range(5)]


class Run:
    """A describer, what it gave before it stopped, and why it stopped."""

    def __init__(self, url: str, token_budget: int = 50_000) -> None:
        self.describer = EndpointDescriber(url, "a-model", api_key=KEY, token_budget=token_budget)
        self.batches: list[Descriptions] = []
        self.stopped = ""

    def describe(self, packages: list[Package]) -> Run:
        try:
            for found in self.describer.describe(packages):
                self.batches.append(found)
        except DescriberStoppedError as error:
            self.stopped = str(error)
            assert KEY not in self.stopped
        return self

    @property
    def names(self) -> list[str]:
        return [package.name for found in self.batches for package in found]


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return what was waited for; two packages are in a request."""
    waited: list[float] = []
    monkeypatch.setattr("course_lib.xray.endpoint.BATCH", 2)
    monkeypatch.setattr("course_lib.xray.endpoint.sleep", waited.append)
    return waited


def status(code: int, body: Any = "", **headers: str) -> Any:
    text = body if isinstance(body, str) else json.dumps(body)
    return lambda request: (code, {name.replace("_", "-"): v for name, v in headers.items()}, text)


def test_packages_are_asked_for_in_batches_of_one_language(server: Any) -> None:
    packages = [*PACKAGES[:3], Package("go", "g", "v1"), Package("go", "h")]
    run = Run(server.url).describe(packages)
    assert [sorted(one.name for one in found) for found in run.batches] == [
        ["p0", "p1"],
        ["p2"],
        ["g", "h"],
    ]
    assert run.batches[0][PACKAGES[0]] == "What p0 does"
    assert (run.stopped, run.describer.spent) == ("", 300)
    request = server.requests[-1]
    assert request["model"] == "a-model" and request["temperature"] == 0
    assert request["messages"][1]["content"] == "Packages for go:\ng v1\nh"
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_a_busy_server_is_asked_again_when_it_says(
    server: Any, describing: Any, waits: list[float]
) -> None:
    server.script = [
        status(429, Retry_After="7"),
        status(503),
        status(429, Retry_After="Mon, 01 Jan 2001 00:00:00 GMT"),
        describing,
    ]
    run = Run(server.url).describe(PACKAGES[:1])
    assert run.names == ["p0"]
    assert waits == [7.0, 2.0, 4.0]


def test_a_server_that_stays_busy_ends_the_run_and_keeps_what_came(
    server: Any, describing: Any, waits: list[float]
) -> None:
    server.script = [describing, status(429)]
    run = Run(server.url).describe(PACKAGES)
    assert run.names == ["p0", "p1"]
    assert "did not answer in 4 attempts: status 429" in run.stopped
    assert (len(server.requests), waits) == (5, [1.0, 2.0, 4.0])


@pytest.mark.parametrize(
    "answer",
    [
        status(429, {"error": {"code": "insufficient_quota", "message": f"{KEY} has none"}}),
        status(429, {"error": {"code": None, "type": "insufficient_quota"}}),
        status(429, Retry_After="86400"),
    ],
)
def test_a_quota_that_is_used_up_is_not_asked_again(
    server: Any, describing: Any, answer: Any, waits: list[float]
) -> None:
    server.script = [describing, answer]
    run = Run(server.url).describe(PACKAGES)
    assert run.names == ["p0", "p1"]
    assert "has no quota left" in run.stopped and "Scan again" in run.stopped
    assert (len(server.requests), waits) == (2, [])


def test_a_server_that_says_nothing_is_given_up(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course_lib.xray.endpoint.TIMEOUT_SECONDS", 0.2)

    def hang(request: Any) -> Any:
        server.hold.wait(20)
        return 200, {}, "{}"

    server.script = [hang]
    run = Run(server.url).describe(PACKAGES)
    assert "did not answer in 4 attempts: ReadTimeout" in run.stopped
    assert len(server.requests) == 4


def test_a_server_that_is_not_there_is_given_up() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = Run(f"http://user:{KEY}@127.0.0.1:{port}/v1").describe(PACKAGES)
    assert "did not answer in 4 attempts: ConnectError" in run.stopped
    assert f"http://127.0.0.1:{port}/v1" in run.stopped


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            status(401, {"error": {"code": "invalid_api_key", "message": KEY}}),
            "401 invalid_api_key",
        ),
        (status(404, "no such model"), "404"),
        (status(302, Location="http://elsewhere.example.com/"), "302"),
        (status(400, {"error": KEY}), "400"),
    ],
)
def test_a_refusal_is_not_repeated_and_shows_no_key(server: Any, answer: Any, reason: str) -> None:
    server.script = [answer]
    run = Run(server.url).describe(PACKAGES)
    assert f"refuses the request: status {reason}" in run.stopped
    assert len(server.requests) == 1


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/v1", "http://a:port/v1", "nonsense", ""])
def test_an_address_that_is_none_is_explained(url: str, waits: list[float]) -> None:
    run = Run(url).describe(PACKAGES)
    assert "cannot be asked" in run.stopped and waits == []


def test_a_key_that_no_header_can_hold_is_explained_and_not_shown(server: Any) -> None:
    for key in ("sk-\nsecret", "sk-ö-secret"):
        describer = EndpointDescriber(server.url, "m", api_key=key)
        with pytest.raises(DescriberStoppedError) as caught:
            list(describer.describe(PACKAGES))
        assert "cannot be asked" in str(caught.value) and "secret" not in str(caught.value)


def test_what_models_like_to_write_around_an_answer_does_no_harm(
    server: Any, completion: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """Sure! Here you are:
```json
[
  {"name": "p0", "description": "One\\n  line"},
  {"name": "p1", "description": ""},
  {"name": "stranger", "description": "Not asked for"},
  {"name": ["p1"], "description": "No name"},
  {"name": "p2", "description": {"no": "text"}},
  {"name": "p3", "description": "%s"},
  {"name": "p4", "descr""" % ("long " * 200)
    server.script = [lambda request: completion(text)]
    monkeypatch.setattr("course_lib.xray.endpoint.BATCH", 5)
    run = Run(server.url).describe(PACKAGES)
    [found] = run.batches
    assert {one.name: text[:8] for one, text in found.items()} == {
        "p0": "One line",
        "p3": "long lon",
    }
    assert max(map(len, found.values())) <= 300


@pytest.mark.parametrize(
    "body", ["", "no JSON", "[]", "{}", '{"choices": []}', '{"choices": [{"message": {}}]}']
)
def test_an_answer_that_is_none_costs_no_more_than_its_batch(
    server: Any, describing: Any, body: str
) -> None:
    server.script = [status(200, body), status(200, body), describing]
    run = Run(server.url).describe(PACKAGES)
    assert run.names == ["p4"] and run.stopped == ""


def test_a_run_keeps_within_its_budget_and_the_next_one_resumes(
    server: Any, conn: psycopg.Connection[Any], client: Any, catalogue: Any
) -> None:
    lock = LockFiles({"requirements.txt": "".join(f"p{n}==1\n" for n in range(5))})
    budget = Run(server.url, token_budget=350).describer
    done = sync_project(conn, "app", lock, embedder=client, describer=budget)
    # One request may cost up to 120 tokens for its answer and some for its question.
    assert 0 < budget.spent <= 350
    assert 0 < done.filled.described < 5
    assert done.filled.waiting == 5 - done.filled.described
    assert "of 350 tokens are used" in done.filled.stopped
    assert {model for _, model in catalogue(conn).values()} == {client.model_name}
    asked = len(server.requests)
    knows = Run(server.url).describer
    filled = sync_project(conn, "app", lock, embedder=client, describer=knows).filled
    assert filled.described == 5 - done.filled.described
    assert (filled.waiting, filled.stopped) == (0, "")
    assert len(server.requests) - asked == 1
    assert all(text == f"What {name} does" for name, (text, _) in catalogue(conn).items())


def test_a_budget_counts_what_a_silent_server_does_not(server: Any, completion: Any) -> None:
    server.script = [lambda request: completion("x" * 300, tokens=None)]
    run = Run(server.url).describe(PACKAGES[:2])
    assert run.describer.spent > 100


def test_installed_packages_describe_themselves() -> None:
    asked = [Package("python", "pydantic-settings", "0"), Package("python", "not-here", "0")]
    [found] = InstalledDescriber().describe(asked)
    assert set(found) == {asked[0]} and "\n" not in found[asked[0]]
    assert list(InstalledDescriber().describe([Package("ruby", "pydantic")])) == []
