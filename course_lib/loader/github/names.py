"""Names: what people and servers call a repository, a version, a file and an address.

People's names are judged before anything is asked, so that a slip of the pen costs no request. A
repository's names are judged before anything is written: git allows some that would lead out of the
destination. Addresses are judged before a token is sent: it is meant for one origin (scheme, host
and port) and must not travel to another one.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

from course_lib.addresses import is_local, shown
from course_lib.errors import InputError
from course_lib.loader.github.errors import AnswerError

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/(?!\.{1,2}$)[A-Za-z0-9._-]+")
_SHA = re.compile(r"[0-9a-f]{40}")
_BAD_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^/|/$|^-|\.lock$")
RENDERED = (".md", ".markdown", ".mdown", ".rst", ".adoc", ".asciidoc", ".org")
WINDOWS = os.name == "nt"
OWN_FILES = (".github-download.json", ".github-download.lock")
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(\..*)?", re.I)


# --- what people type ---


def check_repository(repo: str) -> str:
    """Return ``OWNER/NAME`` as it is.

    Raises
    ------
    InputError
        If it is something else.
    """
    if not _REPOSITORY.fullmatch(repo):
        raise InputError(
            f"{repo[:200]!r} is not a repository", hint="Give OWNER/NAME, as in kubeflow/manifests."
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
            f"{ref[:200]!r} is not a ref",
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


# --- where files may be written ---


def why_refused(path: str, *, windows: bool = WINDOWS) -> str:
    r"""Return why a path of a repository cannot be a file below the destination; nothing if it can.

    Parameters
    ----------
    path
        As git has it.
    windows
        Whether the rules of Windows hold as well.

    Examples
    --------
    >>> why_refused("docs/a.md"), why_refused("../a.md")
    ('', 'leads out of the destination')
    >>> why_refused("aux.yaml", windows=False), why_refused("aux.yaml", windows=True)
    ('', 'has a name that Windows refuses')
    """
    parts = path.split("/")
    if "\\" in path:
        return "has a backslash in its name"
    if not path or path.startswith("/"):
        return "leads out of the destination"
    if ".." in parts or "." in parts or "" in parts:
        return "leads out of the destination"
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in path):
        return "has a control character in its name"
    if len(path.encode("utf-8")) > 1000:
        return "has a path of more than 1,000 bytes"
    if any(part.lower().rstrip(". ") == ".git" for part in parts):
        return "has a name that would damage the destination"
    if path.lower().startswith(".github-download"):
        return "has a name that would damage the destination"
    if windows and any(
        _DEVICE.fullmatch(part) or part.endswith((".", " ")) or re.search(r'[<>:"|?*]', part)
        for part in parts
    ):
        return "has a name that Windows refuses"
    return ""


def collisions(paths: Iterable[str]) -> dict[str, str]:
    """Return path → earlier path that a file system without upper case takes for the same.

    Examples
    --------
    >>> collisions(["README.md", "docs/a.md", "readme.md"])
    {'readme.md': 'README.md'}
    """
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for path in paths:
        key = unicodedata.normalize("NFC", path).casefold()
        if key in first:
            found[path] = first[key]
        first.setdefault(key, path)
    return found


def tells_cases_apart(folder: Path) -> bool:
    """Return whether a file system tells ``a`` from ``A``; the folder holds our own lock file."""
    return not (folder / OWN_FILES[1].upper()).exists()


def is_inside(folder: Path, path: Path) -> bool:
    """Return whether a path is below a folder, with all links on the way resolved."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


# --- whom a token is for ---


def next_page(link: str) -> str | None:
    """Return the address of the next page out of a header `Link`; None on the last page.

    Examples
    --------
    >>> next_page('<https://api/x?page=1>; rel="prev", <https://api/x?page=3>; rel="next"')
    'https://api/x?page=3'
    >>> next_page('<https://api/x?page=1>; rel="first"') is None
    True
    """
    for part in link.split(","):
        target, _, attributes = part.partition(";")
        if 'rel="next"' in attributes.replace(" ", ""):
            return target.strip().removeprefix("<").removesuffix(">")
    return None


def origin(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port: a token is meant for one such triple and for no other.

    Examples
    --------
    >>> origin("https://API.github.com/repos") == origin("https://api.github.com:443/")
    True
    >>> origin("http://api.github.com") == origin("https://api.github.com")
    False
    """
    split = urlsplit(url)
    return (
        split.scheme,
        (split.hostname or "").lower(),
        split.port or {"https": 443, "http": 80}.get(split.scheme, 0),
    )


def check_address(base: str, token: str = "") -> str:
    """Return the address of a server without a slash at its end.

    Raises
    ------
    InputError
        If it is not an address of the web, holds a password, or is not encrypted and would get
        a token over the network.
    """
    try:
        split = urlsplit(base)
        scheme, host, _ = origin(base)
    except ValueError:
        split, scheme, host = urlsplit(""), "", ""
    if scheme not in {"http", "https"} or not host:
        raise InputError(
            "GITHUB_API_URL is not an address of the web",
            hint="It looks like https://api.github.com",
        )
    if split.username or split.password or split.query or split.fragment:
        raise InputError(
            f"the address of {host} holds more than a host and a path",
            hint="Leave user, password and query out of it; a token belongs into GITHUB_TOKEN.",
        )
    if token and scheme == "http" and not is_local(base):
        raise InputError(
            f"the token would travel to {host} unencrypted",
            hint="Use an address with https, or unset GITHUB_TOKEN.",
        )
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise InputError(
            "the token holds blanks or other characters that no token has",
            hint="Copy it again into GITHUB_TOKEN, without quotation marks.",
        )
    return base.rstrip("/")


def next_hop(url: str, location: str) -> str:
    """Return where a redirect leads.

    Raises
    ------
    AnswerError
        If that is not an address of the web, or the way goes from https to http.

    Examples
    --------
    >>> next_hop("https://api.github.com/repos/a/b", "/repositories/7")
    'https://api.github.com/repositories/7'
    """
    try:
        target = urljoin(url, location)
        scheme, host, _ = origin(target)
    except ValueError:
        target, scheme, host = "", "", ""
    if (
        scheme not in {"http", "https"}
        or not host
        or (url.startswith("https:") and scheme == "http")
    ):
        raise AnswerError(
            f"{shown(url)} leads to {shown(location)!r}, where we do not go",
            hint="Check GITHUB_API_URL, and whether a proxy is in between.",
        )
    return target


# --- where a reader finds it ---


def citation_url(
    web: str, commit: str, path: str, line_start: int | None = None, line_end: int | None = None
) -> str:
    """Return the address of the lines of a file in exactly this version.

    Parameters
    ----------
    web
        The address of the repository, such as ``https://github.com/kubeflow/manifests``.
    commit
        The whole hash of the commit: 40 hexadecimal digits, in small letters.
    path
        The file. If its name ends in one of `RENDERED`, in small or capital letters, and lines are
        cited, the address needs ``?plain=1``.
    line_start, line_end
        Counted from 1. Without the first, the whole file is cited; without the last, one line.

    Raises
    ------
    InputError
        If `commit` is anything else. A branch or a tag may point to other lines later, and another
        commit may have the same beginning of its hash.

    Examples
    --------
    >>> sha = "53af14bd662f01044ef464113849020f704fc278"
    >>> citation_url("https://github.com/a/b", sha, "x y.py", 10, 20)
    'https://github.com/a/b/blob/53af14bd662f01044ef464113849020f704fc278/x%20y.py#L10-L20'
    >>> citation_url("https://github.com/a/b", sha, "README.md", 3, 3)
    'https://github.com/a/b/blob/53af14bd662f01044ef464113849020f704fc278/README.md?plain=1#L3'
    >>> citation_url("https://github.com/a/b", "main", "README.md", 3, 3)  # doctest: +SKIP
    InputError: 'main' is not the whole hash of a commit
    """
    if not is_sha(commit):
        raise InputError(
            f"{commit[:200]!r} is not the whole hash of a commit",
            hint="Look up the commit of a branch or tag first, and cite that.",
        )
    url = f"{web}/blob/{commit}/{quote(path)}"
    if line_start is None:
        return url
    # A formatted page has no lines to link to.
    plain = "?plain=1" if path.lower().endswith(RENDERED) else ""
    last = f"-L{line_end}" if line_end and line_end > line_start else ""
    return f"{url}{plain}#L{line_start}{last}"
