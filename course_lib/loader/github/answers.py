"""Answers: what came back, whether it is whole, and which error a status stands for.

A status says whether to wait (see `github.waiting`), whether all is well, or what a person can do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from course_lib.loader.github.addresses import shown
from course_lib.loader.github.errors import (
    AccessError,
    AnswerError,
    BlockedError,
    EmptyRepositoryError,
    GitHubError,
    GoneError,
    NotFoundError,
)

JSON = "application/vnd.github+json"
RAW = "application/vnd.github.raw+json"


@dataclass(frozen=True)
class Answer:
    """What came back, whole."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @cached_property
    def message(self) -> str:
        """What an error says in its JSON; nothing where it has none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return ""
        message = value.get("message") if isinstance(value, dict) else None
        return "".join(c for c in str(message or "") if c.isprintable())[:300]


def why_incomplete(answer: Answer, accept: str) -> str:
    """Return why an answer that should be JSON is not whole; nothing where it is.

    Raises
    ------
    AnswerError
        If it is a page for people, which another attempt would not change.
    """
    if answer.status != 200 or accept != JSON:
        return ""
    kind = answer.headers.get("content-type", "")
    if "html" in kind:
        raise AnswerError(
            f"{shown(answer.url)} answered with a page in HTML, not with data",
            hint="Check GITHUB_API_URL; a network that asks you to sign in answers like this, too.",
        )
    try:
        json.loads(answer.body)
    except ValueError as error:
        return f"the JSON is not whole: {error}"
    return ""


def checked(answer: Answer) -> Answer:
    """Return a good answer; turn another one into the error it stands for."""
    if answer.status in {200, 304}:
        return answer
    says = f": {answer.message}" if answer.message else ""
    where = shown(answer.url)
    if answer.status == 401:
        raise AccessError(
            f"GitHub does not accept the token (401){says}",
            hint="It may have expired. Make a new one, or unset GITHUB_TOKEN for public content.",
        )
    if answer.status == 403:
        needs = answer.headers.get("x-accepted-github-permissions", "")
        raise AccessError(
            f"access to {where} is denied (403){says}",
            hint=f"The token's rights do not suffice{f'; it needs {needs}' if needs else ''}. An "
            "organisation may ask for single sign-on as well.",
        )
    if answer.status in {404, 422}:
        raise NotFoundError(
            f"{where} is not there ({answer.status}){says}",
            hint="Check the name. A private repository looks like this to who has no token for it.",
        )
    if answer.status == 409:
        raise EmptyRepositoryError(
            f"the repository has no commit yet (409){says}", hint="There is nothing to download."
        )
    if answer.status == 410:
        raise GoneError(
            f"{where} is switched off (410){says}", hint="There is nothing to download."
        )
    if answer.status == 451:
        raise BlockedError(
            f"GitHub may not show {where}, for legal reasons (451){says}",
            hint="Nothing can be done from here.",
        )
    raise GitHubError(f"{where} answered {answer.status}{says}", hint="Look at githubstatus.com.")
