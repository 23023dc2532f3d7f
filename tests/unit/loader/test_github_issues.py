"""Issues: all of them, with all comments, without pull requests; and as records to search."""

import json
import math
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from course_lib.loader import check_record
from course_lib.loader.github.errors import AnswerError, NotFoundError
from course_lib.loader.github.issue_records import issue_document, parse_issue
from course_lib.loader.github.issues import (
    Comment,
    DownloadOptions,
    Issue,
    IssueDownload,
    download_github_issues,
    iso_time,
)
from course_lib.records import Scope
from course_lib.teaching.github_server import Repository
from tests import github_faults as faults
from tests.github_faults import FaultyGitHub


def made(number: int, comments: int = 0, **changes: Any) -> dict[str, Any]:
    day = f"2026-{1 + number // 28:02}-{1 + number % 28:02}"
    return {
        "number": number,
        "title": f"Title {number}",
        "body": f"Body {number}",
        "state": "open" if number % 2 else "closed",
        "user": "ines",
        "labels": ["bug"],
        "created_at": f"{day}T09:00:00Z",
        "updated_at": f"{day}T10:00:00Z",
        "comments": [
            {
                "id": number * 1000 + place,
                "user": "tomas",
                "body": f"Comment {place} on {number}",
                "created_at": f"{day}T{10 + place % 10:02}:00:00Z",
                "updated_at": f"{day}T{10 + place % 10:02}:00:00Z",
            }
            for place in range(comments)
        ],
    } | changes


@pytest.fixture
def repository(github: FaultyGitHub, clock: object) -> Repository:
    repository = Repository("heron/platform")
    github.add(repository)
    return repository


def download(since: Any = None, **options: Any) -> IssueDownload:
    return download_github_issues(
        "heron/platform", since, DownloadOptions(**{"max_wait": 5, **options})
    )


def test_there_is_no_page_that_is_not_read(github: FaultyGitHub, repository: Repository) -> None:
    repository.issues = [made(number, comments=2) for number in range(1, 251)]
    found = download().issues
    assert [issue.number for issue in found] == list(range(1, 251))
    assert all(len(issue.comments) == 2 for issue in found)
    assert github.count() == 3 + 5


def test_an_issue_with_over_a_hundred_comments_has_them_all(
    github: FaultyGitHub, repository: Repository
) -> None:
    repository.issues = [made(1, comments=230)]
    assert len(download("2026-01-01").issues[0].comments) == 230
    assert github.count("/issues/1/comments") == 3


def test_an_issue_that_changes_while_we_read_is_not_lost(
    github: FaultyGitHub, repository: Repository
) -> None:
    issues = [made(number) for number in range(1, 151)]
    repository.issues = issues

    def touch(answer: Any) -> Any:
        issues[3]["updated_at"] = "2026-12-31T00:00:00Z"
        return answer

    github.fail("issues", touch)
    assert len(download().issues) == 150


def test_comments_that_do_not_add_up_are_asked_for_again(
    github: FaultyGitHub, repository: Repository
) -> None:
    repository.issues = [made(1, comments=2), made(2, comments=1)]

    def late(answer: Any) -> Any:
        repository.issues[0]["comments"].pop()  # type: ignore[index]
        return answer

    # The list of issues says two; when the comments are listed, there is one.
    github.fail(r"issues\?", late)
    assert [len(issue.comments) for issue in download().issues] == [1, 1]
    assert github.count("/issues/1/comments") == 1


@pytest.mark.parametrize("number", [-1, 2**63, 10**4_000, "7", None])
def test_an_issue_with_a_number_that_is_none_is_an_error(
    github: FaultyGitHub, repository: Repository, number: object
) -> None:
    repository.issues = [made(1)]

    def lie(answer: Any) -> Any:
        body = json.dumps([json.loads(answer.body)[0] | {"number": number}]).encode()
        return faults.changed(answer, body)

    github.fail("issues", lie)
    with pytest.raises(AnswerError, match="has no number"):
        download()


def test_what_has_no_author_and_no_body_comes_too(repository: Repository) -> None:
    gone = made(1, comments=1, user=None, body=None)
    gone["comments"][0] |= {"user": None, "body": "a\r\nb\0"}
    repository.issues = [gone]
    issue = download().issues[0]
    assert (issue.author, issue.body, issue.comments[0].author) == ("", "", "")
    assert issue.comments[0].body == "a\nb"


def test_an_address_that_is_none_is_not_cited(github: FaultyGitHub, repository: Repository) -> None:
    repository.web = "javascript:alert(1)//"
    repository.issues = [made(1, comments=1)]
    issue = download().issues[0]
    assert (issue.url, issue.comments[0].url) == ("", "")
    assert "citationUrl" not in parse_issue(issue_document(issue))[0].custom_meta


@pytest.mark.parametrize(
    ("when", "said"),
    [
        (None, None),
        (date(2026, 3, 1), "2026-03-01T00:00:00Z"),
        (datetime(2026, 3, 1, 9, tzinfo=timezone(timedelta(hours=2))), "2026-03-01T07:00:00Z"),
    ],
)
def test_a_time_is_said_as_github_takes_it(when: Any, said: str | None) -> None:
    assert iso_time(when) == said


# --- as documents and records ---

ISSUE = Issue(
    7,
    "Pods are killed",
    "They use too much memory.\n\n# Not a title of ours",
    "open",
    ("bug", "serving"),
    "ines",
    "2026-06-09T17:48:00Z",
    "2026-06-18T08:20:00Z",
    "https://github.example/heron/platform/issues/7",
    (
        Comment(1, "tomas", "2026-06-09T18:30:00Z", "", "It is the model.", "https://x.example/1"),
        Comment(2, "", "2026-06-10T07:15:00Z", "", "word " * 300, ""),
    ),
)


def test_a_record_holds_one_part_and_says_which() -> None:
    document = issue_document(ISSUE)
    chunks = parse_issue(document, chunk_size=200, chunk_overlap=20, scope=Scope(tenant="acme"))
    assert [chunk for chunk in chunks if check_record(chunk.to_json()) != chunk] == []
    kinds = [chunk.kind for chunk in chunks]
    assert kinds[:2] == ["issue", "issue-comment"] and len(kinds) > 5
    assert {chunk.name for chunk in chunks} == {"#7 Pods are killed"}
    assert [chunk.custom_meta["chunkIndex"] for chunk in chunks] == list(range(len(chunks)))
    first, second, third = chunks[:3]
    assert first.embedded_text.startswith("# Pods are killed\n")
    assert second.embedded_text.startswith("Issue #7: Pods are killed\n## tomas on 2026-06-09")
    assert second.custom_meta["citationUrl"] == "https://x.example/1"
    assert second.custom_meta["author"] == "tomas"
    assert "citationUrl" not in third.custom_meta
    assert third.content.startswith("## somebody on 2026-06-10")
    lines = document.content.split("\n")
    for chunk in chunks:
        start, end = (int(str(chunk.custom_meta[key])) for key in ("charStart", "charEnd"))
        assert document.content[start:end] == chunk.content
        covered = lines[(chunk.line_start or 0) - 1 : chunk.line_end]
        assert chunk.content.strip("\n").split("\n")[0] in "\n".join(covered)
        assert chunk.custom_meta["number"] == 7
        assert chunk.custom_meta["labels"] == ["bug", "serving"]


def test_a_server_that_fails_for_good_is_an_error_and_no_short_list(
    github: FaultyGitHub, repository: Repository
) -> None:
    repository.issues = [made(number) for number in range(1, 151)]
    github.fail("issues", faults.status(500), times=math.inf, after=1)
    with pytest.raises(Exception, match="answered 500"):
        download()


def test_a_repository_that_is_not_there_is_no_repository_without_issues(
    repository: Repository,
) -> None:
    with pytest.raises(NotFoundError, match="there is no repository heron/nothing"):
        download_github_issues("heron/nothing", options=DownloadOptions(max_wait=5))
