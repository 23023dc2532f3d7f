"""Limits of a connection: how many there are, and how long each may take over a request.

Without them, a client that sends half a request holds a file of the process for as long as it
likes, and some hundred of them leave none for anybody else.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from typing import TYPE_CHECKING

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.server import ServerState

HEAD_SECONDS = 10.0
"""How long the head of a request may take to come."""

BODY_SECONDS = 60.0
"""How long its body may take: the largest one, at a megabit a second."""

ANSWER_SECONDS = 60.0
"""How long a client may take to read an answer that does not fit into the socket's buffer."""

MOST_CONNECTIONS = 1000
MOST_FILES = 4096
BACKLOG = 256
"""Connections that the kernel keeps until they are accepted; asyncio accepts them all at once."""

_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

log = logging.getLogger("course.service")


def connection_limits() -> tuple[int, int]:
    """Return how many connections are kept, and how many more may wait to be accepted.

    Together they take three quarters of the files that the process may open. That limit is raised
    first, as far as the system lets it.

    Examples
    --------
    >>> connections, backlog = connection_limits()
    >>> connections >= backlog > 0
    True
    """
    if sys.platform == "win32":
        return MOST_CONNECTIONS, BACKLOG  # sockets are no files there
    import resource

    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < MOST_FILES:
        files = MOST_FILES if most == resource.RLIM_INFINITY else max(files, min(most, MOST_FILES))
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    return min(MOST_CONNECTIONS, files // 2), min(BACKLOG, files // 4)


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with limits of time and number.

    Where one connection more comes than `most`, the one that has waited longest for its request is
    closed: a client that sends whole requests gets through a crowd of those that do not.
    """

    most = MOST_CONNECTIONS

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._part = ""
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, and close another one where there are too many."""
        super().connection_made(transport)
        self._look()
        if len(self.connections) > self.most:
            longest = min(self._without_request(), key=lambda one: one._since)
            log.warning("%d connections are open; those without a request are closed", self.most)
            longest.transport.abort()
            self.connections.discard(longest)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._turn_to("")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """Wait for a client that reads slowly."""
        super().pause_writing()
        self._turn_to("answer")

    def resume_writing(self) -> None:
        """Go on, now that it has read."""
        super().resume_writing()
        self._turn_to("")
        self._look()

    def _without_request(self) -> list[LimitedProtocol]:
        ours = [one for one in self.connections if isinstance(one, LimitedProtocol)]
        return [one for one in ours if one._part in _INCOMING]

    def _look(self) -> None:
        if self._part != "answer":
            self._turn_to(_INCOMING_OF.get(self.conn.their_state, ""))

    def _turn_to(self, part: str) -> None:
        """Begin to wait for a part of the exchange, unless it is what was waited for already."""
        if part == self._part:
            return
        if self._timer:
            self._timer.cancel()
        self._part, self._since, self._timer = part, time.monotonic(), None
        if part and not self.transport.is_closing():
            seconds = {"head": HEAD_SECONDS, "body": BODY_SECONDS, "answer": ANSWER_SECONDS}[part]
            self._timer = self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        if self._part == "answer":
            self.transport.abort()
            return
        if self.cycle is None or not self.cycle.response_started:
            self.transport.write(_TIMEOUT)
        self.transport.close()


_INCOMING_OF = {h11.IDLE: "head", h11.SEND_BODY: "body"}
_INCOMING = frozenset(_INCOMING_OF.values())
