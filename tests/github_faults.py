"""A local GitHub on which things go wrong on demand: each fault turns an answer into a worse one.

A fault is set for the paths that a pattern finds, for so many requests, after so many that are
answered well.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import HTMLResponse, JSONResponse, Response

from course_lib.teaching.github_server import GitHubServer

SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
)

Fault = Callable[[Response], Response]

_PAGE = (
    "<!DOCTYPE html><html><head><title>Please sign in</title></head>"
    "<body><h1>Hotel network</h1></body></html>"
)


def changed(
    answer: Response,
    body: bytes | None = None,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an answer with another body or status, and with further headers."""
    body = bytes(answer.body) if body is None else body
    made = Response(body, status or answer.status_code, answer.headers)
    made.headers.update({"Content-Length": str(len(body)), **(headers or {})})
    return made


def status(code: int, retry_after: int | None = None) -> Fault:
    """Answer with this status and a page in HTML, as a broken or overloaded service does."""
    page = f"<html><body><h1>{code}</h1><p>Unicorn!</p></body></html>"
    return lambda answer: HTMLResponse(page, code, _retry_after(retry_after))


def refused(code: int, message: str, retry_after: int | None = None) -> Fault:
    """Answer with this status and this message in JSON, as the API refuses something."""
    return lambda answer: JSONResponse({"message": message}, code, _retry_after(retry_after))


def html_page() -> Fault:
    """Answer 200 with a page to sign in, as a hotel's network does."""
    return lambda answer: HTMLResponse(_PAGE)


def short_body(keep: float = 0.5) -> Fault:
    """Close the connection in the middle of the body."""

    def cut(answer: Response) -> Response:
        short = _ShortResponse(answer.body, answer.status_code, dict(answer.headers))
        short.body = short.body[: int(len(short.body) * keep)]
        return short

    return cut


class _ShortResponse(Response):
    """Sends less than its Content-Length, so that uvicorn closes the connection."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": self.body, "more_body": True})


def hang_up() -> Fault:
    """Close the connection without an answer, which is what uvicorn does at a status of 0."""
    return lambda answer: Response(status_code=0)


def broken_json() -> Fault:
    """Answer with the first half of the JSON as if it were all."""
    return lambda answer: changed(answer, bytes(answer.body[: len(answer.body) // 2]))


def redirect(to: str, code: int = 302) -> Fault:
    """Send the client elsewhere; to its own address, and it goes round in circles."""
    return lambda answer: Response(b"", code, {"Location": to})


def changed_content() -> Fault:
    """Give a file another content than the one that was listed."""
    suffix = b"\n# changed since it was listed\n"

    def change(answer: Response) -> Response:
        if answer.headers["content-type"] != "application/json":
            return changed(answer, bytes(answer.body) + suffix)
        value = json.loads(bytes(answer.body))
        content = base64.b64decode(value["content"]) + suffix
        value |= {"content": base64.b64encode(content).decode("ascii"), "size": len(content)}
        return JSONResponse(value)

    return change


def _retry_after(seconds: int | None) -> dict[str, str]:
    return {} if seconds is None else {"Retry-After": str(seconds)}


@dataclass
class Planned:
    """A fault that waits for the requests it is meant for."""

    pattern: re.Pattern[str]
    fault: Fault
    times: float
    after: int

    def takes(self, path: str) -> bool:
        """Count a request, and return whether this fault is for it."""
        if self.times <= 0 or not self.pattern.search(path):
            return False
        if self.after > 0:
            self.after -= 1
            return False
        self.times -= 1
        return True


@dataclass
class FaultyGitHub(GitHubServer):
    """The local GitHub, with faults."""

    planned: list[Planned] = field(default_factory=list, init=False)

    def refuse(self, times: int = 1, *, status: int = 403, retry_after: int | None = 1) -> None:
        """Meet so many requests with the secondary limit, which says how long, or does not."""
        self.fail("", refused(status, SECONDARY, retry_after), times=times)

    def fail(self, pattern: str, fault: Fault, *, times: float = 1, after: int = 0) -> None:
        """Let something go wrong with requests whose path (host in front) a pattern finds.

        Parameters
        ----------
        pattern
            A regular expression, searched in ``api/repos/…?query`` or ``raw/…``.
        fault
            One of this module's.
        times
            For how many requests; ``math.inf`` for all.
        after
            How many are answered well before.
        """
        with self._lock:
            self.planned.append(Planned(re.compile(pattern), fault, times, after))

    def heal(self) -> None:
        """Forget all faults and refusals that are still planned."""
        with self._lock:
            self.planned.clear()

    def sent(self, path: str, answer: Response) -> Response:
        """Return what is sent in the place of an answer."""
        with self._lock:
            chosen = next((one for one in self.planned if one.takes(path)), None)
        return chosen.fault(answer) if chosen else answer
