"""What was measured before on hardware like this: one JSON file each, one entry a run.

An entry is written again after every part, so that whatever ends a run leaves what it had measured.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from course_lib.errors import CourseError
from tests.bench.measure import Row

RESULTS = Path(__file__).parent / "results"


class HistoryError(CourseError):
    """The file of earlier runs cannot be read; nothing was measured, and nothing written."""


class History:
    """The runs on this hardware; the one that is under way is the last.

    Parameters
    ----------
    folder
        Where the files are; None keeps nothing, and knows nothing.
    name
        What the hardware is called.

    Raises
    ------
    HistoryError
        If there is a file that is not a list of runs.
    """

    def __init__(self, folder: Path | None, name: str) -> None:
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
        self.path = folder / f"{slug}.json" if folder else None
        self._runs = _read(self.path)
        self._run: dict[str, Any] = {
            "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "hardware": name,
            "python": platform.python_version(),
            "commit": _commit(),
            "parts": {},
            "rows": [],
        }

    def add(self, part: str, rows: Sequence[Row], seconds: float, load: float, error: str) -> None:
        """Keep what a part measured, or why it could not; `load` is the load average before it."""
        self._run["parts"][part] = {"seconds": round(seconds, 1), "load": round(load, 1)}
        if error:
            self._run["parts"][part]["error"] = error
        self._run["rows"] += [row.to_dict() for row in rows]
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps([*self._runs, self._run], indent=1, ensure_ascii=False) + "\n"
            temporary = self.path.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(self.path)

    def seconds(self, part: str, otherwise: float) -> float:
        """Return how long a part took the last time that it was measured to its end."""
        for run in reversed(self._runs):
            found = run.get("parts", {}).get(part)
            if found and "error" not in found:
                return float(found["seconds"])
        return otherwise

    def last(self, parts: Sequence[str]) -> list[tuple[str, list[Row]]]:
        """Return for each part that was ever measured when it last was, and its rows."""
        found = []
        for part in parts:
            for run in reversed(self._runs):
                rows = [row for row in run["rows"] if row["part"] == part]
                if rows:
                    when = f"{run['when'][:10]}, load {run['parts'][part]['load']}"
                    found.append((when, [_row(row) for row in rows]))
                    break
        return found

    def ratio(self, row: Row) -> float | None:
        """Return the ratio of the same row in the last run that has it."""
        key = (row.part, row.what, row.peer)
        for run in reversed(self._runs):
            for old in run["rows"]:
                if (old["part"], old["what"], old["peer"]) == key:
                    return float(old["ratio"])
        return None


def hardware() -> str:
    """Return the processor's name, the number of cores and the operating system."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(r"model name\s*:\s*(.+)", info.read_text(encoding="utf-8"))
        name = found[1] if found else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}"


def load() -> float:
    """Return the load average of the last minute; 0 where the system has none."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def _row(kept: dict[str, Any]) -> Row:
    names = {field.name for field in fields(Row)}
    return Row(**{name: value for name, value in kept.items() if name in names})


def _read(path: Path | None) -> list[dict[str, Any]]:
    if path is None or not path.exists():
        return []
    try:
        runs = json.loads(path.read_text(encoding="utf-8"))
        for run in runs:
            for row in run["rows"]:
                _row(row)
                _ = run["when"][:10], run["parts"][row["part"]]["load"]
        if isinstance(runs, list):
            return runs
        reason = "it is not a list of runs with rows"
    except (ValueError, OSError) as error:
        reason = str(error)
    except (TypeError, KeyError, AttributeError) as error:
        reason = f"it is not a list of runs with rows ({type(error).__name__}: {error})"
    raise HistoryError(
        f"{path.name} is not a history of runs: {reason}",
        hint=f"Mend or move {path}, or measure with --no-history.",
    )


def _commit() -> str:
    """Return the commit that is checked out, with a + where files were changed; "" without git."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        answer = subprocess.run(
            command, cwd=RESULTS.parent, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()
