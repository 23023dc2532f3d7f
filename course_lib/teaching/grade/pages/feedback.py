"""One learner's page: what passed, what did not and why, and hints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

from course_lib.teaching.grade.gradebook import Gradebook
from course_lib.teaching.grade.marking import Grade, Mark
from course_lib.teaching.grade.master import Master, MasterCell
from course_lib.teaching.grade.pages.layout import FEWEST, distribution, page, points, shown
from course_lib.teaching.grade.pages.syntax import with_line

WORDS = {
    "passed": "passed",
    "partly": "partly right",
    "failed": "not right yet",
    "not attempted": "not attempted",
    "timeout": "it took too long",
    "budget": "the time was used up",
    "died": "it ended the kernel",
    "memory": "it took too much memory",
    "not run": "it could not be run",
}


OFFER = re.compile(r"\n(?:hint \d+ of \d+: |lab\.hint\().*\Z", re.DOTALL)
"""The end of what a check of the course's says, about its hints."""

LONGEST = 20_000
"""Characters of a message that are shown: what the learner's process says may be of any length."""


def feedback_page(book: Gradebook, master: Master, grade: Grade) -> str:
    """Return a learner's page, which says nothing about any other learner by name."""
    if grade.status == "graded":
        lead = f"{points(grade.score)} of {points(grade.max)} points"
    else:
        lead = (
            f"{points(grade.score)} of {points(grade.max)} points so far; a person will look at it"
        )
    cells = {cell.grade_id: cell for cell in master.checks}
    parts = [_check(mark, cells[mark.grade_id], master, grade.answers) for mark in grade.marks]
    if grade.notes:
        items = "".join(f"<li>{shown(note)}</li>" for note in grade.notes)
        parts.append(f"<h2>About the file</h2>\n<ul>{items}</ul>")
    scores = [one.score for one in book.graded]
    if len(scores) >= FEWEST:
        own = grade.score if grade.status == "graded" else None
        figure = distribution(scores, book.max, own)
        where = " Yours is in the orange one." if own is not None else ""
        said = f"{len(scores)} grades; a bar says how many have so many points.{where}"
        parts.append(f"<h2>How everybody did</h2>\n<p>{said}</p>\n{figure}")
    return page(f"{book.title}: {grade.learner}", lead, "\n".join(parts))


def hints_of(master: Master, cell: MasterCell) -> Sequence[str]:
    """Return the hints of the exercise that a check checks; none for other masters."""
    if not master.lab or not cell.exercise:
        return ()
    from course_lib.teaching.checks import load

    exercise = load(master.lab).get(cell.exercise)
    return exercise.hints if exercise else ()


def _check(mark: Mark, cell: MasterCell, master: Master, answers: Mapping[str, str]) -> str:
    name = f"Exercise {cell.exercise}" if cell.exercise else mark.grade_id
    words = WORDS.get(mark.state, "to be decided by a person")
    kind = "passed" if mark.state == "passed" else "undecided" if mark.points is None else "failed"
    parts = [
        f'<section class="check">\n<h2>{escape(name)}: <span class="{kind}">{words}</span> '
        f"({points(mark.points)} of {points(mark.max)})</h2>"
    ]
    hints = hints_of(master, cell) if mark.state not in ("passed", "undecided") else ()
    said = with_line(_without_hidden(mark, cell), answers)
    said = said if len(said) <= LONGEST else f"{said[:LONGEST]} …"
    if hints:
        said = OFFER.sub("", said)  # they are all below
    if said and mark.state != "passed" and not said.endswith("not attempted yet"):
        parts.append(f"<pre>{shown(said)}</pre>")
    parts += [
        f"<details><summary>Hint {i} of {len(hints)}</summary><p>{_prose(hint)}</p></details>"
        for i, hint in enumerate(hints, start=1)
    ]
    return "\n".join([*parts, "</section>"])


def _prose(hint: str) -> str:
    """Return a hint as HTML: what stands in backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(hint))


def _without_hidden(mark: Mark, cell: MasterCell) -> str:
    """Return what a check said, unless the words are those of a hidden one."""
    visible = cell.stub
    hidden = cell.hidden or cell.source != cell.stub
    said = mark.said.removeprefix("AssertionError: ")
    if hidden and mark.state == "failed" and said and said not in visible:
        if mark.said.startswith("AssertionError"):
            return "a check that is not in your notebook failed"
    return mark.said
