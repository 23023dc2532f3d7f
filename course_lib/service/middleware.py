"""Around every request: its id, its limits, its line in the log and its metrics.

A request that announces too large a body is refused here. `BodyLimitMiddleware` stops one that
comes in parts.
"""

from __future__ import annotations

import json
import logging
import re
import time
import uuid

from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.body_limit import RequestBodyLimitResponder
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from course_lib.service.access import is_own_host, presented_key
from course_lib.service.config import ServiceConfig
from course_lib.service.metrics import Metrics
from course_lib.service.problems import ProblemError, too_large
from course_lib.service.rates import RateLimiter

ANONYMOUS_BODY_BYTES = 1_000_000
"""Largest request of a caller without a key: only `/embeddings` takes more than a few kilobytes."""

UNLIMITED = frozenset({"/health", "/ready", "/metrics"})
"""Asked by the cluster, not by clients."""

LOGGED_CHARACTERS = 200
"""Of a path, in the log: a client writes it, and may write it a thousand times a second."""

access_log = logging.getLogger("course.access")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class RequestMiddleware(BaseHTTPMiddleware):
    """What happens before and after every route.

    Parameters
    ----------
    app
        What answers.
    config
        Keys, limits, sizes.
    metrics
        Where requests are counted.
    """

    def __init__(self, app: ASGIApp, config: ServiceConfig, metrics: Metrics) -> None:
        super().__init__(app)
        self.config, self.metrics = config, metrics
        self._requests = RateLimiter(config.limits()[0], "")

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Answer one request."""
        begin, status = time.perf_counter(), 500
        request_id = request.headers.get("x-request-id", "")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = uuid.uuid4().hex
        self.metrics.in_flight.inc()
        try:
            request.state.client = self._client(request)
            if refused := await self._refused(request):
                response: Response = refused.response()
            else:
                response = await call_next(request)
            response.headers["X-Request-ID"] = request_id
            # The key decides what an answer holds: no cache may give it to somebody else.
            response.headers.setdefault("Cache-Control", "no-store")
            status = response.status_code
            return response
        finally:
            self.metrics.in_flight.dec()
            seconds = time.perf_counter() - begin
            # The route, not the path: a client must not make up names of metrics.
            route = getattr(request.scope.get("route"), "path", "none")
            self.metrics.observe(request.method, route, status, seconds)
            line = {
                "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "request_id": request_id,
                "client": _address(request),
                "tenant": getattr(request.state, "tenant", None),
                "method": request.method,
                "path": request.scope["path"][:LOGGED_CHARACTERS],
                "status": status,
                "ms": round(seconds * 1000, 1),
            }
            access_log.info(json.dumps(line))

    async def _refused(self, request: Request) -> ProblemError | None:
        # Not `request.url`: that is made with the Host header, which the client writes.
        host = request.headers.get("host", "localhost")
        if not is_own_host(host, self.config.hosts):
            return ProblemError(421, f"{host!r} is not a name of this service; see RAG_API_HOSTS")
        length = request.headers.get("content-length", "")
        limit = body_limit(self.config, request.state.client)
        if length.isdecimal() and int(length) > limit:
            return ProblemError(413, too_large(limit))
        if request.scope["path"] in UNLIMITED:
            return None
        return await self._requests.refusal(request.state.client)

    def _client(self, request: Request) -> str:
        key = presented_key(request.headers)
        tenant = self.config.tenant_of(key) if key else None
        # Only a tenant's key makes a client of its own: a made-up one is counted by its address.
        return f"key:{tenant}" if tenant else f"address:{_address(request)}"


class BodyLimitMiddleware:
    """Starlette's limit of what is read, with one of its own for a caller without a key."""

    def __init__(self, app: ASGIApp, config: ServiceConfig) -> None:
        self.app, self.config = app, config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        limit = body_limit(self.config, scope["state"]["client"])
        return await RequestBodyLimitResponder(self.app, limit)(scope, receive, send)


def body_limit(config: ServiceConfig, client: str) -> int:
    """Return how many bytes of a request are read: few of a caller without a key."""
    most = config.max_body_bytes
    return most if client.startswith("key:") else min(most, ANONYMOUS_BODY_BYTES)


def _address(request: Request) -> str:
    return request.client.host if request.client else ""
