"""Importing without what takes long and is not needed.

`import nbformat` imports jsonschema, which makes a parser of the grammar of internationalised
addresses each time, where a library for that happens to be installed: two seconds or more.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

SLOW = ("rfc3987_syntax",)
"""Modules that take seconds to import, and that who imports them can do without."""


@contextlib.contextmanager
def without(*names: str) -> Iterator[None]:
    """Have `import` not find some modules, unless they are there already.

    Examples
    --------
    >>> with without("a_large_one"):
    ...     import a_large_one
    Traceback (most recent call last):
    ...
    ModuleNotFoundError: import of a_large_one halted; None in sys.modules
    """
    hidden = [name for name in names if name not in sys.modules]
    modules: dict[str, Any] = sys.modules
    modules.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            if modules.get(name, ...) is None:
                del modules[name]


def quick_nbformat() -> Any:
    """Import `nbformat` without what only checks of addresses need, and return it."""
    with without(*SLOW):
        import nbformat
    return nbformat
