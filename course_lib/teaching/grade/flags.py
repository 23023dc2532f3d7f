"""Reasons for a person to look at a grade, which is held back until then."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from course_lib.teaching.grade.master import Master, checks_of


@dataclass(frozen=True)
class Flag:
    """A reason to look; it costs no points.

    Attributes
    ----------
    about
        The grade id of a check or of an answer; anything else where it is about all of them.
    kind
        What a person decides on, whatever the words are: a decision holds for others of its kind.
    says
        The reason, as a person reads it.
    """

    about: str
    kind: str
    says: str

    def __str__(self) -> str:
        return self.says


def flagged_checks(master: Master, flag: Flag) -> AbstractSet[str]:
    """Return the checks that a flag is about; that of an added cell is about all of them."""
    checks = {one.grade_id for one in master.checks}
    if flag.about in checks:
        return {flag.about}
    answers = [one for one in master.answers if one.grade_id == flag.about]
    return {check.grade_id for one in answers for check in checks_of(master, one)} or checks
