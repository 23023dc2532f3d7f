"""The figures that are kept: a file named by the hardware, each part of which says when it was."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path
from typing import Any

from tests.bench.measure import hardware

Figures = dict[str, Any]
RESULTS = Path(__file__).parents[1] / "results"


def keep(part: str, name: str, figures: object) -> Path:
    """Put a measurement into the file of this hardware, over an older one of the same name."""
    slug = re.sub(r"[^a-z0-9]+", "-", hardware().lower()).strip("-")
    path = RESULTS / f"scale-{slug}.json"
    kept: Figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    kept["hardware"] = hardware()
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    kept.setdefault(part, {})[name] = figures
    kept.setdefault("when", {})[f"{part} {name}"] = now
    kept["sizes"] = dict(sorted(kept.get("sizes", {}).items(), key=lambda item: int(item[0])))
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return path
