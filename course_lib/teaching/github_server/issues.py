"""Issues, pull requests and comments: a JSON Lines file goes in, GitHub's lists come out, paged.

As on GitHub, the list of issues holds the pull requests too, a page has 30 entries and at most 100,
and the address of the next one is in the header `Link` and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

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


def list_issues(repository: Repository, request: Request) -> Response:
    """Answer ``GET /repos/{owner}/{name}/issues``."""
    query = request.query_params
    state = query.get("state", "open")
    found = [_issue(repository, one) for one in _all(repository) if state in {"all", one["state"]}]
    key = "updated_at" if query.get("sort") == "updated" else "created_at"
    found.sort(
        key=lambda issue: (issue[key], issue["number"]),
        reverse=query.get("direction", "desc") == "desc",
    )
    return _page(repository, request, "issues", _since(found, query))


def list_comments(repository: Repository, request: Request) -> Response:
    """Answer ``GET /repos/{owner}/{name}/issues/comments``, or those of one issue by its number."""
    number = request.path_params.get("issue")
    issues = [one for one in _all(repository) if number in {None, one["number"]}]
    if number and not issues:
        raise HTTPException(404, "Not Found")
    comments = [_comment(repository, issue, one) for issue in issues for one in _of(issue)]
    place = f"issues/{number}/comments" if number else "issues/comments"
    return _page(repository, request, place, _since(comments, request.query_params))


def _all(repository: Repository) -> list[dict[str, Any]]:
    if repository.issues is None:
        raise HTTPException(410, "Issues are disabled for this repo")
    return repository.issues


def _since(found: list[dict[str, Any]], query: Mapping[str, str]) -> list[dict[str, Any]]:
    return [one for one in found if str(one["updated_at"]) >= query.get("since", "")]


def _page(repository: Repository, request: Request, place: str, found: Sequence[Any]) -> Response:
    try:
        per_page = min(max(int(request.query_params.get("per_page", PER_PAGE)), 1), MOST_PER_PAGE)
        page = max(int(request.query_params.get("page", 1)), 1)
    except ValueError:
        raise HTTPException(422, "Invalid request") from None
    pages = max(-(-len(found) // per_page), 1)
    targets = {"prev": page - 1, "first": 1} if page > 1 else {}
    targets |= {"next": page + 1, "last": pages} if page < pages else {}
    # GitHub's links name the repository by its number: nobody can guess them.
    base = request.url.replace(path=f"/repositories/{repository.number}/{place}")
    links = [
        f'<{base.include_query_params(page=number)}>; rel="{name}"'
        for name, number in targets.items()
    ]
    start = (page - 1) * per_page
    headers = {"Link": ", ".join(links)} if links else {}
    return JSONResponse(found[start : start + per_page], headers=headers)


def _of(issue: dict[str, Any]) -> list[dict[str, Any]]:
    return list(issue.get("comments", ()))


def _issue(repository: Repository, issue: dict[str, Any]) -> dict[str, Any]:
    is_pull = bool(issue.get("pull_request"))
    number = issue["number"]
    url = f"{repository.web}/{repository.name}/{'pull' if is_pull else 'issues'}/{number}"
    return {
        **{key: issue[key] for key in ("number", "title", "body", "state")},
        **_said(issue),
        "labels": [{"name": label} for label in issue["labels"]],
        "comments": len(_of(issue)),
        "html_url": url,
        **({"pull_request": {"html_url": url}} if is_pull else {}),
    }


def _comment(
    repository: Repository, issue: dict[str, Any], comment: dict[str, Any]
) -> dict[str, Any]:
    page = _issue(repository, issue)["html_url"]
    return {
        "id": comment["id"],
        "body": comment["body"],
        **_said(comment),
        "html_url": f"{page}#issuecomment-{comment['id']}",
        "issue_url": f"https://api.example/repos/{repository.name}/issues/{issue['number']}",
    }


def _said(one: dict[str, Any]) -> dict[str, Any]:
    """Return who said it and when."""
    user = {"login": one["user"]} if one["user"] else None
    return {"user": user, "created_at": one["created_at"], "updated_at": one["updated_at"]}
