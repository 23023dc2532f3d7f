"""What may go wrong between us and GitHub, told apart by what a person can do about it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from course_lib.errors import CourseError
from course_lib.records import Skipped


class GitHubError(CourseError):
    """GitHub could not be asked, or did not give what was asked for."""


class RateLimitError(GitHubError):
    """GitHub lets us wait for longer than we may.

    Attributes
    ----------
    retry_at
        From when on GitHub answers again, in the local time zone.
    """

    def __init__(self, message: str, *, retry_at: datetime, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_at = retry_at


class AccessError(GitHubError):
    """The token is refused (401), or its rights do not suffice (403)."""


class NotFoundError(GitHubError):
    """There is no such repository, ref, path or issue, or it may not be known to us."""


class EmptyRepositoryError(GitHubError):
    """The repository has no commit yet (409)."""


class BlockedError(GitHubError):
    """GitHub may not show the repository (451)."""


class GoneError(GitHubError):
    """The repository has what was asked for switched off (410), such as its issues."""


class UnreachableError(GitHubError):
    """Nobody answers, or only with faults of the server, after several attempts."""


class AnswerError(GitHubError):
    """What came is no answer of GitHub's: a page in HTML, JSON of another form, a redirect loop."""


class IncompleteDownloadError(GitHubError):
    """Some files could not be had.

    Attributes
    ----------
    failed
        Which, and why.
    """

    def __init__(self, message: str, *, failed: Sequence[Skipped], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.failed = tuple(failed)
