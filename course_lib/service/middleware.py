"""Around every request: its number, its size, its turn, its line in the log and its metrics.

Plain ASGI, so that nothing is buffered and a client that goes away is noticed.
"""

from __future__ import annotations

import json
import logging
import re
import time
import uuid

from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from course_lib.service.config import ServiceConfig
from course_lib.service.metrics import Metrics
from course_lib.service.problems import ProblemError, problem_response

UNLIMITED = frozenset({"/health", "/ready", "/metrics"})
"""Asked by the cluster, not by clients."""

access = logging.getLogger("course.access")
_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Door:
    """Everything that happens before and after a route.

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
        self.app, self.config, self.metrics = app, config, metrics
        self.rate = config.limit()
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin = time.perf_counter()
        headers = Headers(scope=scope)
        request_id = headers.get("x-request-id", "")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        status = 500

        async def send_numbered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = request_id
            await send(message)

        self.metrics.in_flight.inc()
        try:
            problem = self._too_large(headers) or await self._too_many(scope, headers)
            if problem:
                await _answer(problem)(scope, receive, send_numbered)
            else:
                await self.app(scope, self._measured(receive), send_numbered)
        finally:
            self.metrics.in_flight.dec()
            seconds = time.perf_counter() - begin
            # The route, not the path: nobody can make up names of metrics.
            route = getattr(scope.get("route"), "path", "none")
            self.metrics.observe(scope["method"], route, status, seconds)
            access.info(
                json.dumps(
                    {
                        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                        "request_id": request_id,
                        "client": (scope.get("client") or ("",))[0],
                        "tenant": scope["state"].get("tenant"),
                        "method": scope["method"],
                        "path": scope["path"],
                        "status": status,
                        "ms": round(seconds * 1000, 1),
                    }
                )
            )

    def _too_large(self, headers: Headers) -> ProblemError | None:
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > self.config.max_body_bytes:
            return self._size_problem()
        return None

    def _measured(self, receive: Receive) -> Receive:
        """Count what comes in, also where no length was announced."""
        size = 0

        async def receive_counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self.config.max_body_bytes:
                # The framework hides other errors that come out of a body.
                raise HTTPException(413, self._size_problem().detail)
            return message

        return receive_counted

    def _size_problem(self) -> ProblemError:
        limit = self.config.max_body_bytes
        return ProblemError(413, f"the request is larger than {limit} bytes; send it in parts")

    async def _too_many(self, scope: Scope, headers: Headers) -> ProblemError | None:
        if self.rate is None or scope["path"] in UNLIMITED:
            return None
        key = presented_key(headers)
        tenant = self.config.tenant_of(key) if key else None
        # Only keys that are somebody's count as clients of their own: a made-up one is no way out.
        client = f"key:{tenant}" if tenant else f"address:{(scope.get('client') or ('',))[0]}"
        if await self._limiter.hit(self.rate, client):
            return None
        window = await self._limiter.get_window_stats(self.rate, client)
        seconds = max(1, round(window.reset_time - time.time() + 0.5))
        return ProblemError(
            429,
            f"more than {self.rate} were asked; come back in {seconds} s",
            {"Retry-After": str(seconds)},
        )


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


def _answer(problem: ProblemError) -> ASGIApp:
    return problem_response(problem.status, problem.detail, headers=problem.headers)
