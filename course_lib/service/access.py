"""Who asks: the API key that a request carries, and the tenant that it belongs to."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader, HTTPBearer
from starlette.datastructures import Headers

from course_lib.service.context import Context
from course_lib.service.problems import ProblemError

SCHEMES = [
    Depends(HTTPBearer(auto_error=False, description="an API key, as Authorization: Bearer KEY")),
    Depends(APIKeyHeader(name="X-API-Key", auto_error=False, description="an API key")),
]
"""How a key is sent, for the OpenAPI description."""


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


Reader = Annotated[str, Depends(reading_tenant)]
Writer = Annotated[str, Depends(writing_tenant)]


def _unauthorised(detail: str) -> ProblemError:
    return ProblemError(401, detail, {"WWW-Authenticate": "Bearer"})
