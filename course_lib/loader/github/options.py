"""What is wanted of GitHub, and how: the two things that travel through every download."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from course_lib.loader.github.client import MAX_WAIT_SECONDS, GitHubClient, OnWait, open_client

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which files of which version of a repository.

    Attributes
    ----------
    repo
        ``OWNER/NAME`` on the server in `GITHUB_API_URL`.
    ref
        A branch, a tag or a commit; ``HEAD`` is the default branch.
    extensions
        How the names of the files end (``.yaml``), or whole names (``Dockerfile``).
    paths
        Folders or files; empty for the whole repository.
    """

    repo: str
    ref: str
    extensions: Sequence[str]
    paths: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadOptions:
    """How to ask GitHub, where files are kept, and who is told.

    Attributes
    ----------
    token
        Who asks; None takes `GITHUB_TOKEN`, and an empty one means none. It goes to the API and
        nowhere else.
    dest
        The folder for files; by default one for each repository and ref, below the course's own.
    max_wait
        Seconds that rate limits may cost in all.
    partial
        Whether files that cannot be had are listed as `failed` instead of being an error.
    on_wait
        Shows a wait; by default a countdown on stderr.
    progress
        Whether to show a bar on a terminal.
    say
        Called with a sentence about what is noteworthy.
    """

    token: str | None = field(default=None, repr=False)
    dest: str | os.PathLike[str] | None = None
    max_wait: float = MAX_WAIT_SECONDS
    partial: bool = False
    on_wait: OnWait | None = None
    progress: bool = False
    say: Say = lambda sentence: None

    def client(self) -> GitHubClient:
        """Return who asks the server in `GITHUB_API_URL`; close it afterwards."""
        return open_client(self.token, self.max_wait, self.on_wait)
