"""What a session of faults leaves: figures, as lines of a table and as JSON beside the bench's."""

from __future__ import annotations

import datetime
import json
import platform
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.history import RESULTS, hardware, load

MOST_SESSIONS = 20
"""Kept in a file; the oldest make room."""


def keep(figures: dict[str, Any], folder: Path = RESULTS) -> Path:
    """Add the figures of a session to the results of this hardware; return the file."""
    folder.mkdir(exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", hardware().lower()).strip("-")
    path = folder / f"faults-{name}.json"
    history = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    session = {
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "load of the machine": round(load(), 1),
        **figures,
    }
    text = json.dumps([*history, session][-MOST_SESSIONS:], indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8", newline="\n")
    return path


def lines_of(figures: dict[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield what each figure is called, and the figure.

    Examples
    --------
    >>> list(lines_of({"kills": 50, "by kind": {"shard": 10}}))
    [('kills', '50'), ('by kind: shard', '10')]
    """
    for name, figure in figures.items():
        if isinstance(figure, dict) and all(isinstance(one, dict) for one in figure.values()):
            for inner, found in figure.items():
                yield from lines_of(found, f"{before}{inner}: ")
        elif isinstance(figure, dict) and before:
            yield f"{before}{name}", ", ".join(f"{what} {one}" for what, one in figure.items())
        elif isinstance(figure, dict):
            yield from lines_of(figure, f"{name}: ")
        else:
            yield f"{before}{name}", str(figure)
