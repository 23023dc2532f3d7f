"""What the pages share: the frame, the style, and the chart of a distribution."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, and those that turn the writing round."""

_STYLE = """
:root { color-scheme: light; --ink: #1a1a1a; --faint: #5f5f5f; --line: #c8c8c8; --blue: #0072b2;
  --good: #00694c; --bad: #a33c00; --unclear: #6b4c9a; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: #fff;
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.2rem; margin-top: 2rem; }
p.lead { margin-top: 0.2rem; color: var(--faint); }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; color: var(--faint); }
th, td { text-align: left; padding: 0.3rem 0.7rem; border-bottom: 1px solid var(--line);
  vertical-align: top; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: #f6f6f4; border-left: 4px solid var(--line); padding: 0.6rem 0.8rem;
  white-space: pre-wrap; overflow-wrap: anywhere; font-size: 0.9rem; }
section.check { border-top: 1px solid var(--line); } .passed { color: var(--good); }
.failed { color: var(--bad); } .undecided { color: var(--unclear); }
details { margin: 0.4rem 0; } summary { cursor: pointer; } svg { max-width: 100%; height: auto; }
li { overflow-wrap: anywhere; } .wide { overflow-x: auto; }
"""


def page(title: str, lead: str, body: str) -> str:
    """Return a whole page; `title` and `lead` are plain text, `body` is HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # The messages in it are made by other people's code.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">\n"
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(title)}</h1>\n<p class="lead">{escape(lead)}</p>\n{body}\n'
        "</main>\n</body>\n</html>\n"
    )


def shown(text: str) -> str:
    r"""Return text of somebody else's as HTML; what is no sign that can be seen is replaced.

    Examples
    --------
    >>> shown("<b>\x1b[2J")
    '&lt;b&gt;\ufffd[2J'
    """
    return escape(_UNSEEN.sub("\ufffd", text))


def points(value: float | None) -> str:
    """Return points as text; what is not decided is a dash.

    Examples
    --------
    >>> points(3.0), points(2.5), points(None)
    ('3', '2.5', '–')
    """
    return "–" if value is None else f"{value:g}"


def distribution(scores: Sequence[float], most: float) -> str:
    """Return a bar chart of how many learners had how many points, as SVG with a description.

    Parameters
    ----------
    scores
        Of those whose grade is decided.
    most
        The points that can be had.
    """
    bins = min(10, max(1, round(most)))
    counts = [0] * (bins + 1)
    for score in scores:
        counts[_bin(score, most, bins)] += 1
    width, height, bar = 620, 150, 620 / (bins + 1)
    tallest = max(*counts, 1)
    parts = []
    for place, count in enumerate(counts):
        tall = height * count / tallest
        x = place * bar
        label = f"{place * most / bins:g}"
        parts.append(
            f'<rect x="{x + 3:.1f}" y="{20 + height - tall:.1f}" width="{bar - 6:.1f}" '
            f'height="{tall:.1f}" fill="#0072b2"/>'
            f'<text x="{x + bar / 2:.1f}" y="{height + 38}" text-anchor="middle">{label}</text>'
        )
        if count:
            parts.append(
                f'<text x="{x + bar / 2:.1f}" y="{14 + height - tall:.1f}" '
                f'text-anchor="middle">{count}</text>'
            )
    said = ", ".join(f"{c} with {i * most / bins:g}" for i, c in enumerate(counts) if c)
    told = f"Learners by points: {said or 'none yet'}."
    return (
        f'<svg viewBox="0 0 {width} {height + 60}" role="img" aria-label="{escape(told)}" '
        f'font-size="13" font-family="system-ui, sans-serif"><title>{escape(told)}</title>'
        f'{"".join(parts)}<text x="{width / 2}" y="{height + 56}" text-anchor="middle">'
        "points</text></svg>"
    )


def strip(given: Sequence[float | None], most: float) -> str:
    """Return how the points of one check are distributed, as a bar in parts with a description.

    Examples
    --------
    >>> "2 with 3, 1 with 1.5, 1 undecided" in strip([3.0, 1.5, 3.0, None], 3.0)
    True
    """
    decided = sorted((one for one in given if one is not None), reverse=True)
    counts: list[tuple[str, int, str]] = [
        (f"with {points(value)}", decided.count(value), _colour(value, most))
        for value in dict.fromkeys(decided)
    ]
    if undecided := len(given) - len(decided):
        counts.append(("undecided", undecided, "#6b4c9a"))
    told = ", ".join(f"{count} {what}" for what, count, _ in counts)
    parts, at, whole = [], 0.0, 180 / max(len(given), 1)
    for _, count, colour in counts:
        wide = count * whole
        parts.append(f'<rect x="{at:.1f}" width="{wide:.1f}" height="14" fill="{colour}"/>')
        at += wide
    return (
        f'<svg viewBox="0 0 180 14" width="180" role="img" aria-label="{escape(told)}">'
        f"<title>{escape(told)}</title>{''.join(parts)}</svg><br>{escape(told)}"
    )


def _colour(value: float, most: float) -> str:
    return "#009e73" if value == most else "#e69f00" if value else "#c8c8c8"


def _bin(score: float, most: float, bins: int) -> int:
    return min(bins, max(0, int(score / most * bins + 1e-9))) if most else 0
