"""What comes from GitHub: a repository goes in, the files of one commit or its issues come out.

The names below are imported when they are asked for: `course_lib.loader` knows the two sources, and
must not pay for a client of HTTP that it may never need.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from course_lib.loader.github.download import Download, cite, download_github_code
    from course_lib.loader.github.issues import IssueDownload, download_github_issues
    from course_lib.loader.github.waiting import Patience

_PLACES = {
    "Download": "download",
    "IssueDownload": "issues",
    "Patience": "waiting",
    "cite": "download",
    "download_github_code": "download",
    "download_github_issues": "issues",
}

__all__ = [
    "Download",
    "IssueDownload",
    "Patience",
    "cite",
    "download_github_code",
    "download_github_issues",
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
