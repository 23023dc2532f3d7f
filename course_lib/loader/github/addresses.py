"""Addresses: whose they are, where a redirect or a link to the next page leads, what is shown.

A token is meant for one origin (scheme, host and port) and must not travel to another one.
"""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

from course_lib.errors import InputError
from course_lib.loader.github.errors import AnswerError


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
        If it is no address of the web, holds a password, or is not encrypted and would get a token
        over the network.
    """
    try:
        split = urlsplit(base)
        scheme, host, _ = origin(base)
    except ValueError as error:
        raise InputError("GITHUB_API_URL is no address", hint=str(error)) from error
    if scheme not in {"http", "https"} or not host:
        raise InputError(
            "GITHUB_API_URL is no address of the web",
            hint="It looks like https://api.github.com",
        )
    if split.username or split.password or split.query or split.fragment:
        raise InputError(
            f"the address of {host} holds more than a host and a path",
            hint="Leave user, password and query out of it; a token belongs into GITHUB_TOKEN.",
        )
    if token and scheme == "http" and host not in {"127.0.0.1", "localhost", "::1"}:
        raise InputError(
            f"the token would travel to {host} unencrypted",
            hint="Use an address with https, or unset GITHUB_TOKEN.",
        )
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise InputError(
            "the token holds blanks or other characters that no token has",
            hint="Copy it anew into GITHUB_TOKEN, without quotation marks.",
        )
    return base.rstrip("/")


def next_hop(url: str, location: str) -> str:
    """Return where a redirect leads.

    Raises
    ------
    AnswerError
        If that is no address of the web, or the way goes from https to http.

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
            hint="Check GITHUB_API_URL, and whether a proxy stands in between.",
        )
    return target


def shown(url: str) -> str:
    """Return an address without its query, where servers put keys of their own."""
    try:
        split = urlsplit(url)
    except ValueError:
        return "an address that is none"
    return f"{split.scheme}://{split.netloc.rpartition('@')[2]}{split.path}"
