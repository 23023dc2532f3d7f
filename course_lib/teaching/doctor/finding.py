"""One finding of the doctor, and how to look for what may never end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Literal, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Finding:
    """What was looked at, how it is, and what to do about it.

    Parameters
    ----------
    name
        What was looked at.
    state
        `ok`; `warn`: the course runs, less well; `fail`: it does not.
    detail
        What was found.
    fix
        What to do; empty where nothing is wrong.
    """

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""


def begin(examination: Callable[[], T]) -> Future[T]:
    """Begin an examination in a thread of its own, which is left behind where it does not end."""
    begun: Future[T] = Future()

    def run() -> None:
        try:
            begun.set_result(examination())
        except Exception as error:
            begun.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return begun
