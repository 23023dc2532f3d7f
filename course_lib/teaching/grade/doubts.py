"""Why a person looks at a check that did not pass: what is not clear never counts as nothing."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import NamedTuple

from course_lib.teaching.grade.master import MasterCell
from course_lib.teaching.grade.merge import Merged
from course_lib.teaching.grade.statements import Code, needed, union

UNKNOWN = re.compile(r"name '(\w+)' is not defined")

MAGIC = re.compile(r"\s*(%%\w+)")
"""What a cell begins with that hands its text to something else, such as ``%%sql``."""


class Failed(NamedTuple):
    """A check that did not pass.

    Attributes
    ----------
    said, state
        By the check or its error, and how it ended.
    is_partly
        Whether it has a part of its points.
    about
        The answers' cells, with what was written into each.
    merged
        What was handed in.
    """

    said: str
    state: str
    is_partly: bool
    about: Sequence[tuple[MasterCell, Code]]
    merged: Merged


def doubt(failed: Failed) -> str:
    """Return why a person has to look at a check that did not pass; empty where it is clear."""
    reasons = (_waits, _has_the_stubs_end, _defines_nothing, _uses_what_is_not_run)
    return next(filter(None, (reason(failed) for reason in reasons)), "")


def _waits(failed: Failed) -> str:
    waits = " waits for " in failed.said and failed.state == "not attempted"
    return f"something was written, and {failed.said}" if waits else ""


def _has_the_stubs_end(failed: Failed) -> str:
    """Look for an answer with a line above the stub's `raise`, which was left there."""
    says_so = failed.state == "not attempted" or "NotImplementedError" in failed.said
    if failed.is_partly or not says_so:
        return ""
    left = "something was written, and what says that nothing is there yet is still in its cell"
    is_left = any(
        not code.is_python or code.filled != cell.given.filled for cell, code in failed.about
    )
    return left if is_left else ""


def _defines_nothing(failed: Failed) -> str:
    """Look for a cell that a magic takes, and for a name that may stand for the one asked for."""
    asked = union(cell.code.binds for cell, _ in failed.about)
    missing = sorted(asked.intersection(UNKNOWN.findall(failed.said)))
    magics = [found[1] for _, code in failed.about if (found := MAGIC.match(code.source))]
    if magics and not failed.is_partly and (missing or "UsageError" in failed.said):
        return f"its cell begins with {magics[0]}, so it defines nothing"
    if not missing:
        return ""
    written = [one for _, code in failed.about for one in code.definitions]
    written += failed.merged.own.statements
    given = union(cell.given.binds for cell, _ in failed.about)
    names = union(one.binds for one in written if one.kind != "import") - given
    likely = difflib.get_close_matches(missing[0], sorted(names), n=1, cutoff=0)
    return f"nothing is named {missing[0]}, and {likely[0]} may be it" if likely else ""


def _uses_what_is_not_run(failed: Failed) -> str:
    own, unknown = failed.merged.own, frozenset(UNKNOWN.findall(failed.said))
    read = union(code.reads for _, code in failed.about)
    used = unknown.union(read, *(one.reads for one in needed(read, own.statements)))
    lost = sorted(unknown if "*" in own.lost and unknown else used & own.lost)
    return f"it uses {lost[0]}, and code that is not run defines or changes it" if lost else ""
