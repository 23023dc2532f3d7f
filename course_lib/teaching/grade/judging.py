"""What the course's exercises count, judged outside of the learner's process."""

from __future__ import annotations

from course_lib.errors import DatabaseError
from course_lib.teaching.grade.audits import Audits, Judged
from course_lib.teaching.grade.database import Databases
from course_lib.teaching.grade.flags import Flag
from course_lib.teaching.grade.running import SAYS, Conversation

KNOWN_ALONE = "right for known calls alone"


def judge(
    talk: Conversation,
    audits: Audits,
    databases: Databases | None,
    heard: dict[str, Judged | str],
) -> tuple[list[Flag], list[str]]:
    """Judge what was handed in, outside of its process: the runs get verdicts.

    What was heard of an exercise counts, or why its answer ended the process: it is asked once,
    because the course's own answer comes with what later ones are asked. Flags and notes are
    returned.
    """
    flags, notes, right = list[Flag](), list[str](), set[str]()
    for place, run in enumerate(talk.runs):
        exercise, name = run.step.cell.exercise, run.step.cell.grade_id
        if not exercise or not (run.state == "ok" and run.passed):
            continue
        if exercise not in audits.sheets:
            heard[exercise] = "it needs the database of a lab"
        elif exercise not in heard and not talk.ended:
            told = talk.audit(place, audits.order(exercise, right))
            try:
                heard[exercise] = (
                    talk.ended
                    or str(told.get("error", ""))
                    or audits.judged(exercise, told.get("told"), databases)
                )
            except DatabaseError:
                heard[exercise] = "its database has stopped, as one does that is full"
        found = heard.get(exercise, "the process ended before it was asked")
        if isinstance(found, str) and found in SAYS:
            run.end(found, talk.limit(exercise))
        elif isinstance(found, str):
            run.unjudged = found
        else:
            run.judge(found.verdict)
            right.update([] if run.said else [exercise])
            if found.flag:
                flags.append(Flag(name, KNOWN_ALONE, f"{name}: {KNOWN_ALONE}: {found.flag}"))
            notes += [f"{name}: {found.note}"] if found.note else []
    return flags, notes
