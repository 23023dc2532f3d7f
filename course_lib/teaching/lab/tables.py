"""A stopwatch for a lab's own cells."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any


def seconds(step: Callable[..., object], *arguments: Any, **options: Any) -> float:
    """Return how long a call takes, in seconds of wall-clock time.

    Examples
    --------
    >>> seconds(sorted, [2, 1]) < 60
    True
    """
    begun = perf_counter()
    step(*arguments, **options)
    return perf_counter() - begun
