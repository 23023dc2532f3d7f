"""Asking GitHub: an address goes in, a complete answer comes out, or an error that says what to do.

Every request passes the gate, is made again after what may pass, and is not made again after what
will not. The token goes to the origin it is meant for and to no other, wherever a redirect leads.
"""

from __future__ import annotations

import json
import os
import random
import ssl
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from course_lib import __version__
from course_lib.loader.github.addresses import check_address, next_hop, next_page, origin, shown
from course_lib.loader.github.answers import JSON, Answer, checked, why_incomplete
from course_lib.loader.github.errors import AnswerError, UnreachableError
from course_lib.loader.github.waiting import (
    PATIENCE,
    Countdown,
    Gate,
    Patience,
    Wait,
    used_up,
    wait_time,
)

if TYPE_CHECKING:
    import httpx

MOST_BYTES = 160_000_000
MOST_REDIRECTS = 5
_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class GitHubClient:
    """A connection to one server: the API, or the host of raw files.

    Parameters
    ----------
    base
        The server's address, such as ``https://api.github.com``.
    token
        What it knows us by; nothing for nobody.
    max_wait
        Seconds that rate limits may cost in all.
    on_wait
        Shows a wait; see `Gate`.
    patience
        How often to ask again, and after what pauses.

    Raises
    ------
    InputError
        If the address cannot be used, or the token would travel unencrypted.
    """

    def __init__(
        self,
        base: str,
        token: str = "",
        *,
        max_wait: float = 600.0,
        on_wait: Callable[[Wait, float], None] | None = None,
        patience: Patience = PATIENCE,
    ) -> None:
        import httpx

        self.base = check_address(base, token)
        self._origin = origin(self.base)
        self._authorization = {"Authorization": f"Bearer {token}"} if token else {}
        self._patience = patience
        self._gate = Gate(max_wait, on_wait or Countdown())
        self._http = httpx.Client(
            headers={
                "User-Agent": f"course-lib/{__version__}",
                "X-GitHub-Api-Version": "2022-11-28",
            },
            timeout=httpx.Timeout(20.0, connect=10.0),
            verify=_trust(*(os.environ.get(name, "") for name in _TRUST)),
            follow_redirects=False,
            # A proxy on the way to this very machine would lead nowhere.
            mounts={f"all://{host}": None for host in _LOOPBACK},
        )
        self.requests = 0

    def __repr__(self) -> str:
        return f"GitHubClient({self.base!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._http.close()

    def stop(self) -> None:
        """End all waiting, of all threads."""
        self._gate.stop()

    def json(self, path: str, params: Mapping[str, str] | None = None) -> Any:
        """Return what the JSON at a path says; errors as `get`."""
        return json.loads(self.get(path, params).body)

    def pages(self, path: str, params: Mapping[str, str] | None = None) -> Iterator[Any]:
        """Yield the entries of a list, page after page, as the header `Link` leads.

        Raises
        ------
        AnswerError
            If a page is no list, or the pages go round in circles.
        """
        visited = set()
        place: str | None = path
        while place:
            if place in visited:
                raise AnswerError(
                    f"the pages of {path} lead back to one that was read already",
                    hint="Try again later; nothing was changed.",
                )
            visited.add(place)
            # A link to the next page holds all parameters.
            answer = self.get(place, params if place == path else None)
            entries = json.loads(answer.body)
            if not isinstance(entries, list):
                raise AnswerError(f"{path} gave no list", hint="Check GITHUB_API_URL.")
            yield from entries
            place = next_page(answer.headers.get("link", ""))

    def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        etag: str = "",
        most_bytes: int = MOST_BYTES,
    ) -> Answer:
        """Return the answer to one request, with status 200 (or 304, where `etag` was given).

        Parameters
        ----------
        path
            Below the base, percent-encoded; or a whole address, such as a link to a further page.
        params
            The query.
        accept
            The form of the answer; with `JSON`, it is checked to be that.
        etag
            The entity tag of what we have.
        most_bytes
            A longer answer is none.

        Raises
        ------
        RateLimitError
            If rate limits would cost more than `max_wait`.
        AccessError, NotFoundError, EmptyRepositoryError, BlockedError, GoneError
            For 401 and 403, 404 and 422, 409, 451, 410.
        UnreachableError
            If nobody answers, or only with 5xx, after all attempts.
        AnswerError
            If what came is not GitHub's.
        """
        headers = {"Accept": accept} | ({"If-None-Match": etag} if etag else {})
        for attempt in range(self._patience.attempts):
            self._gate.enter()
            answer: Answer | None = None
            try:
                answer = self._follow(self._address(path), params, headers, most_bytes)
                problem = why_incomplete(answer, accept)
            except OSError as error:
                problem = str(error)
            wait = self._wait_after(answer, problem, attempt)
            if wait is None and answer is not None:
                return checked(answer)
            if attempt + 1 < self._patience.attempts and wait is not None:
                self._pause(wait)
        raise UnreachableError(
            f"{shown(self._address(path))} could not be had in {self._patience.attempts} "
            f"attempts: {problem or f'the server answered {answer.status if answer else 0}'}",
            hint="Check the network and GITHUB_API_URL, or look at githubstatus.com, and run it "
            "again.",
        )

    def _address(self, path: str) -> str:
        return path if path.startswith(("http://", "https://")) else f"{self.base}/{path}"

    def _wait_after(self, answer: Answer | None, problem: str, attempt: int) -> Wait | None:
        """Return how long to wait before the next attempt; None if there is no need of one."""
        if answer is None or problem:
            return Wait(self._patience.first * 2**attempt, problem, is_limit=False)
        wait = wait_time(
            answer.status, answer.headers, answer.message, attempt, patience=self._patience
        )
        if wait is None and origin(answer.url) == self._origin:
            self._gate.hold_later(used_up(answer.headers))
        return wait

    def _pause(self, wait: Wait) -> None:
        if wait.is_limit:
            self._gate.hold(wait)
        else:
            # Those who failed together shall not come back together.
            self._gate.sleep(wait.seconds * random.uniform(0.5, 1.0))

    def _follow(
        self,
        address: str,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str],
        most_bytes: int,
    ) -> Answer:
        """Make a request and follow where it is sent; an OSError is worth another attempt."""
        import httpx

        url = str(httpx.URL(address, params=dict(params))) if params else address
        for _ in range(MOST_REDIRECTS + 1):
            own = self._authorization if origin(url) == self._origin else {}
            self.requests += 1
            try:
                with self._http.stream("GET", url, headers={**headers, **own}) as response:
                    if not response.has_redirect_location:
                        body = _read(response, most_bytes)
                        found = {name.lower(): value for name, value in response.headers.items()}
                        return Answer(url, response.status_code, found, body)
                    url = next_hop(url, response.headers["location"])
            except (httpx.TransportError, httpx.DecodingError, httpx.InvalidURL) as error:
                if _is_certificate(error):
                    raise UnreachableError(
                        f"{shown(address)} has a certificate that does not match: {error}",
                        hint="Somebody may stand between you and GitHub. Behind a company's proxy, "
                        "set SSL_CERT_FILE to its certificate.",
                    ) from None
                raise OSError(f"{type(error).__name__}: {error}") from None
        raise AnswerError(
            f"{shown(address)} leads from one address to the next and to no end",
            hint="Check GITHUB_API_URL, and whether a proxy stands in between.",
        )


@lru_cache(maxsize=4)
def _trust(file: str, folder: str) -> ssl.SSLContext:
    """Return which certificates we trust; to read them all takes as long as many requests."""
    import httpx

    return httpx.create_ssl_context()


def _read(response: httpx.Response, most_bytes: int) -> bytes:
    parts, size = [], 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > most_bytes:
            raise OSError(f"the answer is longer than {most_bytes:,} bytes")
    return b"".join(parts)


def _is_certificate(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
