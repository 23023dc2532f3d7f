"""Say how a run went: one page that needs no network, and a few lines for the terminal."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course_lib.teaching.run.one_lab import LabRun

ERROR_ANCHOR = "papermill-error-cell"
_LABELS = {"recall_at_5": "recall@5", "mrr": "MRR", "note": "what changed"}
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5d6b7c; --line: #dfe4ea;
  --paper: #fbfbf9; --card: #fff; --good: #1a7f4b; --bad: #b42318; --wait: #8a6100; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa7b6; --line: #303a46;
  --paper: #14181d; --card: #1b2127; --good: #5fd39a; --bad: #ff8a80; --wait: #e8b84a; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 3rem 1.25rem; }
h1 { font-size: 1.7rem; margin: 0 0 .25rem; }
p { margin: .25rem 0; color: var(--soft); }
table { width: 100%; border-collapse: collapse; margin-top: 1.75rem; background: var(--card);
  border: 1px solid var(--line); border-radius: .5rem; overflow: hidden; }
th, td { padding: .7rem .9rem; text-align: left; vertical-align: top;
  border-top: 1px solid var(--line); }
thead th { border-top: 0; font-size: .8rem; color: var(--soft); font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.status { font-weight: 600; white-space: nowrap; }
.passed { color: var(--good); } .failed { color: var(--bad); } .interrupted { color: var(--wait); }
a { color: inherit; text-underline-offset: .2em; }
dl { margin: 0; display: grid; grid-template-columns: auto 1fr; gap: 0 1rem; font-size: .9rem; }
dt { color: var(--soft); } dd { margin: 0; font-variant-numeric: tabular-nums; }
code { font: .85em ui-monospace, Consolas, monospace; overflow-wrap: anywhere; }
"""


def index_page(runs: Sequence[LabRun], database: str) -> str:
    """Return `index.html` for a run.

    Parameters
    ----------
    runs
        The labs; their pages are beside this one.
    database
        Which one they used, in words.
    """
    rows = "\n".join(_row(run) for run in runs)
    now = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Labs: {escape(_headline(runs))}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{escape(_headline(runs))}</h1>
<p>{now} · Python {platform.python_version()} on {platform.system()} · database:
{escape(database)}</p>
<table>
<thead><tr><th>Lab</th><th>Status</th><th class="number">Time</th><th>Scorecard</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
</main>
</body>
</html>
"""


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


def _row(run: LabRun) -> str:
    title = f"{escape(run.lab)} · {escape(run.title)}"
    if run.html:
        title = f'<a href="{escape(run.html.name)}">{title}</a>'
    detail = ""
    if run.error:
        where = f"<code>{escape(_where(run.error))}</code>" if _where(run.error) else ""
        if run.html and where:
            where = f'<a href="{escape(run.html.name)}#{ERROR_ANCHOR}">{where}</a>'
        detail = f"<p>{where}<br><code>{escape(run.error['message'])}</code></p>"
    card = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in figures(run.scorecard)
    )
    return (
        f"<tr><td>{title}{detail}</td>"
        f'<td class="status {run.status}">{run.status}</td>'
        f'<td class="number">{_duration(run.seconds)}</td>'
        f"<td>{f'<dl>{card}</dl>' if card else ''}</td></tr>"
    )
