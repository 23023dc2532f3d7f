"""GitHub's two rate limits: so many requests an hour, and not too many at once.

The first is counted and told in headers with every answer. The second is not told; whoever meets
it is refused, with or without a word about how long.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from course_lib.teaching.github_server.answers import Answer, refusal

WITHOUT_TOKEN, WITH_TOKEN = 60, 5_000
"""Requests an hour, as GitHub documents them."""


@dataclass
class PrimaryLimit:
    """So many requests in a window, for each token, and for all who have none together.

    Attributes
    ----------
    limit
        Requests in a window; None counts as GitHub does, 60 without a token and 5,000 with one.
    window
        Seconds that it lasts, from the first request on.
    status
        What who exceeds it is told: 403, or 429.
    """

    limit: int | None = None
    window: float = 3600.0
    status: int = 403
    _used: dict[str, tuple[int, float]] = field(default_factory=dict)

    def look(self, token: str, now: float) -> tuple[int, int, float]:
        """Return the limit, what remains of it, and when the window ends."""
        limit = self.limit
        if limit is None:
            limit = WITH_TOKEN if token else WITHOUT_TOKEN
        used, ends = self._used.get(token, (0, 0.0))
        if now >= ends:
            used, ends = 0, now + self.window
        return limit, limit - used, ends

    def spend(self, token: str, now: float) -> bool:
        """Count a request, and return whether there was one left."""
        limit, remaining, ends = self.look(token, now)
        if remaining <= 0:
            return False
        self._used[token] = (limit - remaining + 1, ends)
        return True

    def give_back(self, token: str) -> None:
        """Take a request back that cost nothing, such as one that is answered by 304."""
        used, ends = self._used[token]
        self._used[token] = (used - 1, ends)

    def headers(self, token: str, now: float, offset: float) -> dict[str, str]:
        """Return what every answer says about it, by a clock that is `offset` seconds ahead."""
        limit, remaining, ends = self.look(token, now)
        return {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(remaining),
            "X-RateLimit-Used": str(limit - remaining),
            "X-RateLimit-Reset": str(math.ceil(ends + offset)),
            "X-RateLimit-Resource": "core",
        }

    def refusal(self, token: str) -> Answer:
        """Return what who has exceeded it is told."""
        who = "your account" if token else "your address"
        return refusal(self.status, f"API rate limit exceeded for {who}.")


@dataclass(frozen=True)
class SecondaryLimit:
    """Refuses the next requests.

    Attributes
    ----------
    times
        How many.
    after
        How many pass before.
    status
        What they are told: 403, or 429.
    retry_after
        Seconds in the header of that name; None leaves it out.
    """

    times: int = 1
    after: int = 0
    status: int = 403
    retry_after: int | None = 1

    def next(self) -> SecondaryLimit:
        """Return what is left of it after one more request."""
        if self.after > 0:
            return replace(self, after=self.after - 1)
        return replace(self, times=self.times - 1)

    @property
    def refuses(self) -> bool:
        """Whether the next request is refused."""
        return self.after <= 0 < self.times

    def refusal(self) -> Answer:
        """Return what the request is told."""
        answer = refusal(
            self.status,
            "You have exceeded a secondary rate limit. Please wait a few minutes before you try "
            "again.",
        )
        if self.retry_after is None:
            return answer
        return replace(answer, headers={**answer.headers, "Retry-After": str(self.retry_after)})
