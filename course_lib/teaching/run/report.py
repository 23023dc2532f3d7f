"""Say how a run went: one page that needs no network, and a few lines for the terminal."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from course_lib.teaching.run.one_lab import LabRun

_LABELS = {"recall_at_5": "recall@5", "mrr": "MRR", "note": "what changed"}


def index_page(runs: Sequence[LabRun], database: str) -> str:
    """Return `index.html` for a run.

    Parameters
    ----------
    runs
        The labs; their pages are beside this one.
    database
        Which one they used, in words.
    """
    texts = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True)
    page = texts.from_string(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
    return page.render(
        runs=runs,
        database=database,
        headline=_headline(runs),
        now=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        python=platform.python_version(),
        system=platform.system(),
        where=_where,
        duration=_duration,
        figures=figures,
    )


def summary(runs: Sequence[LabRun]) -> str:
    """Return a run in a few lines of plain text: each lab, where one failed, the headline."""
    lines = []
    for run in runs:
        lines.append(f"{run.lab}  {run.status:<11} {_duration(run.seconds):>8}  {run.title}")
        if run.error:
            lines.append(f"    {_where(run.error)}")
            lines.append(f"    {run.error['message']}")
            if run.html:
                lines.append(f"    {run.html}")
    return "\n".join([*lines, _headline(runs)])


def figures(scorecard: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the metrics of a scorecard with their values as text.

    Examples
    --------
    >>> list(figures({"lab": "07", "recall_at_5": 0.91234, "mrr": None}))
    [('recall@5', '0.912')]
    """
    for name, value in scorecard.items():
        if name != "lab" and value not in (None, ""):
            text = f"{value:.3g}" if isinstance(value, float) else str(value)
            yield _LABELS.get(name, name), text


def _headline(runs: Sequence[LabRun]) -> str:
    passed = sum(run.passed for run in runs)
    return f"{passed} of {len(runs)} labs passed"


def _where(error: Mapping[str, str]) -> str:
    parts = [f"cell {error['cell']}" if error.get("cell") else "", error.get("line", "")]
    return ": ".join(part for part in parts if part)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"
