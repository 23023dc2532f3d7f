"""Limits of a connection: how many there are, how long a request may take, and what it may be.

Without them, a client that sends half a request holds a file of the process for as long as it
likes, and some hundred of them leave none for anybody else; and one that sends its body in chunks
of a byte, or a head of sixty thousand lines, keeps the event loop busy with reading them.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import Counter
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

HEAD_BYTES = 32_768
"""The search page's longest address, in most scripts."""

MOST_HEADERS = 100
FREE_CHUNKS = 1000
"""Parts in which a body may come, however small they are."""

SMALLEST_CHUNK = 256
"""Bytes that the further ones have on average: each part costs the loop as much as a large one."""

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
        return MOST_CONNECTIONS, BACKLOG  # sockets are not files there
    import resource

    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < MOST_FILES:
        files = MOST_FILES if most == resource.RLIM_INFINITY else max(files, min(most, MOST_FILES))
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    return min(MOST_CONNECTIONS, files // 2), min(BACKLOG, files // 4)


class LimitedConnection(h11.Connection):
    """h11's reading of requests, which refuses those that are dear to read or can be read twice.

    A request with two lengths is one to this server and another one to a proxy that believes the
    other length: what the one takes for a body is a request of its own to the other.
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, HEAD_BYTES)
        self._chunks = self._bytes = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return what comes next of a request.

        Raises
        ------
        RemoteProtocolError
            If it is not HTTP, or beyond the limits.
        """
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._chunks = self._bytes = 0
            names = {name for name, _ in event.headers}
            if len(event.headers) > MOST_HEADERS or names >= _LENGTHS:
                raise h11.RemoteProtocolError("too many headers, or two lengths")
        elif isinstance(event, h11.Data):
            self._chunks += 1
            self._bytes += len(event.data)
            if self._chunks > FREE_CHUNKS + self._bytes / SMALLEST_CHUNK:
                raise h11.RemoteProtocolError("too many small chunks")
        return event


class LimitedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 with limits of time, size and number.

    Where one connection more comes than `most`, the one that has waited longest for its request is
    closed: a client that sends whole requests gets through a crowd of those that do not. Where all
    others wait for an answer, the address that has the most connections loses its oldest.
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
        self.conn = LimitedConnection()
        self._part = ""
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, and close another one where there are too many."""
        super().connection_made(transport)
        self._look()
        if len(self.connections) > self.most:
            longest = min(self._least_missed(), key=lambda one: one._since)
            log.warning("%d connections are open; those without a request are closed", self.most)
            longest.transport.abort()
            self.connections.discard(longest)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._turn_to("")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        # In pieces, so that a head which comes at once has the limit of one that comes slowly.
        for start in range(0, len(data), HEAD_BYTES):
            if not self.transport.is_closing():
                self._read(data[start : start + HEAD_BYTES])
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

    def _read(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except h11.LocalProtocolError:  # what is refused was answered already
            self.transport.close()

    def _least_missed(self) -> list[LimitedProtocol]:
        """Return the connections of which one may be closed for this new one."""
        ours = [one for one in self.connections if isinstance(one, LimitedProtocol)]
        waiting = [one for one in ours if one._part in _INCOMING and one is not self]
        if waiting:
            return waiting
        [(busiest, _)] = Counter(one._address for one in ours).most_common(1)
        return [one for one in ours if one._address == busiest]

    @property
    def _address(self) -> str:
        return self.client[0] if self.client else ""

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


_LENGTHS = {b"content-length", b"transfer-encoding"}
_INCOMING_OF = {h11.IDLE: "head", h11.SEND_BODY: "body"}
_INCOMING = frozenset(_INCOMING_OF.values())
