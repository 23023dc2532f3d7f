"""Real Markdown: the folder named by COURSE_BENCH_MARKDOWN, or text that everybody has.

That is the descriptions of the installed packages.
"""

from __future__ import annotations

import os
from importlib.metadata import distributions
from pathlib import Path


def real_markdown(most_characters: int = 2_000_000) -> list[str]:
    """Return texts in the order of their names, up to a number of characters in all."""
    folder = os.environ.get("COURSE_BENCH_MARKDOWN")
    if folder:
        return [path.read_text(encoding="utf-8") for path in sorted(Path(folder).rglob("*.md"))]
    described = sorted(
        {
            (distribution.name, distribution.metadata.get_payload())
            for distribution in distributions()
            if "markdown" in (distribution.metadata.get("Description-Content-Type") or "")
        }
    )
    texts: list[str] = []
    size = 0
    for _, text in described:
        if size < most_characters and isinstance(text, str) and text:
            texts.append(text)
            size += len(text)
    return texts
