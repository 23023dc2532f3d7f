"""One request to GitHub, over HTTP: what is tried again, what is not, and where the token goes."""

import gzip
import json
import logging
import math
import tracemalloc
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from starlette.responses import Response

from course_lib.errors import InputError
from course_lib.loader.github import client as client_module
from course_lib.loader.github.answers import RAW
from course_lib.loader.github.client import GitHubClient
from course_lib.loader.github.errors import (
    AnswerError,
    GitHubError,
    NotFoundError,
    UnreachableError,
)
from course_lib.loader.github.waiting import Wait
from course_lib.teaching.github_server import GitHubServer, Repository, faults

TOKEN = "ghp_0123456789secret"
COMMIT = "repos/heron/platform/commits/main"


@pytest.fixture
def repository(github: GitHubServer) -> Repository:
    repository = Repository("heron/platform")
    repository.commit({"a.md": b"# A\n"})
    github.add(repository)
    return repository


@pytest.fixture
def waits() -> list[Wait]:
    return []


@pytest.fixture
def client(
    github: GitHubServer,
    repository: Repository,
    waits: list[Wait],
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[GitHubClient]:
    def note(wait: Wait, left: float) -> None:
        if not left:
            waits.append(wait)

    monkeypatch.setattr(client_module, "Countdown", lambda: note)
    with closing(GitHubClient(github.url, TOKEN, max_wait=1_000)) as client:
        yield client


def test_a_server_that_is_not_there_is_an_error_after_some_attempts(
    client: GitHubClient, github: GitHubServer
) -> None:
    github.stop()
    with pytest.raises(UnreachableError, match="in 5 attempts: ConnectError"):
        client.json(COMMIT)


def test_a_secondary_limit_that_does_not_end_is_an_error(
    client: GitHubClient, github: GitHubServer, waits: list[Wait]
) -> None:
    github.refuse(times=100, retry_after=None)
    with pytest.raises(UnreachableError, match="in 5 attempts: too many requests at once"):
        client.json(COMMIT)
    assert len(github.seen) == 5
    assert [wait.seconds for wait in waits] == [60, 120, 240, 480]


def test_a_page_in_html_is_no_answer(client: GitHubClient, github: GitHubServer) -> None:
    github.fail("commits", faults.html_page())
    with pytest.raises(AnswerError, match="answered with a page in HTML") as caught:
        client.json(COMMIT)
    assert "sign in" in caught.value.hint
    assert len(github.seen) == 1


def test_a_redirect_that_comes_back_takes_the_token_up_again(
    client: GitHubClient, github: GitHubServer
) -> None:
    github.fail("contents", faults.redirect(f"{github.raw_url}/elsewhere"))
    github.fail("raw/elsewhere", faults.redirect(f"{github.url}/{COMMIT}"))
    client.get("repos/heron/platform/contents/a.md", accept=RAW)
    assert [(one.host, one.has_token) for one in github.seen] == [
        ("api", True),
        ("raw", False),
        ("api", True),
    ]


def test_an_answer_without_end_is_not_read_to_its_end(
    client: GitHubClient, repository: Repository
) -> None:
    repository.commit({"a.md": b"x" * 100_000})
    with pytest.raises(AnswerError, match="longer than 1,000 bytes"):
        client.get("repos/heron/platform/contents/a.md", accept=RAW, most_bytes=1000)


def packed(times: int, plain: int = 50_000_000) -> faults.Fault:
    """Answer with a body that was packed so often and is longer each time it is unpacked."""

    def pack(answer: Response) -> Response:
        body = b"[" + b" " * plain + b"]"
        for _ in range(times):
            body = gzip.compress(body)
        told = ", ".join(["gzip"] * times)
        return faults.changed(answer, body, headers={"Content-Encoding": told})

    return pack


def test_an_answer_may_be_packed_once(client: GitHubClient, github: GitHubServer) -> None:
    github.fail("commits", packed(1, plain=100))
    assert client.json(COMMIT) == []


@pytest.mark.parametrize("times", [1, 2])
def test_an_answer_that_unpacks_to_too_much_is_none(
    client: GitHubClient, github: GitHubServer, times: int
) -> None:
    github.fail("commits", packed(times))
    tracemalloc.start()
    with pytest.raises(AnswerError, match="longer than 40,000,000 bytes|which was not asked for"):
        client.json(COMMIT)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300_000_000
    assert len(github.seen) == 1


def test_a_packed_body_that_is_cut_off_is_tried_again(
    client: GitHubClient, github: GitHubServer
) -> None:
    def cut(answer: Response) -> Response:
        body = gzip.compress(answer.body)[:-12]
        return faults.changed(answer, body, headers={"Content-Encoding": "gzip"})

    github.fail("commits", cut)
    assert client.json(COMMIT)["sha"]
    assert len(github.seen) == 2


def test_lists_inside_lists_without_end_are_an_error_that_says_so(
    client: GitHubClient, github: GitHubServer
) -> None:
    github.fail("commits", lambda answer: faults.changed(answer, b"[" * 200_000))
    with pytest.raises(AnswerError, match="lists inside lists"):
        client.json(COMMIT)
    assert len(github.seen) == 1


def test_pages_without_end_end(
    client: GitHubClient, github: GitHubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter(range(2, 100))

    def link(answer: Response) -> Response:
        place = f"{github.url}/repos/heron/platform/issues?page={next(numbers)}"
        return faults.changed(answer, headers={"Link": f'<{place}>; rel="next"'})

    github.fail("issues", link, times=math.inf)
    monkeypatch.setattr(client_module, "MOST_PAGES", 20)
    with pytest.raises(AnswerError, match="has more than 20 pages"):
        list(client.pages("repos/heron/platform/issues"))
    assert len(github.seen) == 20


def test_a_next_page_on_another_host_does_not_get_the_token(
    client: GitHubClient, github: GitHubServer
) -> None:
    def elsewhere(answer: Response) -> Response:
        link = f'<{github.raw_url}/issues?page=2>; rel="next"'
        return faults.changed(answer, headers={"Link": link})

    github.fail("api/repos/heron/platform/issues", elsewhere)
    with pytest.raises(NotFoundError):
        list(client.pages("repos/heron/platform/issues"))
    assert [one.has_token for one in github.seen] == [True, False]


def test_a_page_that_is_no_list_is_an_error(client: GitHubClient) -> None:
    with pytest.raises(AnswerError, match="gave no list"):
        list(client.pages(COMMIT))


def test_the_token_is_in_no_log_no_error_and_no_representation(
    client: GitHubClient, github: GitHubServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client.json(COMMIT)
    shown = [repr(client), str(vars(client)["base"])]
    for status in (401, 403, 404, 500):
        github.fail("commits", faults.status(status), times=math.inf)
        with pytest.raises(GitHubError) as caught:
            client.json(COMMIT)
        github.heal()
        error: BaseException | None = caught.value
        while error is not None:
            shown += [repr(error), str(error), repr(vars(error))]
            error = error.__cause__ or error.__context__
    assert len(caplog.records) > 10
    shown += [record.getMessage() + str(vars(record)) for record in caplog.records]
    shown.append(json.dumps([repr(one) for one in github.seen]))
    assert not [text for text in shown if TOKEN in text]


def test_a_304_that_nobody_asked_for_is_no_answer(
    client: GitHubClient, github: GitHubServer
) -> None:
    github.fail("commits", lambda answer: faults.changed(answer, b"", status=304))
    with pytest.raises(GitHubError, match="304"):
        client.get(COMMIT)


def test_an_answer_that_comes_byte_by_byte_ends(
    client: GitHubClient, github: GitHubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("course_lib.loader.github.answers.PATIENCE_SECONDS", 0)
    monkeypatch.setattr("course_lib.loader.github.answers.SLOWEST_BYTES_A_SECOND", math.inf)
    with pytest.raises(UnreachableError, match="comes too slowly"):
        client.get(COMMIT)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("HTTPS_PROXY", "http://ada:hunter2/x", "the address of a proxy cannot be used"),
        ("ALL_PROXY", "ftp://ada:hunter2@proxy", "the address of a proxy cannot be used"),
        ("SSL_CERT_FILE", "/nowhere/hunter2.pem", "the certificates cannot be read"),
        ("GITHUB_API_URL", "https://ada:hunter2/api", "GITHUB_API_URL is not an address"),
    ],
)
def test_what_the_environment_says_wrongly_is_told_without_passwords(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=says) as caught:
        client_module.open_client().close()
    shown = f"{caught.value} {caught.value.hint}"
    assert name in shown and ("hunter2" not in shown or name == "SSL_CERT_FILE")
