"""A mistake costs points once, and is no cheat: a later exercise gets the library's function."""

from course_lib.teaching.checks.running import Calls, outcomes_of
from course_lib.teaching.grade import lab_masters, read_master
from course_lib.teaching.grade.audits import Audits
from tests.unit.teaching.answers import answers_of


def test_who_has_a_named_case_wrong_does_not_know_the_named_cases_alone() -> None:
    """This one gives "" where a key is missing: nearly all drawn calls differ, and a named one."""
    (path,) = lab_masters(["02"])
    audits = Audits(read_master(path, lab="02"), "7")
    (answer,) = (one for one in answers_of("02") if 'get(names) or ""' in one.text)
    told = [
        outcomes_of(Calls(answer.exercise.draws, answer.made()), sheet.calls, sheet.first, 60)
        for sheet in audits.sheets[answer.exercise.id]
    ]
    found = audits.judged(answer.exercise.id, told, None)
    assert (found.verdict.earned, found.flag) == (1, "")
