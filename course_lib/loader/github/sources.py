"""The sources ``github`` and ``github-issues``: a location goes in, documents come out.

They are what the registry knows of GitHub; the modules that speak to it are imported when they are
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from course_lib.errors import InputError
from course_lib.records import Document, Skipped


class GitHubCode:
    """The source ``github``: ``OWNER/NAME@REF``, or ``OWNER/NAME@REF:PATH`` for a folder of it."""

    id = "github"

    def read(
        self,
        location: str,
        *,
        extensions: Sequence[str],
        on_skip: Callable[[Skipped], None] | None = None,
    ) -> list[Document]:
        """Return the files of exactly one commit; the address and the token are the settings'.

        Raises
        ------
        InputError
            If the location says no ref.
        GitHubError
            As `download_github_code`.
        """
        from course_lib.loader.github.download import download_github_code

        repo, at, version = location.partition("@")
        ref, _, path = version.partition(":")
        if not at:
            raise InputError(
                f"{location!r} says no version", hint="Give OWNER/NAME@REF, as in heron/platform@v1"
            )
        download = download_github_code(repo, ref, extensions, (path,) if path else ())
        report = on_skip or (lambda skipped: None)
        for file in download.skipped:
            report(file)
        return download.documents(report)


class GitHubIssues:
    """The source ``github-issues``: ``OWNER/NAME``, or ``OWNER/NAME@TIME`` for what is newer."""

    id = "github-issues"

    def read(
        self,
        location: str,
        *,
        extensions: Sequence[str],
        on_skip: Callable[[Skipped], None] | None = None,
    ) -> list[Document]:
        """Return the issues, a document each; they all are of one kind, whatever the extensions.

        Raises
        ------
        GitHubError
            As `download_github_issues`.
        """
        from course_lib.loader.github.issue_records import issue_document
        from course_lib.loader.github.issues import download_github_issues

        repo, _, since = location.partition("@")
        found = download_github_issues(repo, since or None)
        return [issue_document(issue) for issue in found.issues]
