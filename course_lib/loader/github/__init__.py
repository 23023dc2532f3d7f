"""What comes from GitHub: a repository goes in, the files of one commit or its issues come out."""

from course_lib.loader.github.download import Download, GitHubCode, cite, download_github_code
from course_lib.loader.github.issue_records import GitHubIssues
from course_lib.loader.github.issues import IssueDownload, download_github_issues

__all__ = [
    "Download",
    "GitHubCode",
    "GitHubIssues",
    "IssueDownload",
    "cite",
    "download_github_code",
    "download_github_issues",
]
