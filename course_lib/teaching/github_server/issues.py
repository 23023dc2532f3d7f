"""Issues, pull requests and comments: a JSON Lines file goes in, GitHub's lists come out, paged.

As on GitHub, the list of issues holds the pull requests too, a page has 30 entries and at most 100,
and where the next one is stands in the header `Link` and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from course_lib.teaching.github_server.answers import Answer, Request, json_answer, refusal
from course_lib.teaching.github_server.git import Repository

PER_PAGE, MOST_PER_PAGE = 30, 100


def read_issues(path: Path) -> list[dict[str, Any]]:
    """Return the issues of a JSON Lines file, by number.

    A line has `number`, `title`, `body` (text or null), `state`, `user`, `labels` (names),
    `created_at`, `updated_at`, `comments` (each with `id`, `user`, `body`, `created_at`,
    `updated_at`), and `pull_request: true` where it is one.
    """
    with path.open(encoding="utf-8") as file:
        found = [json.loads(line) for line in file if line.strip()]
    return sorted(found, key=lambda issue: int(issue["number"]))


def issues_answer(repository: Repository, request: Request, rest: Sequence[str]) -> Answer:
    """Answer what is asked below ``/repos/{owner}/{name}/issues``.

    `rest` is the path behind it: nothing, ``comments``, a number, or a number and ``comments``.
    """
    if repository.issues is None:
        return refusal(410, "Issues are disabled for this repo")
    issues = repository.issues
    if not rest:
        return _paged(repository, request, _listed(repository, issues, request.query))
    if list(rest) == ["comments"]:
        comments = [
            _comment(repository, issue, comment) for issue in issues for comment in _all(issue)
        ]
        key = "updated_at" if request.query.get("sort") == "updated" else "id"
        comments.sort(
            key=lambda one: one[key], reverse=request.query.get("direction", "asc") == "desc"
        )
        return _paged(repository, request, _since(comments, request.query))
    issue = next((one for one in issues if str(one["number"]) == rest[0]), None)
    if issue is None or len(rest) > 2 or rest[1:] not in ([], ["comments"]):
        return refusal(404, "Not Found")
    if len(rest) == 1:
        return json_answer(_issue(repository, issue))
    comments = [_comment(repository, issue, comment) for comment in _all(issue)]
    return _paged(repository, request, _since(comments, request.query))


def _listed(
    repository: Repository, issues: Sequence[dict[str, Any]], query: Mapping[str, str]
) -> list[dict[str, Any]]:
    state = query.get("state", "open")
    key = {"updated": "updated_at"}.get(query.get("sort", ""), "created_at")
    found = [_issue(repository, issue) for issue in issues if state in {"all", issue["state"]}]
    found.sort(
        key=lambda issue: (issue[key], issue["number"]),
        reverse=query.get("direction", "desc") == "desc",
    )
    return _since(found, query)


def _since(found: list[dict[str, Any]], query: Mapping[str, str]) -> list[dict[str, Any]]:
    since = query.get("since", "")
    return [one for one in found if str(one["updated_at"]) >= since]


def _paged(repository: Repository, request: Request, found: Sequence[Any]) -> Answer:
    try:
        per_page = min(max(int(request.query.get("per_page", PER_PAGE)), 1), MOST_PER_PAGE)
        page = max(int(request.query.get("page", 1)), 1)
    except ValueError:
        return refusal(422, "Invalid request")
    pages = max(-(-len(found) // per_page), 1)
    targets = {"prev": page - 1, "next": page + 1, "last": pages, "first": 1}
    if page == 1:
        del targets["prev"], targets["first"]
    if page >= pages:
        del targets["next"], targets["last"]
    # GitHub's links name the repository by its number: nobody can guess them.
    behind = request.path.split("/", 4 if request.path.startswith("/repos/") else 3)[-1]
    base = f"{request.origin}/repositories/{repository.number}/{behind}"
    links = ", ".join(
        f'<{base}?{urlencode({**request.query, "page": number})}>; rel="{name}"'
        for name, number in targets.items()
    )
    start = (page - 1) * per_page
    return json_answer(
        list(found[start : start + per_page]), headers={"Link": links} if links else None
    )


def _all(issue: dict[str, Any]) -> list[dict[str, Any]]:
    return list(issue.get("comments", ()))


def _issue(repository: Repository, issue: dict[str, Any]) -> dict[str, Any]:
    is_pull = bool(issue.get("pull_request"))
    number = issue["number"]
    url = f"{repository.web}/{repository.name}/{'pull' if is_pull else 'issues'}/{number}"
    found = {
        "id": repository.number * 1000 + number,
        "number": number,
        "title": issue["title"],
        "body": issue["body"],
        "state": issue["state"],
        "user": {"login": issue["user"]} if issue["user"] else None,
        "labels": [{"name": label} for label in issue["labels"]],
        "comments": len(_all(issue)),
        "created_at": issue["created_at"],
        "updated_at": issue["updated_at"],
        "html_url": url,
    }
    return found | ({"pull_request": {"html_url": url}} if is_pull else {})


def _comment(
    repository: Repository, issue: dict[str, Any], comment: dict[str, Any]
) -> dict[str, Any]:
    page = _issue(repository, issue)["html_url"]
    return {
        "id": comment["id"],
        "user": {"login": comment["user"]} if comment["user"] else None,
        "body": comment["body"],
        "created_at": comment["created_at"],
        "updated_at": comment["updated_at"],
        "html_url": f"{page}#issuecomment-{comment['id']}",
        "issue_url": f"https://api.example/repos/{repository.name}/issues/{issue['number']}",
    }
