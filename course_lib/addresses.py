"""Servers: what may be shown of an address and of a message, and which are of this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def shown(address: str) -> str:
    """Return an address without the name, password and query that may be in it.

    Servers put keys of their own into the query.

    Examples
    --------
    >>> shown("https://ada:secret@example.org:8000/v1?key=x")
    'https://example.org:8000/v1'
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return "an address that is none"
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl()


def printable(text: object) -> str:
    r"""Return what a server says as one short line without control characters.

    Examples
    --------
    >>> printable("out of\\n memory")
    'out of memory'
    """
    said = " ".join(str(text).split())[:300]
    return "".join(character if character.isprintable() else "?" for character in said)


def is_local(address: str) -> bool:
    """Return whether an address is this machine, to which no proxy leads.

    Examples
    --------
    >>> is_local("http://localhost:11434"), is_local("http://[::1]"), is_local("http://example.org")
    (True, True, False)
    """
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
