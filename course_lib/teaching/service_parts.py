"""Parts of a service, each in another state, to try a readiness check with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


async def works() -> str:
    """Be ready."""
    return "ready"


async def loads() -> str:
    """Say what is not ready yet."""
    return "the model is being loaded"


async def raises() -> str:
    """Raise an error whose text no client may see."""
    raise RuntimeError("db.internal refused the password tulip-42")


async def hangs() -> str:
    """Answer only after a minute."""
    return await asyncio.sleep(60, "ready")


def meeting(count: int = 2) -> list[Callable[[], Awaitable[str]]]:
    """Return parts, two or more, that are there as soon as all have been asked.

    Examples
    --------
    >>> async def ask() -> list[str]:
    ...     return await asyncio.gather(*(part() for part in meeting()))
    >>> asyncio.run(ask())
    ['ready', 'ready']
    """
    barrier = asyncio.Barrier(count)

    async def meets() -> str:
        await barrier.wait()
        return "ready"

    return [meets] * count
