"""The running scorecard: one line a lab, kept in `.course/scorecard/`, shown with earlier ones.

Each lab writes a file of its own, so that labs which run at the same time do not write over each
other. Times are not part of it: one run of one machine says little about them.
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import Any

from course_lib.settings import make_folder, state_dir

MIME = "application/vnd.course.scorecard+json"
COLUMNS = ("lab", "recall@5", "MRR", "what changed")


@dataclass(frozen=True)
class Row:
    """One lab's figures; None where a lab does not measure one."""

    lab: str
    recall_at_5: float | None = None
    mrr: float | None = None
    note: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return the row as text, in the order of `COLUMNS`.

        Examples
        --------
        >>> Row("06", recall_at_5=0.9, note="hybrid").cells()
        ('06', '0.90', '–', 'hybrid')
        """
        recall, mrr = (
            "–" if value is None else f"{value:.2f}" for value in (self.recall_at_5, self.mrr)
        )
        return self.lab, recall, mrr, self.note


@dataclass(frozen=True)
class Scorecard:
    """The rows up to a lab; the last one is the lab's own."""

    rows: tuple[Row, ...]

    def __str__(self) -> str:
        table = [COLUMNS, *(row.cells() for row in self.rows)]
        widths = [max(len(line[i]) for line in table) for i in range(len(COLUMNS))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in table
        )

    __repr__ = __str__

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {
            MIME: asdict(self.rows[-1]),
            "text/html": self._html(),
            "text/plain": str(self),
        }

    def _html(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in COLUMNS)
        body = []
        for row in self.rows:
            tag = "th" if row is self.rows[-1] else "td"
            body.append(
                "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row.cells()) + "</tr>"
            )
        return (
            f"<table><caption>Scorecard</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{''.join(body)}</tbody></table>"
        )


def update(row: Row, folder: Path | None = None) -> Scorecard:
    """Keep a lab's row and return the card up to that lab.

    Parameters
    ----------
    row
        Takes the place of the lab's earlier row.
    folder
        Where the rows are kept; `.course/scorecard` without it.
    """
    folder = folder or state_dir() / "scorecard"
    make_folder(folder)
    handle, name = tempfile.mkstemp(dir=folder, prefix=".", suffix=".json")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(asdict(row), file)
    os.replace(name, folder / f"{row.lab}.json")
    earlier = [
        _read(path) for path in sorted(folder.glob("[0-9][0-9].json")) if path.stem < row.lab
    ]
    return Scorecard((*(one for one in earlier if one is not None), row))


def _read(path: Path) -> Row | None:
    """Return a row, or None where a file of another version of the course is."""
    try:
        return Row(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
