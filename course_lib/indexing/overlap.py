"""Two things at a time: while one batch is encoded, the one before is written, the next is split.

Encoding keeps the calling thread busy and leaves the interpreter to others most of the time. One
helper thread does the rest, one thing after the other, so that nothing in it is done twice at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Batch = TypeVar("Batch")
Encoded = TypeVar("Encoded")
Result = TypeVar("Result")

PATIENCE = 10.0
"""Seconds that a run which failed waits for what its helper is at."""


def overlapped(
    batches: Iterator[Batch],
    encode: Callable[[Batch], Encoded],
    write: Callable[[Encoded], object],
    *,
    give_up: Callable[[], object] = lambda: None,
) -> None:
    """Encode every batch in this thread and write it, in order, in another one.

    Parameters
    ----------
    batches
        What to encode. It is advanced in the helper thread, one batch ahead.
    encode, write
        Called with each batch, and with what `encode` made of it. A batch is encoded only when the
        one before the last is written.
    give_up
        Called when a write that was under way as something failed (or Ctrl-C came) does not end
        in `PATIENCE`; has to make it end.

    Raises
    ------
    BaseException
        What any of the three raised first, after the write that was under way has ended. Nothing
        is written after a write that failed.

    Examples
    --------
    >>> overlapped(iter([1, 2, 3]), lambda number: number * 10, print)
    10
    20
    30
    """
    end = object()
    helper = _Helper()
    written: Future[object] | None = None
    try:
        upcoming: Future[Any] = helper.submit(lambda: next(batches, end))
        while (batch := upcoming.result()) is not end:
            upcoming = helper.submit(lambda: next(batches, end))
            encoded = encode(batch)
            if written is not None:
                written.result()
            written = helper.submit(lambda encoded=encoded: write(encoded))  # type: ignore[misc]
        if written is not None:
            written.result()
    except BaseException:
        if written is not None and wait([written], PATIENCE).not_done:
            give_up()
        raise
    finally:
        helper.end()


class _Helper:
    """A thread that does what it is given, in turn. It keeps no process from ending."""

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="overlapped", daemon=True)
        self._thread.start()

    def submit(self, function: Callable[[], Result]) -> Future[Result]:
        """Do this after everything that was given before; return its future."""
        future: Future[Result] = Future()

        def work() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        self._work.put(work)
        return future

    def end(self) -> None:
        """Wait until all is done, for as long as `PATIENCE`; somebody's parser may never end."""
        self._work.put(None)
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()
