"""Servers: addresses, what may be shown of them and of a message, and what hinders a client."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from course_lib.errors import InputError

PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
"""Variables of the environment, in capitals or not, that say which proxy leads where."""


LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "0.0.0.0")
"""Hosts that are this machine, as addresses have them."""

OWN_CERTIFICATE = "Behind a company's proxy, set SSL_CERT_FILE to its certificate."
"""What to do where a certificate is not trusted."""


def http_address(address: str, variable: str, example: str = "http://localhost:11434") -> str:
    """Return an HTTP address with its scheme and no slash at the end.

    Raises
    ------
    InputError
        If it is none.

    Examples
    --------
    >>> http_address("localhost:11434/", "OLLAMA_URL")
    'http://localhost:11434'
    """
    given = address.strip()
    given = given if "://" in given else f"http://{given}"
    try:
        parts = urlsplit(given)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname)
        parts.port  # noqa: B018 - reading it checks it
    except ValueError:
        is_right = False
    if not is_right or not given.isprintable() or " " in given:
        raise InputError(f"{variable} is not an address", hint=f"It looks like {example}.")
    return given.rstrip("/")


def is_link(address: str | None) -> bool:
    """Return whether an address, which may be a tenant's, is one of the web's own.

    Examples
    --------
    >>> is_link("https://example.org/a.md"), is_link("javascript:alert(1)"), is_link(None)
    (True, False, False)
    """
    return (address or "").startswith(("http://", "https://"))


def way_to(*addresses: str) -> dict[str, Any]:
    """Return the options with which an HTTP client reaches some servers.

    No proxy leads to this machine. Where all servers are here, and without certificates, nothing
    of the environment is read: what cannot be used of it does not matter.

    Examples
    --------
    >>> way_to("http://localhost:11434")["trust_env"], way_to("https://localhost")["trust_env"]
    (False, True)
    """
    is_plain_and_here = all(one.startswith("http://") and is_local(one) for one in addresses)
    return {
        "trust_env": not is_plain_and_here,
        "mounts": {f"all://{host}": None for host in LOOPBACK},
    }


@contextmanager
def explained() -> Iterator[None]:
    """Explain what an HTTP client cannot use of the environment, while one is made.

    The client's own errors would show the password in the address of a proxy.

    Raises
    ------
    InputError
        If the certificates cannot be read, or a proxy cannot be used.

    Examples
    --------
    >>> with explained():
    ...     client = httpx.Client()    # with ALL_PROXY=socks5://localhost:1080
    Traceback (most recent call last):
    course_lib.errors.InputError: a SOCKS proxy needs a package that is not installed
    """
    try:
        yield
    except OSError as error:  # ssl.SSLError is one
        file, folder = (os.environ.get(name, "unset") for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
        raise InputError(
            f"the certificates cannot be read: {error.strerror or error}",
            hint=f"Correct or unset SSL_CERT_FILE ({file}) and SSL_CERT_DIR ({folder}).",
        ) from error
    except ImportError:
        raise InputError(
            "a SOCKS proxy needs a package that is not installed",
            hint=f"Install socksio (pip install socksio), or change or unset {_proxies()}: a proxy "
            "whose address begins with http:// needs no package.",
        ) from None
    except Exception as error:  # the class InvalidURL of httpx is not that of httpx2
        if not isinstance(error, ValueError) and type(error).__name__ != "InvalidURL":
            raise
        raise InputError(
            "the address of a proxy cannot be used",
            hint=f"Correct or unset {_proxies()}. A proxy looks like http://proxy.example:3128; "
            "NO_PROXY has names and addresses with commas between.",
        ) from None


def is_distrust(error: BaseException) -> bool:
    """Return whether a connection failed because its certificate is not one that is trusted.

    Examples
    --------
    >>> is_distrust(OSError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"))
    True
    """
    return "CERTIFICATE_VERIFY_FAILED" in f"{error} {error.__cause__}"


def _proxies() -> str:
    """Return the names of the variables about proxies that are set; all where none is."""
    given = [name for name in os.environ if name.upper() in PROXIES]
    *others, last = given or PROXIES
    return f"{', '.join(others)} and {last}" if others else last


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
    >>> is_local("http://0.0.0.0:11434")
    True
    """
    host = urlsplit(address).hostname or ""
    try:
        number = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        return False
    return number.is_loopback or number.is_unspecified
