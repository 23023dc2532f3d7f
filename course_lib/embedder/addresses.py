"""Addresses of servers that run models: what may be shown of one, and which are of this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def shown(address: str) -> str:
    """Return an address without the name, password and query that may be in it.

    Examples
    --------
    >>> shown("https://ada:secret@example.org:8000/v1?key=x")
    'https://example.org:8000/v1'
    """
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


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
