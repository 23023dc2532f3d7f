"""What comes from GitHub: a repository goes in, the files of one commit or its issues come out.

`client` asks, `waiting` says how long to wait, `answers` reads what comes, and `errors` names what
went wrong. `files` asks for commits, trees and single files, and `archive` for many files at once.
`tree` knows what a tree lists and which of it is wanted, `names` which names can be trusted, and
`folder` what is on this machine. `sync` brings a folder up to date; `download` and `issues` are
what others call.
"""

from course_lib.loader.github.download import (
    Download,
    DownloadOptions,
    Selection,
    cite,
    download_github_code,
)
from course_lib.loader.github.issues import download_github_issues

__all__ = [
    "Download",
    "DownloadOptions",
    "Selection",
    "cite",
    "download_github_code",
    "download_github_issues",
]
