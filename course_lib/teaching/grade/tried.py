"""What checks try answers with: an answer that holds it may have learnt it by heart."""

from __future__ import annotations

import contextlib
from functools import lru_cache

from course_lib.teaching.build.source import as_python
from course_lib.teaching.grade.honesty import texts_of
from course_lib.teaching.grade.master import Master


def texts_tried(master: Master) -> frozenset[str]:
    """Return the texts in a master's checks, hidden ones and those of the course's own included."""
    checks = [cell for cell in master.checks if cell.role == "check"]
    sources = tuple(text for cell in checks for text in (cell.source, cell.hidden) if text)
    return _texts(master.lab, tuple(cell.exercise for cell in checks), sources)


@lru_cache(maxsize=8)
def _texts(lab: str, exercises: tuple[str, ...], sources: tuple[str, ...]) -> frozenset[str]:
    found: set[str] = set()
    for source in sources:
        with contextlib.suppress(SyntaxError, ValueError):
            found |= texts_of(compile(as_python(source), "<check>", "exec"))
    if lab and any(exercises):
        from course_lib.teaching.checks import load

        known = load(lab)
        for exercise in filter(None, exercises):
            code = getattr(getattr(known.get(exercise), "check", None), "__code__", None)
            found |= texts_of(code) if code is not None else set()
    return frozenset(found)
