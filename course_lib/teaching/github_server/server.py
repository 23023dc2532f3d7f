"""The server: GitHub's answers over HTTP on the loopback interface, on three hosts, with a memory.

The API, the host of raw files and that of archives have a port each, which makes them three
origins, as they are on GitHub. Of every request it is remembered what was asked and whether a token
came along; never the token.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import partial
from pathlib import Path
from typing import Self

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from course_lib.teaching.background_server import BackgroundServer
from course_lib.teaching.github_server.git import Repository
from course_lib.teaching.github_server.limits import PrimaryLimit
from course_lib.teaching.github_server.routes import ENDPOINTS, Endpoint, Sizes
from course_lib.teaching.github_server.sample import sample_repository

HOSTS = ("api", "raw", "codeload")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request as the server remembers it.

    Attributes
    ----------
    host
        ``api``, ``raw`` or ``codeload``.
    path
        With its query.
    status
        What it was answered; 0 for a connection that was closed without a word.
    size
        Bytes of the answer's body.
    has_token
        Whether a token came with it.
    at
        When it arrived, by the server's clock.
    """

    host: str
    path: str
    status: int
    size: int
    has_token: bool
    at: float


@dataclass
class GitHubServer:
    """A server that speaks GitHub's REST API over repositories in memory.

    Parameters
    ----------
    repositories
        What it serves.
    certificate
        A PEM file with a certificate and its key: the server then speaks TLS.
    primary, sizes
        Limits; see `PrimaryLimit` and `Sizes`.
    tokens
        The tokens that it knows; None takes any.
    clock_offset
        How many seconds its clock is ahead.

    Examples
    --------
    >>> import httpx
    >>> repository = Repository("heron/platform")
    >>> sha = repository.commit({"a.md": b"# A"})
    >>> with GitHubServer([repository]) as github:
    ...     answer = httpx.get(f"{github.url}/repos/heron/platform/commits/main")
    >>> answer.json()["sha"] == sha
    True
    """

    repositories: Iterable[Repository]
    certificate: Path | None = None
    primary: PrimaryLimit = field(default_factory=PrimaryLimit)
    sizes: Sizes = field(default_factory=Sizes)
    tokens: frozenset[str] | None = None
    clock_offset: float = 0.0
    seen: list[Exchange] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._by_name = {one.name.lower(): one for one in self.repositories}
        self._lock = threading.Lock()
        endpoints = {**ENDPOINTS, "/{path:path}": None}
        self._router = Router(
            [Route(path, partial(self._answer, one)) for path, one in endpoints.items()],
            redirect_slashes=False,
        )
        self._server = BackgroundServer(
            self._choose_host,
            ports=(0,) * len(HOSTS),
            ssl_certfile=self.certificate,
            timeout_keep_alive=60,
            lifespan="off",
            date_header=False,
            server_header=False,
        )

    # --- where it is ---

    @property
    def url(self) -> str:
        """Address of the API: what `GITHUB_API_URL` is set to."""
        return self._url("api")

    @property
    def raw_url(self) -> str:
        """Address of the raw host: what `GITHUB_RAW_URL` is set to."""
        return self._url("raw")

    def _url(self, host: str) -> str:
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://127.0.0.1:{self._server.ports[HOSTS.index(host)]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it; it may be called twice."""
        self._server.stop()

    # --- what it is made to do ---

    def add(self, repository: Repository) -> None:
        """Serve one more repository, or another one of the same name."""
        self._by_name[repository.name.lower()] = repository

    def set_limit(self, limit: int, *, window: float = 3600.0, status: int = 403) -> None:
        """Begin the primary limit again: so many requests from now on in `window` seconds."""
        self.primary = PrimaryLimit(limit, window, status)

    def count(self, pattern: str = "") -> int:
        """Return how many requests were seen whose path (host in front) holds a text."""
        return sum(pattern in f"{one.host}{one.path}" for one in list(self.seen))

    # --- how it answers ---

    async def _choose_host(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Put the host, which the port tells, in front of the path."""
        host = HOSTS[self._server.ports.index(scope["server"][1])]
        state = {"host": host, "sizes": self.sizes, "codeload": self._url("codeload")}
        inner = {**scope, "path": f"/{host}{scope['path']}", "state": state}
        await self._router(inner, receive, send)

    def _answer(self, endpoint: Endpoint | None, request: Request) -> Response:
        """Answer a request in a thread, count it, and remember it."""
        host, token, now = request.state.host, _token_of(request), time.time()
        query = request.scope["query_string"]
        path = (request.scope["raw_path"] + (b"?" + query if query else b"")).decode("ascii")
        try:
            self._check(request, token, now)
            if endpoint is None:
                raise HTTPException(404, "Not Found")
            answer = endpoint(self._repository(request, token), request)
        except HTTPException as error:
            answer = JSONResponse({"message": error.detail}, error.status_code)
        answer = self.sent(host + path, answer)
        with self._lock:
            limits = self.primary.headers(token, self.clock_offset) if host == "api" else {}
        at = now + self.clock_offset
        self.seen.append(
            Exchange(host, path, answer.status_code, len(answer.body), bool(token), at)
        )
        date = formatdate(time.time() + self.clock_offset, usegmt=True)
        for name, value in {**limits, "Date": date}.items():
            answer.headers.setdefault(name, value)
        return answer

    def sent(self, path: str, answer: Response) -> Response:
        """Return what is sent in the place of an answer: itself. The tests send worse ones."""
        return answer

    def _check(self, request: Request, token: str, now: float) -> None:
        """Refuse a request that is not looked at."""
        if token and self.tokens is not None and token not in self.tokens:
            raise HTTPException(401, "Bad credentials")
        with self._lock:
            if request.state.host == "api" and not self.primary.take(token, now):
                who = "your account" if token else "your address"
                raise HTTPException(self.primary.status, f"API rate limit exceeded for {who}.")

    def _repository(self, request: Request, token: str) -> Repository:
        """Return what is asked for, by name or number, where it may be shown."""
        asked = request.path_params
        if "number" in asked:
            found = {one.number: one for one in self._by_name.values()}.get(asked["number"])
        else:
            found = self._by_name.get(f"{asked['owner']}/{asked['name']}".lower())
        is_api = request.state.host == "api"
        if found is None or (is_api and found.private and not token):
            raise HTTPException(404, "Not Found")
        if is_api and found.blocked:
            raise HTTPException(451, "Repository access blocked")
        if is_api and found.denied:
            raise HTTPException(403, "Resource not accessible by personal access token")
        return found


def _token_of(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() in {"bearer", "token"} else ""


def environment(server: GitHubServer) -> dict[str, str]:
    """Return the variables that lead the loader to a server."""
    return {"GITHUB_API_URL": server.url, "GITHUB_RAW_URL": server.raw_url}


def local_github(*, limit: int = 5_000) -> GitHubServer:
    """Start a server with the course's sample repository; `stop` ends it, or the process's end.

    Parameters
    ----------
    limit
        Requests an hour. GitHub gives 60 to one who has no token.
    """
    return GitHubServer([sample_repository()], primary=PrimaryLimit(limit))
