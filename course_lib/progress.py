"""Something to look at during a wait of over two seconds: a bar, or a line.

It is shown to people alone: on a terminal and in JupyterLab, not in a grader or a service.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from threading import Timer

DELAY_SECONDS = 2.0


def is_watched() -> bool:
    """Tell whether a person sees what is shown."""
    # Jupyter's server sets this for the kernels of people, nbclient for none.
    return "JPY_SESSION_NAME" in os.environ or (sys.stderr is not None and sys.stderr.isatty())


@contextmanager
def progress_bar(
    total: int, name: str, unit: str, *, shown: bool = True
) -> Iterator[Callable[[int], object]]:
    """Give what moves a bar on, by so many units.

    Parameters
    ----------
    total
        Units in all.
    name, unit
        What is done, and to what, as in ``"encode"`` and ``"text"``.
    shown
        Whether a bar is wanted at all.

    Examples
    --------
    >>> with progress_bar(2, "encode", "text") as advance:
    ...     for text in ("a", "b"):
    ...         _ = advance(1)
    """
    if not (shown and total and is_watched()):
        yield lambda count: None
        return
    from tqdm import tqdm

    with (
        tqdm(total=total, desc=name, unit=unit, leave=False, delay=DELAY_SECONDS) as bar,
        _later(bar.refresh),  # by itself it appears with its first step after the delay
    ):
        yield bar.update


@contextmanager
def told_if_slow(sentence: str) -> Iterator[None]:
    """Print a sentence if what is done inside takes over two seconds and cannot be counted.

    Examples
    --------
    >>> with told_if_slow("The database is starting …"):
    ...     pass
    """
    with _later(partial(print, sentence, flush=True)) if is_watched() else nullcontext():
        yield


@contextmanager
def _later(act: Callable[[], object]) -> Iterator[None]:
    """Act once if what is done inside takes longer than the delay."""
    timer = Timer(DELAY_SECONDS, act)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
