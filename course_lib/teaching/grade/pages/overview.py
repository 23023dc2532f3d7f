"""The instructor's page: how it went, what was hard, what to look at."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from statistics import median

from course_lib.teaching.grade.copies import COURSE
from course_lib.teaching.grade.marking import Grade, tidy
from course_lib.teaching.grade.master import Master
from course_lib.teaching.grade.pages.layout import distribution, page, points, shown, strip
from course_lib.teaching.grade.report import Report

COMMONEST = 3
"""Wrong answers that are shown of each check."""

MOST_COPIES = 60

Checks = Sequence[tuple[str, float]]

_DIFFERENT = re.compile(r"(?<=<ipython-input-)\d+-\w+|0x[0-9a-f]+|\d+")
"""What differs in messages that say the same."""


def overview_page(report: Report, master: Master) -> str:
    """Return the page of a whole run."""
    most = tidy(master.points)
    checks = [(cell.grade_id, cell.points) for cell in master.checks]
    scores = [one.score for one in report.graded]
    lead = f"{len(report.grades)} submissions, {len(scores)} graded"
    if scores:
        lead += f", median {median(scores):g} of {points(most)} points"
    parts = [
        _person(report),
        f"<h2>Points</h2>\n<p>How many learners have so many points.</p>\n"
        f"{distribution(scores, most)}"
        if scores
        else "",
        _checks(report, checks),
        _flags(report),
        _copies(report, master),
        _learners(report, checks, most),
        _run(report),
    ]
    return page(f"{report.title}: grades", lead, "\n".join(part for part in parts if part))


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


def _person(report: Report) -> str:
    waiting = [one for one in report.grades if one.status != "graded"]
    items = [f"<li>{escape(one.learner)}: {shown(_why(one))}</li>" for one in waiting]
    if report.waiting:
        items.append(f"<li>not graded yet: {escape(', '.join(report.waiting))}</li>")
    if not items:
        return ""
    return f"<h2>Needs a person</h2>\n<ul>{''.join(items)}</ul>"


def _why(grade: Grade) -> str:
    reasons = dict.fromkeys(mark.said for mark in grade.marks if mark.points is None)
    return "; ".join(list(reasons)[:2])


def _checks(report: Report, checks: Checks) -> str:
    rows, details = [], []
    for place, (name, most) in enumerate(checks):
        marks = [(one.learner, one.marks[place]) for one in report.grades]
        decided = [(who, mark) for who, mark in marks if mark.points is not None]
        passed = sum(mark.points == most for _, mark in decided)
        states = Counter(mark.state for _, mark in decided if mark.points != most)
        told = ", ".join(f"{count} {state}" for state, count in states.most_common())
        spread = strip([mark.points for _, mark in marks], most)
        share = passed / len(decided) if decided else 0.0
        rows.append((share, [escape(name), points(most), f"{share:.0%}", spread, escape(told)]))
        wrong = [(who, mark.said) for who, mark in decided if mark.state == "failed" and mark.said]
        if groups := commonest(wrong)[:COMMONEST]:
            inner = "".join(
                f"<p>{len(who)}: {escape(', '.join(who[:6]))}{' …' if len(who) > 6 else ''}</p>"
                f"<pre>{shown(text)}</pre>"
                for text, who in groups
            )
            details.append((share, f"<details><summary>{escape(name)}</summary>{inner}</details>"))
    table = _table(
        "Checks, the hardest first", ("check", "points", "passed", "who had what", "the others"),
        [row for _, row in sorted(rows, key=lambda pair: pair[0])], numbers=(1, 2),
    )  # fmt: skip
    common = "".join(text for _, text in sorted(details, key=lambda pair: pair[0]))
    head = f"<h2>Checks</h2>\n{table}"
    return f"{head}\n<h3>The commonest wrong answers</h3>\n{common}" if common else head


def _flags(report: Report) -> str:
    flagged = sorted((one for one in report.grades if one.flags), key=lambda one: -one.score)
    if not flagged:
        return ""
    rows = [
        [escape(one.learner), points(one.score), "<br>".join(shown(flag) for flag in one.flags)]
        for one in flagged
    ]
    said = (
        f"{len(flagged)} of {len(report.grades)} have flags. A flag is a reason to look: it costs "
        "no points, and holds the grade back from export. Who has most points comes first."
    )
    table = _table("", ("learner", "points", "flags"), rows, numbers=(1,))
    return f"<h2>Flags</h2>\n<p>{said}</p>\n{table}"


def _copies(report: Report, master: Master) -> str:
    answers = {one.learner: one.answers for one in report.grades}
    parts = []
    for copy in report.copies[:MOST_COPIES]:
        own = master.solutions.get(copy.answer, "")
        texts = [answers[copy.one][copy.answer]]
        texts.append(own if copy.other == COURSE else answers[copy.other][copy.answer])
        names = f"{copy.one}, {copy.other}"
        columns = "".join(f"<td><pre>{shown(text)}</pre></td>" for text in texts)
        parts.append(
            f"<details><summary>{escape(copy.answer)}: {escape(names)}, {copy.share:.0%}</summary>"
            f'<div class="wide"><table><tr>{columns}</tr></table></div></details>'
        )
    if not parts:
        return ""
    said = (
        "Answers that are the same but for names, literals, comments and layout, the most alike "
        "first, with the share that is. Left out are short answers, and what most of a class wrote."
    )
    if more := len(report.copies) - MOST_COPIES:
        said += f" {more} more pairs are not shown." if more > 0 else ""
    return f"<h2>Copies</h2>\n<p>{said}</p>\n{''.join(parts)}"


def _learners(report: Report, checks: Checks, most: float) -> str:
    head = ("learner", *(name for name, _ in checks), "total", "status", "seconds")
    rows = [
        [
            escape(one.learner),
            *(points(mark.points) for mark in one.marks),
            points(one.score if one.status == "graded" else None),
            one.status,
            f"{one.seconds:.1f}",
        ]
        for one in report.grades
    ]
    numbers = (*range(1, len(checks) + 2), len(head) - 1)
    table = _table(f"{points(most)} points in all", head, rows, numbers=numbers)
    return f"<h2>Learners</h2>\n{table}"


def _run(report: Report) -> str:
    times = sorted(one.seconds for one in report.grades)
    middle = f"{median(times):.2f} s in the median, {times[-1]:.1f} s at most" if times else "none"
    return (
        f"<h2>The run</h2>\n<ul><li>{report.seconds:.1f} s; a submission: {middle}</li>"
        f"<li>Fence: {escape(report.fence.says)}</li>"
        f"<li>The audits' arguments: --seed {escape(report.seed)}</li></ul>"
    )


def _table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()
) -> str:
    """Return a table; the cells are HTML."""

    def kind(place: int) -> str:
        return ' class="n"' if place in numbers else ""

    top = "".join(f'<th scope="col"{kind(i)}>{escape(name)}</th>' for i, name in enumerate(head))
    body = "".join(
        "<tr>" + "".join(f"<td{kind(i)}>{cell}</td>" for i, cell in enumerate(row)) + "</tr>"
        for row in rows
    )
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide"><table>{said}<thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
