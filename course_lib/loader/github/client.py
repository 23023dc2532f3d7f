"""Asking GitHub: an address goes in, a complete answer comes out, or an error that says what to do.

Every request passes the gate, is made again after what may pass (see `wait_time`), and is not made
again after what will not. The token goes to the origin it is meant for and to no other, wherever a
redirect leads. Nothing that a server sends is read further than a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict
from tenacity import (
    Future,
    RetryError,
    Retrying,
    retry_if_exception_type,
    retry_if_result,
    stop_after_attempt,
)

from course_lib import __version__
from course_lib.addresses import OWN_CERTIFICATE, explained, is_distrust, printable, shown, way_to
from course_lib.loader.github.answers import JSON, Response, read_answer
from course_lib.loader.github.errors import AnswerError, UnreachableError, error_of
from course_lib.loader.github.names import check_address, next_hop, next_page, origin
from course_lib.loader.github.waiting import Countdown, Gate, Wait, wait_after
from course_lib.settings import project_root, read_settings

PUBLIC_API, PUBLIC_RAW = "https://api.github.com", "https://raw.githubusercontent.com"
TIMEOUT_SECONDS = 20.0
"""For a server to send the next piece of an answer."""

CONNECT_TIMEOUT_SECONDS = 10.0
ATTEMPTS = 5
"""How often one request is made, at most."""

MAX_WAIT_SECONDS = 600.0
"""What rate limits may cost a download, unless it is told otherwise."""

MOST_BYTES = 40_000_000
"""Of an answer in JSON. GitHub lists no more than 100,000 entries of a tree."""

MOST_REDIRECTS = 5


class GitHubSettings(BaseSettings):
    """Which GitHub, and as whom. Read again with each download, so that a notebook may change it.

    Examples
    --------
    >>> GitHubSettings(GITHUB_TOKEN="ghp_secret").token
    SecretStr('**********')
    """

    model_config = SettingsConfigDict(
        env_file=project_root() / ".env",
        env_file_encoding="utf-8",
        env_ignore_empty=True,
        extra="ignore",
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    api_url: str = Field(
        default=PUBLIC_API, alias="GITHUB_API_URL", description="address of the REST API"
    )
    raw_url: str = Field(
        default="",
        alias="GITHUB_RAW_URL",
        description="host of raw files, which has a limit of its own; "
        "unset: GitHub's own for api.github.com, none for other servers",
    )
    token: SecretStr = Field(
        default=SecretStr(""),
        validation_alias=AliasChoices("GITHUB_TOKEN", "GH_TOKEN"),
        description="a personal access token; unset: public content, 60 requests an hour",
    )

    @property
    def raw_host(self) -> str:
        """Address of the host of raw files; nothing where none is known."""
        if self.raw_url:
            return self.raw_url
        return PUBLIC_RAW if self.api_url.rstrip("/") == PUBLIC_API else ""


class GitHubClient:
    """A connection to the REST API, which may be used by several threads.

    Parameters
    ----------
    base
        The server's address, such as ``https://api.github.com``.
    token
        What it knows us by; empty without an account.
    raw
        Address of a host that gives files as they are, without a token; nothing to do without it.
    max_wait
        Seconds that rate limits may cost in all.

    Raises
    ------
    InputError
        If the address cannot be used, the token would travel unencrypted, or the environment
        names a proxy or certificates that cannot be used.
    """

    def __init__(
        self,
        base: str,
        token: str = "",
        *,
        raw: str = "",
        max_wait: float = MAX_WAIT_SECONDS,
    ) -> None:
        self.base = check_address(base, token)
        self.raw = raw and check_address(raw)
        self._origin = origin(self.base)
        self._authorization = {"Authorization": f"Bearer {token}"} if token else {}
        shows = Countdown()
        # One for the API and one for other hosts, which do not share its limits.
        self._gates = {is_own: Gate(max_wait, shows) for is_own in (True, False)}
        with explained():
            self._http = httpx.Client(
                headers={
                    "User-Agent": f"course-lib/{__version__}",
                    "X-GitHub-Api-Version": "2022-11-28",
                    "Accept-Encoding": "gzip",
                },
                timeout=httpx.Timeout(TIMEOUT_SECONDS, connect=CONNECT_TIMEOUT_SECONDS),
                # Where a redirect may lead is judged in `_follow`.
                follow_redirects=False,
                **way_to(*filter(None, (self.base, self.raw))),
            )

    def __repr__(self) -> str:
        return f"GitHubClient({self.base!r})"

    def close(self) -> None:
        """End all waiting, of all threads, and all connections."""
        for gate in self._gates.values():
            gate.stop()
        self._http.close()

    def json(self, path: str, params: Mapping[str, str] | None = None) -> Any:
        """Return what the JSON at a path says; errors as `get`."""
        return self.get(path, params).value

    def pages(self, path: str, params: Mapping[str, str] | None = None) -> Iterator[Any]:
        """Yield the entries of a list, page after page, as the header `Link` leads.

        Raises
        ------
        AnswerError
            If a page is not a list.
        """
        place = path
        while True:
            # A link to the next page holds all parameters.
            answer = self.get(place, params if place == path else None)
            if not isinstance(answer.value, list):
                raise AnswerError(f"{path} gave no list")
            yield from answer.value
            following = next_page(answer.headers.get("link", ""))
            if following is None:
                return
            place = next_hop(answer.url, following)

    def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = JSON,
        most_bytes: int = MOST_BYTES,
        unpack: Callable[[Iterator[bytes]], None] | None = None,
    ) -> Response:
        """Return the answer to one request, with status 200.

        Parameters
        ----------
        path
            Below the base, percent-encoded; or a whole address, such as a link to a further page.
        params
            The query.
        accept
            The form of the answer; with `JSON`, it is checked to be that.
        most_bytes
            A longer answer is none.
        unpack
            Reads a good answer as it comes, of whatever form; its body is empty then.

        Raises
        ------
        RateLimitError
            If rate limits would cost more than `max_wait`.
        NotFoundError, GoneError, GitHubError
            For 404 and 422, 410, and what else is refused (401, 403, 409, 451, …).
        UnreachableError
            If no server answers, or only with 5xx, after all attempts.
        AnswerError
            If what came is not GitHub's.
        """
        url = path if path.startswith(("http://", "https://")) else f"{self.base}/{path}"
        if params:
            url = str(httpx.URL(url, params=dict(params)))
        gate = self._gates[origin(url) == self._origin]

        def ask() -> Response:
            gate.enter()
            answer = self._follow(url, {"Accept": accept}, most_bytes, unpack)
            if answer.status == 200 and accept == JSON and not unpack:
                try:
                    answer.value  # noqa: B018 - half of the JSON is worth another attempt
                except ValueError as error:
                    raise OSError(f"the JSON is not whole: {error}") from None
            return answer

        retrying = Retrying(
            retry=retry_if_exception_type(OSError)
            | retry_if_result(lambda answer: answer.wait() is not None),
            wait=lambda state: _wait_of(state.outcome).seconds,
            before_sleep=lambda state: gate.close(_wait_of(state.outcome)),
            sleep=lambda seconds: gate.enter(),
            stop=stop_after_attempt(ATTEMPTS),
        )
        try:
            answer: Response = retrying(ask)
        except RetryError as error:
            raise UnreachableError(
                f"{shown(url)} could not be had in {ATTEMPTS} attempts: "
                f"{_wait_of(error.last_attempt).reason}",
                hint="Check the network and GITHUB_API_URL, or look at githubstatus.com, and run "
                "it again.",
            ) from None
        if answer.status == 200:
            # After the last answer of an hour, whoever comes next waits for the hour to end.
            last = wait_after(403, answer.headers) if origin(answer.url) == self._origin else None
            if last:
                self._gates[True].close(last)
            return answer
        needs = answer.headers.get("x-accepted-github-permissions", "")
        raise error_of(answer.status, shown(answer.url), answer.message, needs)

    def _follow(
        self,
        url: str,
        headers: Mapping[str, str],
        most_bytes: int,
        unpack: Callable[[Iterator[bytes]], None] | None,
    ) -> Response:
        """Make a request and follow where it is sent; an OSError is worth another attempt."""
        address = url
        for _ in range(MOST_REDIRECTS + 1):
            own = self._authorization if origin(url) == self._origin else {}
            try:
                with self._http.stream("GET", url, headers={**headers, **own}) as response:
                    if not response.has_redirect_location:
                        return read_answer(url, response, most_bytes, unpack)
                    url = next_hop(url, response.headers["location"])
            except (httpx.InvalidURL, UnicodeError):
                raise AnswerError(
                    f"{shown(address)} leads to what is not an address",
                    hint="Check GITHUB_API_URL, and whether a proxy is in between.",
                ) from None
            except (httpx.TransportError, httpx.DecodingError) as error:
                if is_distrust(error):
                    raise UnreachableError(
                        f"{shown(address)} has a certificate that does not match: {error}",
                        hint=f"Another machine may be between you and GitHub. {OWN_CERTIFICATE}",
                    ) from None
                raise OSError(f"{type(error).__name__}: {error}") from None
        raise AnswerError(
            f"{shown(address)} leads from one address to the next and to no end",
            hint="Check GITHUB_API_URL, and whether a proxy is in between.",
        )


def open_client(token: str | None = None, max_wait: float = MAX_WAIT_SECONDS) -> GitHubClient:
    """Return a client for the GitHub of the settings; None takes the token from there.

    Raw files are not counted against the 60 requests an hour that one without a token has. With a
    token the API is asked for files, because the token is nothing for another host.
    """
    found = read_settings(GitHubSettings)
    secret = (found.token.get_secret_value() if token is None else token).strip()
    raw = "" if secret else found.raw_host
    return GitHubClient(found.api_url, secret, raw=raw, max_wait=max_wait)


def _wait_of(outcome: Future | None) -> Wait:
    """Return how long to wait after an attempt that failed."""
    assert outcome is not None
    attempt, error = outcome.attempt_number - 1, outcome.exception()
    told = None if error else outcome.result().wait(attempt)
    return told or Wait(2.0**attempt, printable(error), is_limit=False)
