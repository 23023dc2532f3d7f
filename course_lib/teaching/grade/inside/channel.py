"""Messages between the grader and what it grades: JSON, each with its length before it.

The grader's end trusts nothing: a message that is too long, or is not JSON, raises `Garbled` and
ends the conversation.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from typing import Any

HEAD = struct.Struct(">I")
LONGEST = 4_000_000
"""Bytes of one message."""


class Garbled(Exception):
    """What came over the channel is not a message."""


class Closed(Exception):
    """The other side is gone."""


class Channel:
    """One end of a conversation.

    Parameters
    ----------
    sock
        A connected stream socket; the channel owns it.
    most
        Bytes that may come in altogether; None for any number.
    """

    def __init__(self, sock: socket.socket, most: int | None = None) -> None:
        self.sock = sock
        self.left = most
        self._buffer = bytearray()
        self._sending = threading.Lock()

    def send(self, message: dict[str, Any]) -> None:
        """Send one message; whoever is slow to read it holds us up."""
        body = json.dumps(message).encode("utf-8")
        try:
            with self._sending:
                self.sock.settimeout(None)
                self.sock.sendall(HEAD.pack(len(body)) + body)
        except OSError as error:
            raise Closed from error

    def receive(self, deadline: float | None = None) -> dict[str, Any]:
        """Return the next message.

        Parameters
        ----------
        deadline
            On `time.monotonic`; None waits forever.

        Raises
        ------
        TimeoutError
            Nothing complete came in time; what came is kept for the next time.
        Closed, Garbled
            The other side is gone, or talks nonsense.
        """
        self._fill(HEAD.size, deadline)
        (length,) = HEAD.unpack_from(self._buffer)
        if length > LONGEST:
            raise Garbled(f"a message of {length:,} bytes")
        self._fill(HEAD.size + length, deadline)
        body = bytes(self._buffer[HEAD.size : HEAD.size + length])
        del self._buffer[: HEAD.size + length]
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Garbled("no JSON") from error
        if not isinstance(message, dict):
            raise Garbled("no JSON object")
        return message

    def close(self) -> None:
        """Hang up; the other side notices."""
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()

    def _fill(self, size: int, deadline: float | None) -> None:
        while len(self._buffer) < size:
            left = None if deadline is None else max(1e-3, deadline - time.monotonic())
            try:
                self.sock.settimeout(left)
                data = self.sock.recv(1 << 16)
            except TimeoutError:
                raise
            except OSError as error:
                raise Closed from error
            if not data:
                raise Closed
            if self.left is not None:
                self.left -= len(data)
                if self.left < 0:
                    raise Garbled("far more output than is read")
            self._buffer += data
