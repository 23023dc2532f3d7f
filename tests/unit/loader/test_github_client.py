"""One request to GitHub, over HTTP: what is tried again, what is not, and where the token goes."""

import gzip
import json
import logging
import math
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from starlette.responses import Response

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
from course_lib.teaching.github_server import Repository
from tests import github_faults as faults
from tests.github_faults import FaultyGitHub

TOKEN = "ghp_0123456789secret"
COMMIT = "repos/heron/platform/commits/main"


@pytest.fixture
def repository(github: FaultyGitHub) -> Repository:
    repository = Repository("heron/platform")
    repository.commit({"a.md": b"# A\n"})
    github.add(repository)
    return repository


@pytest.fixture
def waits() -> list[Wait]:
    return []


@pytest.fixture
def client(
    github: FaultyGitHub,
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
    client: GitHubClient, github: FaultyGitHub
) -> None:
    github.stop()
    with pytest.raises(UnreachableError, match="in 5 attempts: ConnectError"):
        client.json(COMMIT)


def test_a_secondary_limit_that_does_not_end_is_an_error(
    client: GitHubClient, github: FaultyGitHub, waits: list[Wait]
) -> None:
    github.refuse(times=100, retry_after=None)
    with pytest.raises(UnreachableError, match="in 5 attempts: too many requests at once"):
        client.json(COMMIT)
    assert len(github.seen) == 5
    assert [wait.seconds for wait in waits] == [60, 120, 240, 480]


def test_a_page_in_html_is_no_answer(client: GitHubClient, github: FaultyGitHub) -> None:
    github.fail("commits", faults.html_page())
    with pytest.raises(AnswerError, match="answered with a page in HTML") as caught:
        client.json(COMMIT)
    assert "sign in" in caught.value.hint
    assert len(github.seen) == 1


def test_a_redirect_that_comes_back_takes_the_token_up_again(
    client: GitHubClient, github: FaultyGitHub
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


def test_a_packed_body_that_is_cut_off_is_tried_again(
    client: GitHubClient, github: FaultyGitHub
) -> None:
    def cut(answer: Response) -> Response:
        body = gzip.compress(answer.body)[:-12]
        return faults.changed(answer, body, headers={"Content-Encoding": "gzip"})

    github.fail("commits", cut)
    assert client.json(COMMIT)["sha"]
    assert len(github.seen) == 2


def test_a_next_page_on_another_host_does_not_get_the_token(
    client: GitHubClient, github: FaultyGitHub
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
    client: GitHubClient, github: FaultyGitHub, caplog: pytest.LogCaptureFixture
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
    client: GitHubClient, github: FaultyGitHub
) -> None:
    github.fail("commits", lambda answer: faults.changed(answer, b"", status=304))
    with pytest.raises(GitHubError, match="304"):
        client.get(COMMIT)
