"""Findings about grading: whether submissions can be fenced in and have a PostgreSQL of their own.

What `course grade` would use is tried as it would be: the walls of the fence with something
harmless, and a server that is gone again a moment later. Who only learns needs neither, so what
does not work is a warning.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future

from course_lib.errors import CourseError
from course_lib.teaching.doctor.finding import Finding, begin
from course_lib.teaching.grade.cluster import grading_cluster
from course_lib.teaching.grade.fence import WITHOUT, find_fence, installed_fence

PATIENCE = 20.0
"""Seconds; where all is well it takes one or two."""

NOT_ALL = "only `course grade` needs it"


def begin_grading(patience: float = PATIENCE) -> Callable[[], list[Finding]]:
    """Begin to try what `course grade` would use; return what waits for the findings.

    Parameters
    ----------
    patience
        Seconds from now that it may take.
    """
    deadline = time.monotonic() + patience
    cluster, fence = begin(cluster_finding), begin(fence_finding)
    return lambda: [
        given_up("fence", fence, deadline),
        given_up("grading", cluster, deadline),
    ]


def fence_finding() -> Finding:
    """Return whether there is a fence and it holds."""
    try:
        fence = find_fence()
    except CourseError as error:
        fix = error.hint.replace(WITHOUT, "").strip()
        return Finding("fence", "warn", f"{error.args[0]}; {NOT_ALL}", fix)
    return Finding("fence", "ok", f"{fence.kind} holds; what is graded runs in it")


def cluster_finding() -> Finding:
    """Return whether the PostgreSQL of a grading run starts, within the fence if there is one."""
    begun = time.monotonic()
    fence = installed_fence() or find_fence(sandbox=False)
    try:
        with grading_cluster(fence):
            seconds = time.monotonic() - begun
    except CourseError as error:
        fix = error.hint or "Mend what it names; labs that use no database can be graded as it is."
        return Finding("grading", "warn", f"{error.args[0]}; {NOT_ALL}", fix)
    return Finding("grading", "ok", f"a PostgreSQL of its own starts, in {seconds:.1f} s here")


def given_up(name: str, begun: Future[Finding], deadline: float) -> Finding:
    """Return what was found, or that nothing was by then; `deadline` is on `time.monotonic`."""
    try:
        return begun.result(max(0.0, deadline - time.monotonic()))
    except TimeoutError:
        fix = "Look again when less is running here."
        return Finding(name, "warn", f"could not be tried in time; {NOT_ALL}", fix)
