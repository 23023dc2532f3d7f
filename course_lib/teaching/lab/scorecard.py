"""The scorecard at the end of a lab: what the lab measured, and the whole system, a line a corpus.

The lab's own numbers are about its own documents and change with each lab. The lines below them
say how well the finished system finds the right files in each corpus of the course: the course's
system, and beside it the learner's, which `course_lib.teaching.mine` measures in a process of its
own once a function is kept in `my/system/`. Lab 00 shows all lines. A later lab shows its own
numbers, and only the lines in which the learner's system differs from the course's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from course_lib.evaluation.statistics import Interval

MIME = "application/vnd.course.scorecard+json"

Figures = Mapping[str, Mapping[str, Interval]]
"""Kind of the questions → metric → its mean with its interval."""

ALWAYS = Interval(1.0, 1.0, 1.0)
COURSES: Figures = {
    "docs": {"recall@10": ALWAYS, "MRR": Interval(0.8424, 0.7685, 0.9091)},
    "manifests": {
        "recall@10": Interval(0.9483, 0.8793, 1.0),
        "MRR": Interval(0.7303, 0.6404, 0.8178),
    },
    "code": {"recall@10": ALWAYS, "MRR": Interval(0.8299, 0.7451, 0.9025)},
}
"""What the course's system reaches; a test measures it."""

NO_SYSTEM = "Your system is measured, too, once a check passes in your own copy of a lab."
AS_THE_COURSES = "Your system reaches what the course's reaches."
FAILED = "Your system did not get through the questions. `course mine` says why."


@dataclass(frozen=True)
class Scorecard:
    """What a lab ends with.

    Attributes
    ----------
    lab
        Two digits.
    recall_at_5, mrr
        What the lab itself measured; None where it did not.
    note
        What this was measured of.
    yours
        What the learner's system reaches; nothing where there is none yet.
    why
        Why there are no numbers of the learner's.
    whole
        Whether all lines are shown, or only those that the learner's functions changed.
    """

    lab: str
    recall_at_5: float | None = None
    mrr: float | None = None
    note: str = ""
    yours: Figures = field(default_factory=dict)
    why: str = NO_SYSTEM
    whole: bool = False

    @property
    def headline(self) -> str:
        """The lab's own numbers.

        Examples
        --------
        >>> Scorecard("07", recall_at_5=0.9, note="hybrid").headline
        'Lab 07: recall@5 0.90 (hybrid)'
        """
        given = {"recall@5": self.recall_at_5, "MRR": self.mrr}
        told = [f"{name} {value:.2f}" for name, value in given.items() if value is not None]
        return f"Lab {self.lab}: {', '.join(told)}" + (f" ({self.note})" if self.note else "")

    @property
    def table(self) -> list[tuple[str, ...]]:
        """The columns' names, and a line for each corpus that is shown; nothing without one."""
        metrics = list(COURSES["docs"])
        whose = {"yours": self.yours, "the course's": COURSES}
        if not self.yours:  # no column without numbers
            del whose["yours"]
        names = [f"{metric}, {who}" for metric in metrics for who in whose]
        rows = [
            (
                kind,
                *(
                    _shown(one.get(kind, {}).get(metric))
                    for metric in metrics
                    for one in whose.values()
                ),
            )
            for kind in COURSES
        ]
        changed = [row for row in rows if self.whole or (self.yours and row[1::2] != row[2::2])]
        return [("questions about", *names), *changed] if changed else []

    @property
    def footnote(self) -> str:
        """How the lines are measured, and why numbers are missing."""
        if not self.whole:
            what = "Your functions changed these lines of lab 00's table."
            same = AS_THE_COURSES if self.yours else self.why.replace(NO_SYSTEM, "")
            return what if self.table else same
        told = (
            "The first line is what this lab has measured. The table is about the whole system: "
            "is the right file among the first 10, in one index of all three corpora? "
            "In brackets: the interval of 95 %; where all questions have the same score, it would "
            "say nothing."
        )
        return told if self.yours else f"{told} {self.why}"

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(*self.table, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in self.table
        ]
        return "\n".join([self.headline, *([""] if lines else []), *lines, self.footnote]).strip()

    __repr__ = __str__

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        own = {name: asdict(self)[name] for name in ("lab", "recall_at_5", "mrr", "note")}
        return {MIME: own, "text/html": self._html(), "text/plain": str(self)}

    def _html(self) -> str:
        told = [f"<p>{escape(self.headline)}</p>"]
        if self.table:
            head, *body = (
                "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) + "</tr>"
                for tag, row in zip(("th", *len(COURSES) * ["td"]), self.table, strict=False)
            )
            rows = "".join(body)
            told.append(f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>")
        return "".join([*told, f"<p>{escape(self.footnote)}</p>" if self.footnote else ""])


def measure_yours() -> tuple[Figures, str]:
    """Return what the learner's system reaches on the course's questions, or why there is nothing.

    It is measured where a notebook of the learner's runs: vectors that are known are not encoded
    again, and then it takes some seconds.
    """
    from course_lib.errors import CourseError
    from course_lib.teaching.copies import is_learners
    from course_lib.teaching.mine.keep import kept, system_folder
    from course_lib.teaching.mine.measure import METRICS
    from course_lib.teaching.mine.system import measure_own

    folder = system_folder()
    if not is_learners(Path.cwd()) or not (own := kept(folder)):
        return {}, NO_SYSTEM
    print(f"Measuring the system with your functions ({len(own)}) …", flush=True)
    try:
        run = measure_own()
    except CourseError:
        return {}, FAILED
    reached = {
        kind: {shown: run.about(kind).interval(metric) for shown, metric in METRICS.items()}
        for kind in run.kinds
    }
    return reached, ""


def _shown(one: Interval | None) -> str:
    """Return a mean with its interval; where all values are equal, the interval says nothing."""
    if one is None:
        return "–"
    return f"{one.mean:.2f}" + (f" [{one.low:.2f}, {one.high:.2f}]" if one.low < one.high else "")
