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

    def __init__(self, message: str, *, hint: str = "Check GITHUB_API_URL.") -> None:
        super().__init__(message, hint=hint)


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


_NAME = "Check the name. A private repository looks like this to who has no token for it."
_NOTHING = "There is nothing to download."
REFUSALS: dict[int, tuple[type[GitHubError], str, str]] = {
    401: (GitHubError, "GitHub does not accept the token",
          "It may have expired. Make a new one, or unset GITHUB_TOKEN for public content."),
    403: (GitHubError, "access to {where} is denied",
          "The token's rights do not suffice{rights}. An organisation may ask for single sign-on "
          "as well."),
    404: (NotFoundError, "{where} is not there", _NAME),
    409: (GitHubError, "the repository has no commit yet", _NOTHING),
    410: (GoneError, "{where} is switched off", _NOTHING),
    422: (NotFoundError, "{where} is not there", _NAME),
    451: (GitHubError, "GitHub may not show {where}, for legal reasons",
          "Nothing can be done from here."),
    0: (GitHubError, "{where} answered", "Look at githubstatus.com."),
}  # fmt: skip
"""Status → what it means, and what to do; 0 stands for all others."""


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
    kind, what, hint = REFUSALS.get(status) or REFUSALS[0]
    says = f" ({status})" if status in REFUSALS else f" {status}"
    says += f": {message}" if message else ""
    rights = f"; it needs {needs}" if needs else ""
    return kind(what.format(where=where) + says, hint=hint.format(rights=rights))
