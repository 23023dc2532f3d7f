"""The instructor's page: flags with their reasons, copies, and what went wrong most often.

Formgrader has the rest: who has which points, who needs a person, each learner's notebook.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from course_lib.teaching.grade.copies import COURSE
from course_lib.teaching.grade.marking import Mark
from course_lib.teaching.grade.master import Master
from course_lib.teaching.grade.report import Report

COMMONEST = 3
"""Wrong answers that are shown of each check."""

MOST_COPIES = 60

WRONG = ("failed", "partly")
"""The states of checks whose words say what is wrong with the answer."""

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
    checks = [
        _check(cell.grade_id, cell.points, [(one.learner, one.marks[at]) for one in report.grades])
        for at, cell in enumerate(master.checks)
    ]
    page = texts.from_string(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
    return page.render(
        report=report,
        checks=sorted(checks, key=lambda check: check["share"]),
        flagged=sorted((one for one in report.grades if one.flags), key=lambda one: -one.score),
        copies=[
            (copy, [answers[who].get(copy.answer, "") for who in (copy.one, copy.other)])
            for copy in report.copies[:MOST_COPIES]
        ],
    )


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


def _check(name: str, most: float, marks: list[tuple[str, Mark]]) -> dict[str, Any]:
    """Return what the page says of one check."""
    decided = [(who, mark) for who, mark in marks if mark.points is not None]
    states = Counter(mark.state for _, mark in decided if mark.points != most)
    wrong = [(who, mark.said) for who, mark in decided if mark.state in WRONG and mark.said]
    return {
        "name": name,
        "share": sum(mark.points == most for _, mark in decided) / max(1, len(decided)),
        "others": ", ".join(f"{count} {state}" for state, count in states.most_common()),
        "wrong": commonest(wrong)[:COMMONEST],
    }
