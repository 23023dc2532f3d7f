"""Who asks: the API key that a request carries, and the tenant that it belongs to."""

from __future__ import annotations

import ipaddress
import re
from fnmatch import fnmatchcase
from typing import Annotated

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.datastructures import Headers

from course_lib.service.context import Context
from course_lib.service.problems import ProblemError

SCHEMES = [
    Depends(HTTPBearer(auto_error=False, description="an API key, as Authorization: Bearer KEY")),
    Depends(APIKeyHeader(name="X-API-Key", auto_error=False, description="an API key")),
]
"""How a key is sent, for the OpenAPI description."""


_HOST = re.compile(r"(?P<name>\[[^][]*\]|[^][:@/]*)(:[0-9]*)?")
"""A Host header: a name or an address, and perhaps a port."""


def presented_key(headers: Headers) -> str | None:
    """Return the API key that a request carries, or None.

    Examples
    --------
    >>> presented_key(Headers({"authorization": "Bearer abc"}))
    'abc'
    >>> presented_key(Headers({"x-api-key": "abc"}))
    'abc'
    """
    scheme, _, credentials = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and credentials.strip():
        return credentials.strip()
    return headers.get("x-api-key") or None


def is_own_host(host: str, names: tuple[str, ...] = ()) -> bool:
    """Tell whether a Host header names this service: as localhost, an address, or one of `names`.

    A page of a stranger's can have its own name resolved to this machine's address (DNS
    rebinding); the browser then sends that name, and never an address.

    Examples
    --------
    >>> is_own_host("localhost:8000"), is_own_host("[::1]"), is_own_host("evil.example")
    (True, True, False)
    >>> is_own_host("search.example.org", ("*.example.org",))
    True
    """
    found = _HOST.fullmatch(host)
    if not found:
        return False
    name = found["name"].strip("[]").rstrip(".").lower()
    try:
        ipaddress.ip_address(name)
    except ValueError:
        known = ("localhost", *(one.lower() for one in names))
        return any(fnmatchcase(name, one) for one in known)
    return True


def current_context(request: Request) -> Context:
    """Return what the running service works with."""
    context: Context = request.app.state.context
    return context


CurrentContext = Annotated[Context, Depends(current_context)]


def reading_tenant(request: Request, context: CurrentContext) -> str:
    """Return whose documents the caller may read.

    Raises
    ------
    ProblemError
        401 without a key where one is needed, and with a key that no tenant has.
    """
    key = presented_key(request.headers)
    if key is None and context.config.key_required:
        raise _unauthorised("this service needs an API key")
    tenant = context.config.tenant if key is None else context.config.tenant_of(key)
    if tenant is None:
        raise _unauthorised("the API key is not known")
    request.state.tenant = tenant
    return tenant


def writing_tenant(request: Request, context: CurrentContext) -> str:
    """Return to whom what the caller writes belongs: the key decides, and there must be one."""
    if presented_key(request.headers) is None:
        raise _unauthorised("writing needs an API key")
    return reading_tenant(request, context)


def needs_key(route: Dependant) -> bool:
    """Return whether a route's dependencies ask for a key whatever the configuration says."""
    return any(one.call is writing_tenant for one in route.dependencies)


def asking_client(request: Request) -> str:
    """Return who asks, as requests are counted: a tenant with a key, else an address."""
    client: str = request.state.client
    return client


Client = Annotated[str, Depends(asking_client)]
Reader = Annotated[str, Depends(reading_tenant)]
Writer = Annotated[str, Depends(writing_tenant)]


def _unauthorised(detail: str) -> ProblemError:
    return ProblemError(401, detail, {"WWW-Authenticate": "Bearer"})
