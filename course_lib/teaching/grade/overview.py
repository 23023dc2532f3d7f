"""The instructor's page of a run: how it went, what was hard, what to look at."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from course_lib.teaching.grade.copies import COURSE
from course_lib.teaching.grade.marking import Grade, Mark
from course_lib.teaching.grade.master import Master
from course_lib.teaching.grade.report import Report

COMMONEST = 3
"""Wrong answers that are shown of each check."""

MOST_COPIES = 60

_DIFFERENT = re.compile(r"(?<=<ipython-input-)\d+-\w+|0x[0-9a-f]+|\d+")
"""What differs in messages that say the same."""

UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, and those that turn the writing round."""


def overview_page(report: Report, master: Master) -> str:
    """Return the page of a whole run."""
    from jinja2 import Environment, StrictUndefined

    texts = Environment(
        autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True,
        finalize=lambda value: UNSEEN.sub("\ufffd", value) if type(value) is str else value,
    )  # fmt: skip
    answers = {one.learner: one.answers for one in report.grades} | {COURSE: master.solutions}
    scores, most = [one.score for one in report.graded], master.points
    checks = [
        _check(cell.grade_id, cell.points, [(one.learner, one.marks[at]) for one in report.grades])
        for at, cell in enumerate(master.checks)
    ]
    page = texts.from_string(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
    return page.render(
        report=report,
        master=master,
        most=most,
        scores=scores,
        spread=_spread(scores, most),
        undecided=[(one.learner, _why(one)) for one in report.grades if one.status != "graded"],
        checks=sorted(checks, key=lambda check: check["share"]),
        flagged=sorted((one for one in report.grades if one.flags), key=lambda one: -one.score),
        copies=[
            (copy, [answers[who].get(copy.answer, "") for who in (copy.one, copy.other)])
            for copy in report.copies[:MOST_COPIES]
        ],
        times=[one.seconds for one in report.grades],
        median=median,
        points=points,
    )


def points(value: float | None) -> str:
    """Return points as text; what is not decided is a dash.

    Examples
    --------
    >>> points(3.0), points(2.5), points(None)
    ('3', '2.5', '–')
    """
    return "–" if value is None else f"{value:g}"


def commonest(said: Iterable[tuple[str, str]]) -> list[tuple[str, list[str]]]:
    """Group learners by what a check told them; numbers, addresses and cells may differ.

    The commonest come first.

    Examples
    --------
    >>> commonest([("ada", "got 3"), ("bob", "got 4"), ("cy", "no such name")])
    [('got 3', ['ada', 'bob']), ('no such name', ['cy'])]
    >>> place = "SyntaxError: expected ':' (<ipython-input-1-{}>, line 3)".format
    >>> [learners for _, learners in commonest([("ada", place("deb3")), ("bob", place("f00d"))])]
    [['ada', 'bob']]
    """
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for learner, text in said:
        short = "\n".join(text.splitlines()[:5])
        groups[_DIFFERENT.sub("#", short)].append((learner, short))
    ordered = sorted(groups.values(), key=lambda group: -len(group))
    return [(group[0][1], [learner for learner, _ in group]) for group in ordered]


def _why(grade: Grade) -> str:
    reasons = dict.fromkeys(mark.said for mark in grade.marks if mark.points is None)
    return "; ".join(list(reasons)[:2])


def _check(name: str, most: float, marks: list[tuple[str, Mark]]) -> dict[str, Any]:
    """Return what the page says of one check."""
    decided = [(who, mark) for who, mark in marks if mark.points is not None]
    states = Counter(mark.state for _, mark in decided if mark.points != most)
    had = Counter(mark.points for _, mark in decided)
    parts, x = [], 0.0
    for value, count in [
        *sorted(had.items(), reverse=True), (None, len(marks) - len(decided)),
    ]:  # fmt: skip
        if count:
            colour = "#6b4c9a" if value is None else "#009e73" if value == most else "#e69f00"
            width = 180 * count / len(marks)
            parts.append((x, width, "#c8c8c8" if value == 0 else colour))
            x += width
    told = [f"{count} with {points(value)}" for value, count in sorted(had.items(), reverse=True)]
    told += [f"{len(marks) - len(decided)} undecided"] * (len(decided) < len(marks))
    wrong = [(who, mark.said) for who, mark in decided if mark.state == "failed" and mark.said]
    return {
        "name": name,
        "most": most,
        "share": had[most] / len(decided) if decided else 0.0,
        "others": ", ".join(f"{count} {state}" for state, count in states.most_common()),
        "told": ", ".join(told),
        "parts": parts,
        "wrong": commonest(wrong)[:COMMONEST],
    }


def _spread(scores: list[float], most: float) -> dict[str, Any]:
    """Return the bars of how many learners had how many points, and what a reader is told."""
    bins = min(10, max(1, round(most)))
    counts = Counter(min(bins, max(0, int(one / most * bins + 1e-9))) for one in scores)
    width, tallest = 620 / (bins + 1), max(counts.values(), default=1)
    bars = [
        (at * width, width, 150 * counts[at] / tallest, points(at * most / bins), counts[at])
        for at in range(bins + 1)
    ]
    told = ", ".join(f"{count} with {label}" for *_, label, count in bars if count)
    return {"bars": bars, "told": f"Learners by points: {told}."}
