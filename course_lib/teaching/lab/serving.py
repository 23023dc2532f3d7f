"""What the lab about the API serves with: an app on a port, a watch that keeps asking, and a crowd.

An ASGI app goes in, and a client comes out that knows its address; uvicorn runs in a thread of the
kernel and ends with it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import FunctionType, MethodType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import httpx

from course_lib.errors import CourseError
from course_lib.teaching.background_server import TIMEOUT_SECONDS, BackgroundServer

if TYPE_CHECKING:
    import pandas as pd


class Api(httpx.Client):
    """An HTTP client of one app that is being served; closing it ends the serving.

    Attributes
    ----------
    url
        The app's address.
    """

    def __init__(self, server: BackgroundServer) -> None:
        # No certificates for an address that has none: reading them takes longer than a search.
        # Nor a proxy, which would look for the address on its own machine.
        # A connection for each request: uvicorn cuts the one on which an app raised.
        once = httpx.Limits(max_keepalive_connections=0)
        self.url, self._server = f"http://127.0.0.1:{server.ports[0]}", server
        super().__init__(base_url=self.url, timeout=30, verify=False, trust_env=False, limits=once)

    def close(self) -> None:
        """End the serving, and the client with it; twice does no harm."""
        self._server.stop()
        super().close()

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        """End the serving."""
        super().__exit__(exc_type, exc_value, traceback)
        self.close()


class Seen(NamedTuple):
    """One answer that a watch has seen."""

    at: float
    """Seconds since the watch began, when it was asked."""
    seconds: float
    """How long the answer took."""
    request: str
    status: int
    """HTTP status; 0 where no answer came."""


class Watch:
    """Asks the same requests again and again while it is open, each in a thread of its own.

    Parameters
    ----------
    api
        Whom to ask.
    requests
        Such as ``"GET /ready"``; to a POST goes `json`.
    json
        What is posted.
    every
        Seconds between two requests.

    Attributes
    ----------
    seen
        The answers, in the order in which they came.
    marks
        Seconds since the watch began, and what happened then.
    """

    def __init__(
        self, api: Api, *requests: str, json: dict[str, Any] | None = None, every: float = 0.1
    ) -> None:
        self.seen: list[Seen] = []
        self.marks: list[tuple[float, str]] = []
        self._api, self._json, self._every = api, json, every
        self._begin = time.perf_counter()
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(one,)) for one in requests]

    def __enter__(self) -> Self:
        """Begin to ask."""
        self._begin = time.perf_counter()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for the last answers."""
        self._end.set()
        for thread in self._threads:
            thread.join()

    def do(self, action: FunctionType | MethodType) -> None:
        """Call a function, and remember its name and when that was."""
        self.marks.append((time.perf_counter() - self._begin, action.__name__))
        action()

    def _ask(self, request: str) -> None:
        method, path = request.split()
        options: dict[str, Any] = {"timeout": 10, "verify": False, "trust_env": False}
        with httpx.Client(base_url=self._api.url, **options) as client:
            while not self._end.is_set():
                begun, status = time.perf_counter(), 0
                with suppress(httpx.TransportError):
                    posted = self._json if method == "POST" else None
                    status = client.request(method, path, json=posted).status_code
                took = time.perf_counter() - begun
                self.seen.append(Seen(begun - self._begin, took, request, status))
                self._end.wait(self._every)


def serve(app: Any) -> Api:
    """Serve an ASGI app on a free port of this machine, and return a client of it.

    It is served until the client is closed or the kernel ends.

    Parameters
    ----------
    app
        Such as a FastAPI app.

    Raises
    ------
    CourseError
        If the app does not start.

    Examples
    --------
    >>> async def app(scope, receive, send):
    ...     await send({"type": "http.response.start", "status": 204, "headers": []})
    ...     await send({"type": "http.response.body"})
    >>> with serve(app) as api:
    ...     api.get("/").status_code
    204
    """
    for name in ("course", "psycopg"):
        # They write to the notebook's standard error while something fails on purpose.
        log = logging.getLogger(name)
        if not log.handlers:
            log.addHandler(logging.NullHandler())
    return Api(BackgroundServer(app, timeout_graceful_shutdown=3))


def until_ready(api: Api, path: str = "/ready") -> None:
    """Wait until an address answers 200.

    Raises
    ------
    CourseError
        If it does not within a minute.
    """
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            if api.get(path).status_code == 200:
                return
        time.sleep(0.02)
    hint = f"{TIMEOUT_SECONDS:.0f} seconds were not enough."
    raise CourseError(f"{path} does not become 200", hint=hint)


def four_at_once(api: Api, path: str) -> pd.DataFrame:
    """Send four requests at once; return when each began and ended its work, the first first.

    Parameters
    ----------
    api
        Whom to ask.
    path
        It answers with two times. What is returned is in seconds since the first of all.
    """
    import pandas as pd

    with ThreadPoolExecutor(4) as callers:
        spans = [answer.json() for answer in callers.map(api.get, [path] * 4)]
    times = pd.DataFrame(spans, columns=["begin", "end"]).apply(pd.to_datetime)
    times = times.sort_values("begin", ignore_index=True)
    times -= times["begin"].min()
    return pd.DataFrame({name: times[name].dt.total_seconds() for name in times})


def crowd(api: Api, bodies: Sequence[dict[str, Any]], *, clients: int = 16) -> list[float]:
    """Post searches from many clients at once and return the milliseconds that each took.

    Parameters
    ----------
    api
        Whom to ask.
    bodies
        What is posted. Each client sends its share, one after the other, and a request that is
        answered with 503 again after the pause that the answer names; the time counts.
    clients
        How many there are.

    Raises
    ------
    CourseError
        If an answer is not a success, or still 503 after a minute.
    """

    def ask(client: httpx.Client, share: Sequence[dict[str, Any]]) -> list[float]:
        times = []
        for body in share:
            begun = time.perf_counter()
            answer = client.post("/search", json=body)
            # A pool on a slow machine may be busy for longer than its clients may wait for it.
            while answer.status_code == 503 and time.perf_counter() - begun < TIMEOUT_SECONDS:
                time.sleep(float(answer.headers.get("Retry-After", 1)))
                answer = client.post("/search", json=body)
            times.append((time.perf_counter() - begun) * 1000)
            if not answer.is_success:
                raise CourseError(f"POST /search was answered with {answer.status_code}")
        return times

    options: dict[str, Any] = {"timeout": 60, "verify": False, "trust_env": False}
    made = [httpx.Client(base_url=api.url, **options) for _ in range(clients)]
    try:
        with ThreadPoolExecutor(clients) as threads:
            shares = [bodies[start::clients] for start in range(clients)]
            return [ms for times in threads.map(ask, made, shares) for ms in times]
    finally:
        for client in made:
            client.close()
