"""GitHub's primary rate limit: so many requests an hour, told in headers with every answer."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class PrimaryLimit:
    """So many requests in a window, for each token, and for all requests without one together.

    Attributes
    ----------
    limit
        Requests in a window. GitHub gives 60 without a token and 5,000 with one.
    window
        Seconds that it lasts, from the first request on.
    status
        What a request above the limit is answered: 403, or 429.

    Examples
    --------
    >>> primary = PrimaryLimit(limit=2, window=60)
    >>> [primary.take("", now=1.0) for _ in range(3)], primary.take("", now=61.0)
    ([True, True, False], True)
    """

    limit: int = 5_000
    window: float = 3600.0
    status: int = 403
    _ends: float = 0.0
    _used: Counter[str] = field(default_factory=Counter)

    def take(self, token: str, now: float) -> bool:
        """Count a request, and return whether there was one left."""
        if now >= self._ends:
            self._used.clear()
            self._ends = now + self.window
        has_left = self._used[token] < self.limit
        self._used[token] += has_left
        return has_left

    def headers(self, token: str, offset: float) -> dict[str, str]:
        """Return what every answer says about it, by a clock that is `offset` seconds ahead."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.limit - self._used[token]),
            "X-RateLimit-Reset": str(math.ceil(self._ends + offset)),
        }
