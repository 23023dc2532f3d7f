"""Running the app on a socket: uvicorn, ended in an orderly way.

Slow clients, floods and half-open connections are a proxy's work: nginx is in front of the service
in Compose's profile `public` and in `infra/k8s/overlays/public`.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from collections.abc import Sequence

import uvicorn
from fastapi import FastAPI

from course_lib.errors import InputError

SHUTDOWN_TIMEOUT_SECONDS = 20
"""How long requests under way may take after a signal."""

BACKLOG = 256
"""Connections that the kernel keeps until they are accepted; asyncio accepts them all at once."""

HEAD_BYTES = 32_768
"""Of a request's head: the search page's longest address, in most scripts."""

MOST_FILES = 4096


def run(app: FastAPI, host: str, port: int, proxies: Sequence[str] = ()) -> None:
    """Serve until SIGTERM or Ctrl-C: requests under way are answered, new ones refused.

    Parameters
    ----------
    app, host, port
        What is served, and where; port 0 takes a free one.
    proxies
        Addresses or networks of proxies: their X-Forwarded-For says who the client is.

    Raises
    ------
    InputError
        If the address or the port cannot be had.
    """
    listener = listen(host, port)
    actual_port = listener.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    print(f"Serving on http://{shown}:{actual_port}/ (Ctrl-C ends it)", flush=True)
    server = make_server(app, proxies)
    asyncio.run(server.serve(sockets=[listener]))


def make_server(app: FastAPI, proxies: Sequence[str] = ()) -> uvicorn.Server:
    """Return a server, ready to serve a listening socket."""
    allow_files()
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        backlog=BACKLOG,
        h11_max_incomplete_event_size=HEAD_BYTES,
        log_config=None,  # the command sets up logging
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
    )
    return uvicorn.Server(config)


def allow_files() -> None:
    """Let the process open `MOST_FILES` files, as far as the system allows: a connection is one."""
    if sys.platform == "win32":
        return  # sockets are not files there
    import resource

    files, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files < MOST_FILES:
        wanted = MOST_FILES if most == resource.RLIM_INFINITY else min(most, MOST_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, wanted), most))


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
