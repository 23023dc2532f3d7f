"""What labs about tables need around their SQL: notices and a stopwatch.

They take a connection and give plain Python values, so that a lab's own cells hold the statements
that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg


@contextmanager
def notices_shown(conn: psycopg.Connection[Any]) -> Iterator[None]:
    """Print what the server remarks on the statements inside; psycopg keeps it to itself."""

    def show(notice: psycopg.errors.Diagnostic) -> None:
        parts = (notice.message_primary, notice.message_detail, notice.message_hint)
        print(f"{notice.severity}:", " ".join(f"{part.rstrip('.')}." for part in parts if part))

    conn.add_notice_handler(show)
    try:
        yield
    finally:
        conn.remove_notice_handler(show)


def seconds(step: Callable[..., object], *arguments: Any, **options: Any) -> float:
    """Return how long a call takes, in seconds of wall-clock time."""
    begun = perf_counter()
    step(*arguments, **options)
    return perf_counter() - begun
