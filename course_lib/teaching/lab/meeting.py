"""Run two pieces of work at the same time, so that they meet at chosen places.

A race that happens only by chance cannot be shown. Here each work waits, wherever it calls
``meet()``, until the other has come as far.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg


def at_once(
    connect: Callable[..., psycopg.Connection[Any]],
    work: Callable[..., object],
    first: tuple[Any, ...],
    second: tuple[Any, ...],
    *,
    patience: float = 60.0,
) -> bool:
    """Run a function twice at the same time, and return whether the two met.

    Parameters
    ----------
    connect
        Opens a connection, as `lab.connect`: each has its own, which commits each statement.
    work
        Called as ``work(connection, *first, meet)``, and so with `second`. Where it calls
        ``meet()``, it waits for the other to do so, too.
    first, second
        What the two are about.
    patience
        Seconds to wait; then both go on alone, and do not wait again.

    Raises
    ------
    Exception
        What the first one raised, or else the second.

    Examples
    --------
    >>> at_once(lab.connect, sync, ("one", packages), ("two", packages))      # doctest: +SKIP
    True
    """
    barrier = Barrier(2)
    met = []

    def meet() -> None:
        try:
            barrier.wait(patience)
        except BrokenBarrierError:
            return
        met.append(True)

    def run(arguments: tuple[Any, ...]) -> None:
        try:
            with connect(autocommit=True) as connection:
                work(connection, *arguments, meet)
        except BaseException:
            barrier.abort()  # the other need not wait for who will not come
            raise

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run, arguments) for arguments in (first, second)]
    for each in runs:
        each.result()
    return bool(met)
