"""How much one client may ask in a time."""

from __future__ import annotations

import time

from limits import RateLimitItem
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter

from course_lib.service.problems import ProblemError


class RateLimiter:
    """Counts what each client does within a moving window of time.

    Parameters
    ----------
    limit
        How much is allowed; None allows all.
    what
        What is counted, for the refusal.
    """

    def __init__(self, limit: RateLimitItem | None, what: str) -> None:
        self.limit, self.what = limit, what
        self._counts = MovingWindowRateLimiter(MemoryStorage())

    async def refusal(self, client: str, cost: int = 1) -> ProblemError | None:
        """Count what a client does; return a 429 instead where that is too much."""
        if self.limit is None or await self._counts.hit(self.limit, client, cost=cost):
            return None
        window = await self._counts.get_window_stats(self.limit, client)
        seconds = max(1, round(window.reset_time - time.time() + 0.5))
        detail = f"more than {self.limit} {self.what}were asked; come back in {seconds} s"
        return ProblemError(429, detail, {"Retry-After": str(seconds)})
