"""The tables of labs that pages hold between two markers, made from the notebooks' metadata.

README has the labs, the core first; the instructor's guide has terms, a row a week.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course_lib.files import write_atomically
from course_lib.teaching.notebooks.project import BuildError, LabSource, Project

TERMS = {
    "8 weeks: the core": "00+01 02 05 06 07+08 11 15 16",
    "10 weeks: the core and lab 14; only the first week has two labs": (
        "00+01 02 05 06 07 08 11 14 15 16"
    ),
    "14 weeks: all labs in 13, and the learners' projects in the last": (
        "00+01 02 03 04 05 06 07 08 09+10 11 12+13 14+15 16"
    ),
}
"""The labs of each week of a term."""

SESSION_MINUTES = 90
DISCUSSION_MINUTES = 10
"""Of a session, for the set-up or last week's question; the rest is for the labs."""

Labs = Sequence[tuple[LabSource, dict[str, Any]]]
"""Labs that are built, each with what its head says."""


def labs_table(project: Project) -> str:
    """Return the labs in Markdown: link, promise, minutes, objectives, what is built."""
    labs = _labs(project)
    core = [one for one in labs if one[0].is_core]
    others = [one for one in labs if not one[0].is_core]
    lines = [
        f"**The core**, about {_hours(core)} hours: it builds the system and measures it. For a "
        "reader who writes Python functions and classes and knows SQL. The times are estimates "
        "from the words, cells, code and exercises of each lab; no class has been timed yet.",
        "",
        *_rows(core, project),
    ]
    if others:
        text = f"**Electives**, about {_hours(others)} hours: take those that you need."
        lines += ["", text, "", *_rows(others, project)]
    return "\n".join(lines)


def _rows(labs: Labs, project: Project) -> list[str]:
    with_reason = any(meta.get("elective") for _, meta in labs)
    heads = ["Lab", "Time", "You will be able to", "Builds", *["What for"] * with_reason]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for source, meta in labs:
        builds = ", ".join(f"`{b}`" if b.endswith(".py") else b for b in meta["builds"]) or "—"
        path = project.relative(project.lab_notebook(source))
        cells = (
            f"[**{meta['lab']} · {meta['title']}**]({path})<br>{_unlinked(meta['promise'])}",
            f"{meta['minutes']} min",
            " · ".join(meta["objectives"]),
            builds,
            *[_unlinked(meta.get("elective", ""))] * with_reason,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines


def _unlinked(text: str) -> str:
    """Return a lab's text without its links, which lead from labs/."""
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text)


def terms_table(project: Project) -> str:
    """Return how long the labs are, and a table in Markdown for each term."""
    labs = _labs(project)
    core = [one for one in labs if one[0].is_core]
    minutes = {source.lab: int(meta["minutes"]) for source, meta in labs}
    lines = [
        f"The course has {len(labs)} labs of {min(minutes.values())} to {max(minutes.values())} "
        f"minutes, about {_hours(labs)} hours in all. {len(core)} of them are the core, about "
        f"{_hours(core)} hours: {', '.join(source.lab for source, _ in core)}. The others are "
        "electives."
    ]
    for title, weeks in TERMS.items():
        lines += ["", f"**{title}.**", "", "| week | in class | at home |", "|---|---|---|"]
        for week, chosen in enumerate(weeks.split(), 1):
            in_class, at_home = split_week(
                {lab: minutes[lab] for lab in chosen.split("+") if lab in minutes}
            )
            lines.append(f"| {week} | {_listed(in_class)} | {_listed(at_home)} |")
    return "\n".join(lines)


def split_week(minutes: dict[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return the minutes of a week's labs that fit into its session, and those left for home.

    Examples
    --------
    >>> split_week({"00": 35, "01": 95})
    ({'00': 35, '01': 45}, {'01': 50})
    """
    room = SESSION_MINUTES - DISCUSSION_MINUTES
    in_class: dict[str, int] = {}
    at_home: dict[str, int] = {}
    for lab, needed in minutes.items():
        now = min(room, needed)
        room -= now
        in_class |= {lab: now} if now else {}
        at_home |= {lab: needed - now} if needed > now else {}
    return in_class, at_home


def _listed(minutes: dict[str, int]) -> str:
    return ", ".join(f"lab {lab} ({needed} min)" for lab, needed in minutes.items())


def _labs(project: Project) -> Labs:
    return [
        (source, json.loads(path.read_text(encoding="utf-8"))["metadata"]["course"])
        for source in project.sources()
        if (path := project.lab_notebook(source)).is_file()
    ]


def _hours(labs: Labs) -> int:
    return round(sum(int(meta["minutes"]) for _, meta in labs) / 60)


TABLES = {"README.md": ("labs", labs_table), "labs/INSTRUCTORS.md": ("terms", terms_table)}
"""The pages with a table, what its markers name it, and what makes it."""


def update_tables(project: Project) -> None:
    """Write each table into its page, where there is one with its markers."""
    for path, wanted in _pages(project).items():
        write_atomically(path, wanted)


def stale_tables(project: Project) -> list[str]:
    """Return the pages whose table is not what the notebooks give, a line each."""
    return [
        f"{project.relative(path)}: its table is stale"
        for path, wanted in _pages(project).items()
        if wanted != path.read_text(encoding="utf-8")
    ]


def _pages(project: Project) -> dict[Path, str]:
    pages = {}
    for page, (name, make) in TABLES.items():
        path, begin, end = project.root / page, f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        before, mark, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if mark and not closed:
            raise BuildError(f"{page} has {begin} without {end}")
        if mark:
            pages[path] = f"{before}{begin}\n{make(project)}\n{end}{after}"
    return pages
