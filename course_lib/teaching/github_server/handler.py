"""HTTP/1.1 over sockets: what a client sends becomes a `Request`, an `Answer` what it gets.

It is the standard library's server, because a framework's would not send half a body on purpose.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from course_lib.errors import InputError
from course_lib.teaching.github_server.answers import Answer, Request, refusal


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    host = ""
    scheme = "http"
    answer: Callable[[Request, str], Answer]
    now: Callable[[], float]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that go away in the middle."""


def listen(
    host: str,
    port: int,
    answer: Callable[[Request, str], Answer],
    now: Callable[[], float],
    certificate: Path | None = None,
) -> ThreadingHTTPServer:
    """Start to listen on the loopback interface, in threads that end with the process.

    Parameters
    ----------
    host
        What requests are marked with.
    port
        0 takes a free one.
    answer
        Gives the answer to a request; its second argument is the path as it was sent.
    now
        The clock for the header `Date`.
    certificate
        A PEM file with a certificate and its key, for TLS.

    Raises
    ------
    InputError
        If the port cannot be used.
    """
    try:
        server = _Server(("127.0.0.1", port), _Handler)
    except (OSError, OverflowError) as error:
        raise InputError(
            f"port {port} cannot be used: {error}", hint="Choose another one, or 0 for any."
        ) from error
    server.host, server.answer, server.now = host, answer, now
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.scheme = "https"
        # With a hand-shake on accept, one client would keep the others waiting.
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
    ).start()
    return server


def address_of(server: ThreadingHTTPServer) -> str:
    """Return the address at which a server of `listen` is reached."""
    scheme = server.scheme if isinstance(server, _Server) else "http"
    return f"{scheme}://127.0.0.1:{server.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 60
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        split = urlsplit(self.path)
        request = Request(
            self.server.host,
            unquote(split.path),
            dict(parse_qsl(split.query, keep_blank_values=True)),
            {name.lower(): value for name, value in self.headers.items()},
            address_of(self.server),
        )
        try:
            answer = self.server.answer(request, self.path)
        except Exception as error:
            # A thread that dies would leave the client with a closed connection and no reason.
            answer = refusal(500, f"{type(error).__name__}: {error}")
        self._send(answer)

    def _send(self, answer: Answer) -> None:
        if answer.hangs_up:
            self.close_connection = True
            return
        self.send_response_only(answer.status)
        self.send_header("Date", formatdate(self.server.now(), usegmt=True))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != 304:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body[: answer.sent])
        if answer.sent is not None:
            self.close_connection = True

    def handle(self) -> None:
        with suppress(OSError):
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the server remembers requests by itself."""
