"""A client of the model registry over HTTP, with retries that do not make an outage worse."""

from __future__ import annotations

import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

RETRY_STATUS = frozenset({429, 502, 503, 504})


class RegistryError(RuntimeError):
    """The registry refused, or could not be reached in the time allowed."""


@dataclass(frozen=True)
class RetryPolicy:
    """How often, and after what pauses, a request is made again."""

    attempts: int = 5
    first_pause: float = 0.2
    longest_pause: float = 10.0

    def pauses(self) -> Iterator[float]:
        """Yield the pause before each repetition: doubled each time, with full jitter.

        Without jitter, clients that failed together would return together and fail again.
        """
        for attempt in range(self.attempts - 1):
            yield random.uniform(0, min(self.longest_pause, self.first_pause * 2**attempt))


@dataclass(frozen=True)
class ModelVersion:
    """A registered version of a model."""

    model: str
    version: int
    uri: str
    digest: str


class RegistryClient:
    """Talks to one registry.

    Reading is repeated after a failure. Writing is repeated only with an idempotency key, because
    the first attempt may have succeeded although its answer was lost.
    """

    def __init__(
        self,
        base_url: str,
        token: str = "",
        *,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Remember the address; nothing is sent yet."""
        self._base_url = base_url.rstrip("/")
        self._token = token
        self._policy = policy or RetryPolicy()
        self._sleep = sleep

    def resolve(self, model: str, alias: str = "champion") -> ModelVersion:
        """Return the version that an alias points to at this moment."""
        answer = self._request("GET", f"/models/{model}/aliases/{alias}")
        return ModelVersion(model, int(answer["version"]), answer["uri"], answer["digest"])

    def register(self, model: str, uri: str, digest: str, *, key: str) -> ModelVersion:
        """Register a new version; the same key twice gives the same version."""
        body = {"uri": uri, "digest": digest}
        answer = self._request("POST", f"/models/{model}/versions", body, key=key)
        return ModelVersion(model, int(answer["version"]), uri, digest)

    def move_alias(self, model: str, alias: str, version: int, *, expected: int) -> None:
        """Point an alias at another version, unless somebody else has moved it meanwhile."""
        body = {"version": version, "expected": expected}
        self._request("PUT", f"/models/{model}/aliases/{alias}", body)

    def _request(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, key: str = ""
    ) -> dict[str, Any]:
        repeatable = method == "GET" or bool(key)
        pauses = self._policy.pauses() if repeatable else iter(())
        while True:
            try:
                return self._send(method, path, body, key)
            except urllib.error.HTTPError as error:
                if error.code not in RETRY_STATUS:
                    raise RegistryError(f"{method} {path}: status {error.code}") from error
                reason = f"status {error.code}"
            except (urllib.error.URLError, TimeoutError) as error:
                reason = str(error)
            pause = next(pauses, None)
            if pause is None:
                raise RegistryError(f"{method} {path}: gave up, last {reason}")
            self._sleep(pause)

    def _send(
        self, method: str, path: str, body: dict[str, Any] | None, key: str
    ) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode("utf-8")
        request = urllib.request.Request(self._base_url + path, data=data, method=method)
        request.add_header("Content-Type", "application/json")
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        if key:
            request.add_header("Idempotency-Key", key)
        with urllib.request.urlopen(request, timeout=10) as response:
            answer: dict[str, Any] = json.load(response)
            return answer
