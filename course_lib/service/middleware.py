"""Around every request: its id, and how much of it is read."""

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

ANONYMOUS_BODY_BYTES = 1_000_000
"""Largest request of a caller without a key: only `/embeddings` takes more than a few kilobytes."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class RequestMiddleware:
    """What happens before and after every route.

    Parameters
    ----------
    app
        What answers.
    config
        Keys and sizes.
    """

    def __init__(self, app: ASGIApp, config: ServiceConfig) -> None:
        self.app, self.config = app, config

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        if scope["method"] == "HEAD":
            # It is answered as a GET; the server sends no body after a HEAD.
            scope = {**scope, "method": "GET"}
        request = Request(scope)
        request_id = request.headers.get("x-request-id", "")
        if not _REQUEST_ID.fullmatch(request_id):
            request_id = uuid.uuid4().hex
        request.state.request_id, limit = request_id, self._most_bytes(request)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                # The key decides what an answer holds: no cache may give it to another client.
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        length = request.headers.get("content-length", "")
        app: ASGIApp = RequestBodyLimitResponder(self.app, limit)
        if length.isdecimal() and int(length) > limit:
            app = ProblemError(413, too_large(limit)).response()
        return await app(scope, receive, answer)

    def _most_bytes(self, request: Request) -> int:
        """Return how many bytes of the request are read; without a key they are fewer."""
        key, most = presented_key(request.headers), self.config.max_body_bytes
        return most if key and self.config.tenant_of(key) else min(most, ANONYMOUS_BODY_BYTES)
