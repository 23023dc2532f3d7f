"""Golden files: what the project gave when the file was written, one JSON record a line.

A test fails where the project gives something else. Where the change is meant, write the files
again and look at the difference before it is committed:

    COURSE_GOLDEN=write .venv/bin/python -m pytest tests/blackbox
    git diff tests/blackbox/golden

Every changed file is named, with the reason, in the closing note of the work that changed it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parent / "golden"
MOST_LINES = 40
"""Lines of a difference that a failed test shows."""


def read_golden(name: str) -> list[dict[str, Any]]:
    """Return a golden file's records."""
    lines = (GOLDEN / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def writing() -> bool:
    """Tell whether this run writes golden files instead of comparing with them."""
    return os.environ.get("COURSE_GOLDEN") == "write"


def write_golden(name: str, records: Iterable[Mapping[str, Any]]) -> None:
    """Write a golden file."""
    path = GOLDEN / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{_line(record)}\n" for record in records), encoding="utf-8")


def hold_golden(name: str, records: Iterable[Mapping[str, Any]]) -> None:
    """Compare records with a golden file, or write it where this run writes them.

    Parameters
    ----------
    name
        The file's path below `golden/`, without `.jsonl`.
    records
        What the project gives, in a fixed order; no times, no random names, floats rounded.
    """
    given = list(records)
    if writing():
        write_golden(name, given)
        return
    new, old = [_line(record) for record in given], [_line(each) for each in read_golden(name)]
    if new == old:
        return
    changes = list(unified_diff(old, new, "golden", "now", n=0, lineterm=""))
    shown = "\n".join(line[:400] for line in changes[:MOST_LINES])
    rest = f"\n… {len(changes) - MOST_LINES} more lines" if len(changes) > MOST_LINES else ""
    pytest.fail(
        f"golden/{name}.jsonl says something else. Where the change is meant, write it again with "
        f"COURSE_GOLDEN=write.\n{shown}{rest}",
        pytrace=False,
    )


def _line(record: Mapping[str, Any]) -> str:
    # ASCII: U+2028 and its like stay on one line, and are seen.
    return json.dumps(record, ensure_ascii=True, sort_keys=False)
