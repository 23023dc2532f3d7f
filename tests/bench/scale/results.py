"""Figures on disk: those of an unfinished run in its state folder, those of finished ones kept.

The kept file is named by the hardware; a run replaces the figures that it measured again, and each
part says when that was.
"""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

from tests.bench.measure import hardware

Figures = dict[str, Any]
RESULTS = Path(__file__).parents[1] / "results"


class Partial:
    """What a run has measured so far, written down after every step."""

    def __init__(self, path: Path) -> None:
        self._path = path
        there = path.exists()
        self._figures: Figures = json.loads(path.read_text(encoding="utf-8")) if there else {}

    def part(self, name: str) -> Figures:
        """Return what is measured of a part."""
        return dict(self._figures.get(name, {}))

    def put(self, part: str, name: str, figures: object) -> None:
        """Add a measurement, with the time, and write everything down."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        self._figures.setdefault(part, {})[name] = figures
        self._figures.setdefault("when", {})[f"{part} {name}"] = now
        _write(self._path, self._figures)

    def everything(self) -> Figures:
        """Return all of it."""
        return self._figures

    def remove(self) -> None:
        """Forget it, once it is kept elsewhere."""
        self._path.unlink(missing_ok=True)


def merge(figures: Figures, folder: Path = RESULTS) -> Path:
    """Put a run's figures into the file of this hardware, over older ones of the same name."""
    name = re.sub(r"[^a-z0-9]+", "-", hardware().lower()).strip("-")
    path = folder / f"scale-{name}.json"
    kept: Figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept["hardware"] = hardware()
    for part, named in figures.items():
        kept.setdefault(part, {}).update(named)
    kept["sizes"] = dict(sorted(kept.get("sizes", {}).items(), key=lambda item: int(item[0])))
    folder.mkdir(parents=True, exist_ok=True)
    _write(path, kept)
    return path


def _write(path: Path, figures: Figures) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)
