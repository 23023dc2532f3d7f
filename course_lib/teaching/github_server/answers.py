"""Requests and answers as plain records, so that routes and faults are functions between them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DOCUMENTATION = "https://docs.github.com/rest"


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks.

    Attributes
    ----------
    host
        ``api``, ``raw`` for the host that gives files as they are, or ``codeload`` for archives.
    path
        Decoded, with a slash at its beginning.
    query
        The parameters; of one that is given twice the last.
    headers
        By their names in lower case.
    origin
        Scheme, host and port under which the client reached the server.
    """

    host: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    origin: str

    @property
    def token(self) -> str:
        """The token it came with, or nothing."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() in {"bearer", "token"} else ""

    @property
    def wants_raw(self) -> bool:
        """Whether it accepts bytes as they are instead of JSON."""
        accept = self.headers.get("accept", "")
        return "application/vnd.github" in accept and "raw" in accept


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back.

    Attributes
    ----------
    status, body, headers
        As HTTP has them; Content-Length is the body's.
    sent
        How many bytes of the body are sent before the connection is closed; None sends all.
    delay
        Seconds before the first byte.
    hangs_up
        Whether the connection is closed without a word.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: int | None = None
    delay: float = 0.0
    hangs_up: bool = False


def json_answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer in JSON; a good one has an entity tag."""
    body = json.dumps(value, ensure_ascii=False).encode("utf-8")
    found = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
    if status == 200:
        found["ETag"] = entity_tag(body)
    return Answer(status, body, found)


def raw_answer(body: bytes, content_type: str = "application/vnd.github.raw+json") -> Answer:
    """Return bytes as they are."""
    return Answer(200, body, {"Content-Type": content_type, "ETag": entity_tag(body)})


def refusal(status: int, message: str, **more: Any) -> Answer:
    """Return an error as GitHub words it."""
    return json_answer({"message": message, "documentation_url": DOCUMENTATION, **more}, status)


def entity_tag(body: bytes) -> str:
    """Return the entity tag of a body."""
    return f'W/"{hashlib.sha256(body).hexdigest()}"'
