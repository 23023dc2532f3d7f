"""The server: GitHub's answers over HTTP on the loopback interface, on three hosts, with a memory.

The API, the host of raw files and that of archives have a port each, which makes them three
origins, as they are on GitHub. Of every request it is remembered what was asked and whether a token
came along; never the token.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from course_lib.teaching.github_server import faults
from course_lib.teaching.github_server.answers import Answer, Request, refusal
from course_lib.teaching.github_server.git import Repository
from course_lib.teaching.github_server.handler import address_of, listen
from course_lib.teaching.github_server.limits import PrimaryLimit, SecondaryLimit
from course_lib.teaching.github_server.routes import Sizes, route
from course_lib.teaching.github_server.sample import sample_repository


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as the server remembers it.

    Attributes
    ----------
    host
        ``api``, ``raw`` or ``codeload``.
    path
        With its query.
    status
        What it was answered; 0 for a connection that was closed without a word.
    has_token
        Whether a token came with it.
    at
        When it arrived, by the server's clock.
    """

    host: str
    path: str
    status: int
    has_token: bool
    at: float


@dataclass
class GitHubServer:
    """A server that speaks GitHub's REST API over repositories in memory.

    Parameters
    ----------
    repositories
        What it serves.
    port
        Of the API; 0 takes a free one.
    certificate
        A PEM file with a certificate and its key: the API then speaks TLS.
    primary, sizes
        Limits; see `PrimaryLimit` and `Sizes`.
    tokens
        The tokens that it knows; None takes any.
    clock_offset
        How many seconds its clock is ahead.

    Raises
    ------
    InputError
        If the port is taken.

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
    port: int = 0
    certificate: Path | None = None
    primary: PrimaryLimit = field(default_factory=PrimaryLimit)
    sizes: Sizes = field(default_factory=Sizes)
    tokens: frozenset[str] | None = None
    clock_offset: float = 0.0
    seen: list[Seen] = field(default_factory=list, init=False)
    most_at_once: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._by_name = {one.name.lower(): one for one in self.repositories}
        self._lock = threading.Lock()
        self._at_once = 0
        self._secondary: list[SecondaryLimit] = []
        self._planned: list[faults.Planned] = []
        self._api = listen("api", self.port, self.answer, self._now, self.certificate)
        self._raw = listen("raw", 0, self.answer, self._now)
        self._codeload = listen("codeload", 0, self.answer, self._now)

    # --- where it is ---

    @property
    def url(self) -> str:
        """Address of the API: what `GITHUB_API_URL` is set to."""
        return address_of(self._api)

    @property
    def raw_url(self) -> str:
        """Address of the raw host: what `GITHUB_RAW_URL` is set to."""
        return address_of(self._raw)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End it; it may be called twice."""
        for server in (self._api, self._raw, self._codeload):
            server.shutdown()
            server.server_close()

    # --- what it is made to do ---

    def add(self, repository: Repository) -> None:
        """Serve one more repository, or another one of the same name."""
        self._by_name[repository.name.lower()] = repository

    def set_limit(self, limit: int, *, window: float = 3600.0, status: int = 403) -> None:
        """Begin the primary limit anew: so many requests from now on in `window` seconds."""
        self.primary = PrimaryLimit(limit, window, status)

    def refuse(
        self, times: int = 1, *, after: int = 0, status: int = 403, retry_after: int | None = 1
    ) -> None:
        """Meet the next requests with the secondary limit; see `SecondaryLimit`."""
        with self._lock:
            self._secondary.append(SecondaryLimit(times, after, status, retry_after))

    def fail(self, pattern: str, fault: faults.Fault, *, times: float = 1, after: int = 0) -> None:
        """Let something go wrong with requests whose path (host in front) a pattern finds.

        Parameters
        ----------
        pattern
            A regular expression, searched in ``api/repos/…?query`` or ``raw/…``.
        fault
            One of `faults`.
        times
            For how many requests; ``math.inf`` for all.
        after
            How many are answered well before.
        """
        with self._lock:
            self._planned.append(faults.Planned(re.compile(pattern), fault, times, after))

    def heal(self) -> None:
        """Forget all faults and refusals that are still planned."""
        with self._lock:
            self._planned.clear()
            self._secondary.clear()

    def count(self, pattern: str = "") -> int:
        """Return how many requests were seen whose path (host in front) holds a text."""
        return sum(pattern in f"{one.host}{one.path}" for one in list(self.seen))

    # --- how it answers ---

    def answer(self, request: Request, target: str) -> Answer:
        """Answer a request, count it, and remember it; `target` is its path as it was sent."""
        now = time.time()
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            answer = self._judge(request, now)
            if answer is None:
                codeload = address_of(self._codeload)
                answer = route(request, self._by_name, self.sizes, codeload)
                answer = self._unless_known(request, answer)
            with self._lock:
                place = f"{request.host}{target}"
                chosen = next((one for one in self._planned if one.takes(place)), None)
            if chosen:
                answer = chosen.fault(answer)
            if answer.delay:
                time.sleep(answer.delay)
        finally:
            with self._lock:
                self._at_once -= 1
                limits = self.primary.headers(request.token, now, self.clock_offset)
        status = 0 if answer.hangs_up else answer.status
        self.seen.append(
            Seen(request.host, target, status, bool(request.token), now + self.clock_offset)
        )
        return replace(
            answer, headers={**(limits if request.host == "api" else {}), **answer.headers}
        )

    def _now(self) -> float:
        return time.time() + self.clock_offset

    def _judge(self, request: Request, now: float) -> Answer | None:
        """Return why a request is refused before it is looked at, or None."""
        if not request.headers.get("user-agent"):
            return refusal(403, "Request forbidden by administrative rules: no User-Agent.")
        if request.token and self.tokens is not None and request.token not in self.tokens:
            return refusal(401, "Bad credentials")
        with self._lock:
            self._secondary = [one for one in self._secondary if one.times > 0]
            if self._secondary:
                first = self._secondary[0]
                self._secondary[0] = first.next()
                if first.refuses:
                    return first.refusal()
            if request.host == "api" and not self.primary.spend(request.token, now):
                return self.primary.refusal(request.token)
        return None

    def _unless_known(self, request: Request, answer: Answer) -> Answer:
        """Answer 304, which costs nothing, where the client has what it would get."""
        tag = answer.headers.get("ETag")
        if not tag or request.headers.get("if-none-match") != tag:
            return answer
        if request.host == "api":
            with self._lock:
                self.primary.give_back(request.token)
        return Answer(304, b"", {"ETag": tag})


def environment(server: GitHubServer) -> dict[str, str]:
    """Return the variables that lead the loader to a server."""
    return {"GITHUB_API_URL": server.url, "GITHUB_RAW_URL": server.raw_url}


def local_github(*, limit: int = 5_000, port: int = 0) -> GitHubServer:
    """Start a server with the course's sample repository; `stop` ends it, or the process's end.

    Parameters
    ----------
    limit
        Requests an hour. GitHub gives 60 to one who has no token.
    port
        Where it listens; 0 takes a free port.
    """
    return GitHubServer([sample_repository()], port=port, primary=PrimaryLimit(limit))
