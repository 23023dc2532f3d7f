"""Names: what people call a repository, a version, a kind of file, and a place in a text.

They are judged before anything is asked, so that a slip of the pen costs no request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from course_lib.errors import InputError

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/(?!\.{1,2}$)[A-Za-z0-9._-]+")
_SHA = re.compile(r"[0-9a-f]{40}")
_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^/|/$|^-|\.lock$")
RENDERED = (".md", ".markdown", ".mdown", ".rst", ".adoc", ".asciidoc", ".org")


def check_repository(repo: str) -> str:
    """Return ``OWNER/NAME`` as it is.

    Raises
    ------
    InputError
        If it is something else.
    """
    if not _REPOSITORY.fullmatch(repo):
        raise InputError(
            f"{repo[:200]!r} is no repository", hint="Give OWNER/NAME, as in kubeflow/manifests."
        )
    return repo


def check_ref(ref: str) -> str:
    """Return the name of a branch, a tag or a commit as it is.

    Raises
    ------
    InputError
        If git would not take it for a name.
    """
    if not ref or len(ref) > 250 or _BAD_REF.search(ref):
        raise InputError(
            f"{ref[:200]!r} is no ref",
            hint="Give a branch, a tag or the hash of a commit; HEAD is the default branch.",
        )
    return ref


def is_sha(ref: str) -> bool:
    """Return whether a ref is the whole hash of a commit, which stands for itself."""
    return bool(_SHA.fullmatch(ref))


def check_endings(extensions: Sequence[str]) -> tuple[str, ...]:
    """Return how the names of files end, in order and in lower case.

    Raises
    ------
    InputError
        If there is none, or one holds a slash.

    Examples
    --------
    >>> check_endings([".YAML", "md", "Dockerfile"])
    ('.dockerfile', '.md', '.yaml', 'dockerfile', 'md')
    """
    given = [extensions] if isinstance(extensions, str) else list(extensions)
    found = {ending.strip().lower() for ending in given} - {"", "."}
    if not found or any("/" in ending for ending in found):
        raise InputError(
            f"{', '.join(given)!r} says not which files are wanted",
            hint="Give the endings of their names, such as .yaml or .md",
        )
    # Who leaves the dot out may mean an ending as well as a whole name.
    return tuple(sorted(found | {f".{ending}" for ending in found if ending.isalnum()}))


def clean_path(path: str) -> str:
    """Return a path of a repository as git has it.

    Raises
    ------
    InputError
        If it leads out of the repository.

    Examples
    --------
    >>> clean_path("./apps/kfp/")
    'apps/kfp'
    """
    parts = [part for part in path.replace("\\", "/").split("/") if part not in {"", "."}]
    if ".." in parts:
        raise InputError(
            f"{path!r} leads out of the repository", hint="Give a path relative to its root."
        )
    return "/".join(parts)


def citation_url(
    web: str, commit: str, path: str, line_start: int | None = None, line_end: int | None = None
) -> str:
    """Return where a reader finds the lines of a file, in exactly this version.

    Parameters
    ----------
    web
        The repository's page, such as ``https://github.com/kubeflow/manifests``.
    commit
        The hash of the commit: a branch would show other lines tomorrow.
    path
        The file. What ends in one of `RENDERED`, in small or capital letters, needs ``?plain=1``.
    line_start, line_end
        From 1. Without the first, the whole file is cited; without the last, one line.

    Examples
    --------
    >>> citation_url("https://github.com/a/b", "53af14b", "x y.py", 10, 20)
    'https://github.com/a/b/blob/53af14b/x%20y.py#L10-L20'
    >>> citation_url("https://github.com/a/b", "53af14b", "README.md", 3, 3)
    'https://github.com/a/b/blob/53af14b/README.md?plain=1#L3'
    """
    url = f"{web}/blob/{commit}/{quote(path)}"
    if line_start is None:
        return url
    # A page that is shown rendered has no lines to jump to.
    plain = "?plain=1" if path.lower().endswith(RENDERED) else ""
    last = f"-L{line_end}" if line_end and line_end > line_start else ""
    return f"{url}{plain}#L{line_start}{last}"
