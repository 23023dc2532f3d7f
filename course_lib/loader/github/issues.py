"""Issues from GitHub: a repository goes in, its issues come out, each with all its comments.

The endpoint that lists issues lists pull requests as well; those are left out. Pages are followed
in the order of creation, which no edit changes while we read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Annotated, Any

from pydantic import AliasPath, BeforeValidator, Field, TypeAdapter, ValidationError

from course_lib.addresses import is_link
from course_lib.errors import InputError
from course_lib.loader.github.client import GitHubClient
from course_lib.loader.github.download import DownloadOptions
from course_lib.loader.github.errors import AnswerError, GoneError, NotFoundError
from course_lib.loader.github.names import check_repository
from course_lib.records import explain, without_surrogates

_PER_PAGE = {"per_page": "100"}


def _readable(text: object) -> str:
    """Return a text with plain line ends, without what a database could not store."""
    if not isinstance(text, str):
        return ""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return without_surrogates(text)


def _address(text: object) -> str:
    url = _readable(text)
    return url if is_link(url) else ""


def _names(labels: object) -> tuple[str, ...]:
    given = labels if isinstance(labels, list) else []
    return tuple(_readable(one.get("name") if isinstance(one, dict) else one) for one in given)


Number = Annotated[int, Field(strict=True, ge=0, lt=2**63)]
Text = Annotated[str, BeforeValidator(_readable)]
OneLine = Annotated[str, BeforeValidator(lambda text: " ".join(_readable(text).split()))]
Author = Annotated[Text, Field(validation_alias=AliasPath("user", "login"))]
Address = Annotated[str, BeforeValidator(_address), Field(validation_alias="html_url")]
Labels = Annotated[tuple[str, ...], BeforeValidator(_names)]


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment on an issue; `author` is empty where the account is gone."""

    id: Number
    author: Author = ""
    created_at: Text = ""
    updated_at: Text = ""
    body: Text = ""
    url: Address = ""


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue with its comments, the oldest first.

    Attributes
    ----------
    number, title, body
        What it is about; the body may be empty.
    state
        ``open`` or ``closed``.
    labels, author
        As they are now; the author is empty where the account is gone.
    created_at, updated_at
        ISO 8601, as GitHub gives them.
    url
        Its page.
    """

    number: Number
    title: OneLine = ""
    body: Text = ""
    state: Text = ""
    labels: Labels = ()
    author: Author = ""
    created_at: Text = ""
    updated_at: Text = ""
    url: Address = ""
    comments: tuple[Comment, ...] = ()


_ISSUE = TypeAdapter(Issue)


@dataclass(frozen=True, slots=True)
class IssueDownload:
    """Issues of a repository.

    Attributes
    ----------
    repo
        Where they are from.
    issues
        By number.
    since
        Only those that changed at that time or later; None for all there are.
    """

    repo: str
    issues: tuple[Issue, ...]
    since: str | None = None


def download_github_issues(
    repo: str,
    since: str | date | None = None,
    options: DownloadOptions | None = None,
) -> IssueDownload:
    """Return the issues of a repository, open and closed, with their comments.

    Parameters
    ----------
    repo
        ``OWNER/NAME`` on the server in `GITHUB_API_URL`.
    since
        Only issues that changed at that time or later: a date, or a time in ISO 8601 (UTC unless
        it says otherwise). None gives all.
    options
        As in `download_github_code`.

    Returns
    -------
    IssueDownload

    Raises
    ------
    InputError
        If an argument cannot be used.
    GoneError
        If the repository has its issues switched off.
    NotFoundError
        If there is no such repository.
    GitHubError
        If GitHub refuses, cannot be reached, or lets us wait for too long.
    """
    options = options or DownloadOptions()
    check_repository(repo)
    from_when = iso_time(since)
    with closing(options.client()) as api:
        try:
            found = _issues(api, repo, from_when)
        except GoneError as error:
            raise GoneError(
                f"{repo} has its issues switched off",
                hint="There is nothing to download; leave --issues out.",
            ) from error
        except NotFoundError as error:
            raise NotFoundError(f"there is no repository {repo}", hint=error.hint) from None
        talked = [number for number, value in found.items() if _count(value)]
        options.say(f"{len(found)} issues of {repo}, {len(talked)} of them with comments")
        # One list of all comments costs a request for a hundred of them; but it cannot be asked
        # for the comments of the issues that changed since some day.
        known = _by_issue(api, repo) if talked and from_when is None else {}
        issues = []
        for number, value in sorted(found.items()):
            comments = known.get(number, [])
            if len(comments) != _count(value):
                place = f"repos/{repo}/issues/{number}/comments"
                comments = list(api.pages(place, _PER_PAGE))
            issues.append(_issue(value, comments))
    return IssueDownload(repo, tuple(issues), from_when)


def iso_time(when: str | date | None) -> str | None:
    """Return a time as GitHub takes it, in UTC.

    Raises
    ------
    InputError
        If it is not a time.

    Examples
    --------
    >>> iso_time("2026-03-01"), iso_time("2026-03-01T12:00:00+02:00")
    ('2026-03-01T00:00:00Z', '2026-03-01T10:00:00Z')
    """
    if when is None:
        return None
    try:
        text = when if isinstance(when, str) else when.isoformat()
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InputError(
            f"{when!r} is not a time",
            hint="Give a date such as 2026-03-01, or 2026-03-01T09:30:00Z.",
        ) from error
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _issues(api: GitHubClient, repo: str, since: str | None) -> dict[int, Mapping[str, Any]]:
    """Return number → issue as GitHub gives it, without pull requests."""
    query = _PER_PAGE | {"state": "all", "sort": "created", "direction": "asc"}
    listed = api.pages(f"repos/{repo}/issues", query | ({"since": since} if since else {}))
    return {
        _number(value, "number"): value
        for value in _mappings(listed)
        if "pull_request" not in value
    }


def _by_issue(api: GitHubClient, repo: str) -> dict[int, list[Any]]:
    """Return number → comments, of all issues and pull requests."""
    found: dict[int, dict[int, Any]] = {}
    query = _PER_PAGE | {"sort": "created", "direction": "asc"}
    for value in _mappings(api.pages(f"repos/{repo}/issues/comments", query)):
        number = str(value.get("issue_url", "")).rsplit("/", 1)[-1]
        if number.isdecimal() and len(number) < 20:
            # A page that shifts while we read gives a comment twice.
            found.setdefault(int(number), {})[_number(value, "id")] = value
    return {number: list(comments.values()) for number, comments in found.items()}


def _issue(value: Mapping[str, Any], comments: Iterable[Any]) -> Issue:
    try:
        issue = _ISSUE.validate_python({**value, "comments": list(comments)})
    except ValidationError as error:
        raise AnswerError(f"an issue has another form: {explain(error)}") from None
    ordered = sorted(issue.comments, key=lambda one: (one.created_at, one.id))
    return replace(issue, comments=tuple(ordered))


def _mappings(values: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for value in values:
        if not isinstance(value, Mapping):
            raise AnswerError("an entry of a list is not an object")
        yield value


def _number(value: Mapping[str, Any], name: str) -> int:
    found = value.get(name)
    if not isinstance(found, int) or not 0 <= found < 2**63:
        raise AnswerError(f"an entry of a list has no {name}")
    return found


def _count(value: Mapping[str, Any]) -> int:
    found = value.get("comments")
    return found if isinstance(found, int) else 0
