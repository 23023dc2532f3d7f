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


class NotFoundError(GitHubError):
    """There is no such repository, ref, path or issue, or it may not be known to us."""


class GoneError(GitHubError):
    """The repository has what was asked for switched off (410), such as its issues."""


class UnreachableError(GitHubError):
    """No server answers, or only with faults of the server, after several attempts."""


class AnswerError(GitHubError):
    """What came is not GitHub's answer: a page in HTML, JSON of another form, a redirect loop."""


class TooLongError(AnswerError):
    """What came has more bytes than were asked for."""


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


def error_of(status: int, where: str, message: str = "", needs: str = "") -> GitHubError:
    """Return the error that a status stands for.

    Parameters
    ----------
    status
        Of an answer that is neither good nor worth another attempt.
    where
        What was asked for.
    message
        What the answer says.
    needs
        The rights that it asks for.

    Examples
    --------
    >>> error_of(404, "api.github.com/repos/a/b", "Not Found")
    NotFoundError('api.github.com/repos/a/b is not there (404): Not Found')
    """
    says = f": {message}" if message else ""
    if status == 401:
        return GitHubError(
            f"GitHub does not accept the token (401){says}",
            hint="It may have expired. Make a new one, or unset GITHUB_TOKEN for public content.",
        )
    if status == 403:
        return GitHubError(
            f"access to {where} is denied (403){says}",
            hint=f"The token's rights do not suffice{f'; it needs {needs}' if needs else ''}. An "
            "organisation may ask for single sign-on as well.",
        )
    if status in {404, 422}:
        return NotFoundError(
            f"{where} is not there ({status}){says}",
            hint="Check the name. A private repository looks like this to who has no token for it.",
        )
    if status == 409:
        return GitHubError(
            f"the repository has no commit yet (409){says}", hint="There is nothing to download."
        )
    if status == 410:
        return GoneError(
            f"{where} is switched off (410){says}", hint="There is nothing to download."
        )
    if status == 451:
        return GitHubError(
            f"GitHub may not show {where}, for legal reasons (451){says}",
            hint="Nothing can be done from here.",
        )
    return GitHubError(f"{where} answered {status}{says}", hint="Look at githubstatus.com.")
