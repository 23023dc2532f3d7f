"""libpq's variables (PGSSLMODE, PGSERVICE, …): they are for other servers than the embedded one."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MISLEADING = "PG"
"""What their names begin with."""


def forget_libpq_variables() -> dict[str, str]:
    """Take libpq's variables from this process, and return them.

    Some cannot be overridden by a URL. Whatever connects to the embedded server from here on, in
    this process and those that it starts, is without them.
    """
    return {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(MISLEADING)}


@contextmanager
def without_libpq_variables() -> Iterator[None]:
    """Hide libpq's variables while the block runs, from a process that may need them later."""
    with _hiding:
        hidden = forget_libpq_variables()
        try:
            yield
        finally:
            os.environ.update(hidden)


_hiding = threading.RLock()
