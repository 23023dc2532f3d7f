"""The instructor's page: who has what, flags with their reasons, copies, and the hardest checks.

Points, penalties and who waits for a person are the gradebook's, as it was when the page was made.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_lib.teaching.grade.marking import Mark
from course_lib.teaching.grade.master import Master, MasterCell
from course_lib.teaching.grade.plagiarism import COURSE, groups_of
from course_lib.teaching.grade.report import GradeReport

COMMONEST = 3
"""Wrong answers that are shown of each check."""

WRONG = ("failed", "partly")
"""The states of checks whose words say what is wrong with the answer."""

_DIFFERENT = re.compile(r"(?<=<ipython-input-)\d+-\w+|0x[0-9a-f]+|\d+")
"""What differs in messages that say the same."""

UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, and those that turn the writing round."""


@dataclass(frozen=True)
class Person:
    """Somebody of the class, as the gradebook has it.

    Attributes
    ----------
    login, name
        Who it is; the name may be empty.
    points
        With what a late submission loses taken off; None where nothing was handed in.
    lost
        What that is.
    why
        Why the grade is kept back; empty where it is not.
    link
        Where formgrader shows the submission.
    checks
        Points by check; None where a person has to give them.
    """

    login: str
    name: str = ""
    points: float | None = None
    lost: float = 0.0
    why: str = ""
    link: str = ""
    checks: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """The name, if it is known, and the login."""
        return f"{self.name} ({self.login})" if self.name else self.login


def overview_page(report: GradeReport, master: Master, people: Sequence[Person]) -> str:
    """Return the page of an assignment.

    Parameters
    ----------
    report, master
        What the grader has found, and with what.
    people
        The class.
    """
    from jinja2 import Environment, StrictUndefined

    texts = Environment(
        autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True,
        finalize=lambda value: UNSEEN.sub("\ufffd", value) if type(value) is str else value,
    )  # fmt: skip
    marks = {one.learner: one.marks for one in report.grades}
    known = {one.login: one for one in people}
    checks = [
        _check(cell, [(known[who], some[at]) for who, some in marks.items() if who in known])
        for at, cell in enumerate(master.checks)
    ]
    page = texts.from_string(Path(__file__).with_suffix(".html").read_text(encoding="utf-8"))
    return page.render(
        report=report,
        people=people,
        known=known,
        checks=sorted(checks, key=lambda check: check["share"]),
        made=datetime.now(UTC),
        copies=groups_of(report.copies),
        answers={one.learner: one.answers for one in report.grades} | {COURSE: master.solutions},
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


def _check(cell: MasterCell, marks: list[tuple[Person, Mark]]) -> dict[str, Any]:
    """Return what the page says of one check: who has all its points, by the gradebook."""
    name = cell.grade_id
    decided = [(who, mark) for who, mark in marks if who.checks.get(name) is not None]
    full = [who for who, _ in decided if (who.checks[name] or 0) >= cell.points]
    states = Counter(mark.state for who, mark in decided if who not in full)
    wrong = [(who.called, mark.said) for who, mark in decided if mark.state in WRONG]
    wrong = [(who, said) for who, said in wrong if said]
    return {
        "name": name,
        "share": len(full) / max(1, len(decided)),
        "others": ", ".join(f"{count} {state}" for state, count in states.most_common()),
        "wrong": commonest(wrong)[:COMMONEST],
    }
