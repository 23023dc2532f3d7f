"""What goes wrong on a network, on demand: each fault turns an answer into a worse one.

A fault is set for the paths that a pattern finds, for so many requests, after so many that are
answered well.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from course_lib.teaching.github_server.answers import Answer

Fault = Callable[[Answer], Answer]

_PAGE = (
    b"<!DOCTYPE html><html><head><title>Please sign in</title></head>"
    b"<body><h1>Hotel network</h1></body></html>"
)


def status(code: int, retry_after: int | None = None) -> Fault:
    """Answer with this status and a page in HTML, as a broken or overloaded service does."""
    headers = {"Content-Type": "text/html"}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    page = f"<html><body><h1>{code}</h1><p>Unicorn!</p></body></html>".encode()
    return lambda answer: Answer(code, page, headers)


def refused(code: int, message: str) -> Fault:
    """Answer with this status and this message in JSON, as the API refuses something."""
    body = json.dumps({"message": message}).encode()
    return lambda answer: Answer(code, body, {"Content-Type": "application/json"})


def html_page() -> Fault:
    """Answer 200 with a page to sign in, as a hotel's network does."""
    return lambda answer: Answer(200, _PAGE, {"Content-Type": "text/html; charset=utf-8"})


def short_body(keep: float = 0.5) -> Fault:
    """Close the connection in the middle of the body."""
    return lambda answer: replace(answer, sent=int(len(answer.body) * keep))


def hang_up() -> Fault:
    """Close the connection without a word."""
    return lambda answer: replace(answer, hangs_up=True)


def delay(seconds: float) -> Fault:
    """Answer well, but late."""
    return lambda answer: replace(answer, delay=seconds)


def broken_json() -> Fault:
    """Answer with the first half of the JSON as if it were all."""
    return lambda answer: replace(answer, body=answer.body[: len(answer.body) // 2])


def redirect(to: str, code: int = 302) -> Fault:
    """Send the client elsewhere; to its own address, and it goes round in circles."""
    return lambda answer: Answer(code, b"", {"Location": to})


def changed_content(suffix: bytes = b"\n# changed since it was listed\n") -> Fault:
    """Give a file another content than the one that was listed."""

    def change(answer: Answer) -> Answer:
        if "json; charset" not in answer.headers.get("Content-Type", ""):
            return replace(answer, body=answer.body + suffix)
        value = json.loads(answer.body)
        content = base64.b64decode(value["content"]) + suffix
        value |= {"content": base64.b64encode(content).decode("ascii"), "size": len(content)}
        return replace(answer, body=json.dumps(value).encode("utf-8"))

    return change


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
