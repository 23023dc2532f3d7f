"""Decorators that many modules share: measuring, remembering for a while, giving up old names."""

from __future__ import annotations

import functools
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_seconds: dict[str, list[float]] = defaultdict(list)


def timed(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Record how long each call takes, under `name`, also when it raises."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                _seconds[name].append(time.perf_counter() - started)

        return wrapper

    return decorate


def remember_for(seconds: float) -> Callable[[Callable[[], R]], Callable[[], R]]:
    """Call a function without arguments again only after `seconds` have passed."""

    def decorate(function: Callable[[], R]) -> Callable[[], R]:
        held: list[tuple[float, R]] = []

        @functools.wraps(function)
        def wrapper() -> R:
            now = time.monotonic()
            if not held or now - held[0][0] > seconds:
                held[:] = [(now, function())]
            return held[0][1]

        return wrapper

    return decorate


def renamed(new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function as kept only for callers who know it by its old name."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            message = f"{function.__name__} is now called {new}"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)

        return wrapper

    return decorate


def slowest(count: int = 5) -> list[tuple[str, float]]:
    """Return the names with the largest total time, largest first."""
    totals = ((name, sum(values)) for name, values in _seconds.items())
    return sorted(totals, key=lambda item: item[1], reverse=True)[:count]
