"""Running the app on a socket: uvicorn, ended in an orderly way."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys

from fastapi import FastAPI

from course_lib.errors import InputError

SHUTDOWN_TIMEOUT_SECONDS = 20
"""How long requests under way may take after a signal."""


def run(app: FastAPI, host: str, port: int) -> None:
    """Serve until SIGTERM or Ctrl-C: requests under way are answered, new ones refused.

    Raises
    ------
    InputError
        If the address or the port cannot be had.
    """
    import uvicorn

    listener = listen(host, port)
    actual_port = listener.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    print(f"Serving on http://{shown}:{actual_port}/ (Ctrl-C ends it)", flush=True)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,  # ours has the tenant and the request's number
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
        server_header=False,
    )
    server = uvicorn.Server(config)
    # psycopg cannot work in the loop that Windows takes by default.
    loop = asyncio.SelectorEventLoop if sys.platform == "win32" else None
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(server.serve(sockets=[listener]))


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one.

    Raises
    ------
    InputError
        If the address or the port cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=1024)
        # asyncio sends small packets at once (TCP_NODELAY) only where a socket says that it is TCP:
        # an answer's body would wait up to 40 ms for the client to confirm its head.
        return socket.socket(
            family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach()
        )
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            message, hint = f"port {port} on {host} is taken", "Give another one with --port."
        elif error.errno == errno.EACCES:
            message, hint = f"port {port} is not allowed to this account", "Take one above 1023."
        else:
            message, hint = f"{host}:{port} cannot be listened on: {error.strerror}", ""
        raise InputError(message, hint=hint) from error
