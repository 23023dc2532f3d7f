"""Around every request: its id, and how much one client may send and ask."""

from __future__ import annotations

import re
import uuid

from starlette.datastructures import MutableHeaders
from starlette.middleware.body_limit import RequestBodyLimitResponder
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from course_lib.service.access import presented_key
from course_lib.service.config import ServiceConfig
from course_lib.service.problems import ProblemError, too_large
from course_lib.service.rates import RateLimiter

ANONYMOUS_BODY_BYTES = 1_000_000
"""Largest request of a caller without a key: only `/embeddings` takes more than a few kilobytes."""

UNLIMITED = frozenset({"/health", "/ready", "/metrics"})
"""Asked by the cluster, not by clients."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class RequestMiddleware:
    """What happens before and after every route.

    Parameters
    ----------
    app
        What answers.
    config
        Keys, limits, sizes.
    """

    def __init__(self, app: ASGIApp, config: ServiceConfig) -> None:
        self.app, self.config = app, config
        self._requests = RateLimiter(config.limits()[0], "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        request = Request(scope)
        request_id = request.headers.get("x-request-id", "")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = uuid.uuid4().hex
        client, limit = self._client(request)
        request.state.request_id, request.state.client = request_id, client

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                # The key decides what an answer holds: no cache may give it to another client.
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refused = None
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > limit:
            refused = ProblemError(413, too_large(limit))
        # Not `request.url`: that is made with the Host header, which the client writes.
        elif scope["path"] not in UNLIMITED:
            refused = await self._requests.refusal(client)
        app = refused.response() if refused else RequestBodyLimitResponder(self.app, limit)
        return await app(scope, receive, answer)

    def _client(self, request: Request) -> tuple[str, int]:
        """Return who asks, and how many bytes of the request are read."""
        key, most = presented_key(request.headers), self.config.max_body_bytes
        if key and (tenant := self.config.tenant_of(key)):
            return f"key:{tenant}", most
        # Only a tenant's key makes a client of its own: a made-up one is counted by its address.
        address = request.client.host if request.client else ""
        return f"address:{address}", min(most, ANONYMOUS_BODY_BYTES)
