"""Audits that need no database: the library agrees with itself, and wrong answers do not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from course_lib.teaching.audits import Audit, load_audits
from course_lib.teaching.checks import load
from course_lib.teaching.lab.checking import run_check
from course_lib.teaching.lab.reference import reference
from course_lib.teaching.lab.time_limit import OutOfTime, within
from tests.unit.teaching.test_exercises import wrong_versions

LABS = [f"{number:02d}" for number in range(1, 14)]
ALL = [audit for lab in LABS for audit in load_audits(lab).values()]
PLAIN = [pytest.param(audit, id=audit.id) for audit in ALL if audit.needs is None]
SKETCHES = {"1.4", "3.5", "10.2", "10.3", "10.4"}

NOT_TOLD_APART = {
    "has_a_timeout_of_its_own": "differs for a timeout that is longer than an audit may take",
    "steps_back_to_the_floor": "differs only where several answers are right",
    "copies_what_is_left": "gives the right values, and takes long",
    "lets_min_complain": "raises the right exception with another message",
}
"""Known-wrong versions whose values are right, and why."""


def failures(audit: Audit, function: Any, seed: int, seconds: float = 30) -> int:
    """Return how many calls of a function do not agree; one for a function that never ends."""
    calls = audit.draw(seed)
    try:
        values = within(seconds, lambda: audit.run(function, calls))
    except OutOfTime:
        return 1
    return sum(not audit.agrees(*pair) for pair in zip(audit.expected(calls), values, strict=True))


def test_every_function_of_the_library_has_an_audit() -> None:
    exercises = {exercise for lab in LABS for exercise in load(lab)}
    assert {audit.id for audit in ALL} == exercises - SKETCHES


@pytest.mark.parametrize("audit", ALL, ids=lambda audit: audit.id)
def test_the_same_seed_draws_the_same_calls_as_json(audit: Audit) -> None:
    calls = audit.draw(1, 5)
    assert json.loads(json.dumps(calls)) == audit.draw(1, 5)
    assert calls != audit.draw(2, 5)
    assert all(len(audit.call_text(call)) < 6000 for call in calls)


@pytest.mark.parametrize("audit", PLAIN)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_library_agrees_with_itself(audit: Audit, seed: int) -> None:
    lab = audit.id.split(".")[0].zfill(2)
    assert audit.exercise is not None
    assert failures(audit, reference(lab, audit.exercise), seed) == 0


@pytest.mark.long
@pytest.mark.parametrize("audit", PLAIN)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_wrong_versions_are_told_apart_in_one_of_three_runs(audit: Audit) -> None:
    lab = audit.id.split(".")[0].zfill(2)
    missed = {
        wrong.__name__
        for wrong in wrong_versions(lab)[audit.id]
        if not any(failures(audit, wrong, seed, 3) for seed in (1, 2, 3))
    }
    assert missed <= NOT_TOLD_APART.keys()


@pytest.mark.parametrize("audit", PLAIN)
def test_a_table_of_the_checks_cases_is_no_answer(audit: Audit) -> None:
    lab = audit.id.split(".")[0].zfill(2)
    assert audit.exercise is not None
    right, table = reference(lab, audit.exercise), {}

    def noted(*args: Any, **named: Any) -> Any:
        asked = repr((args, named))
        table[asked] = right(*args, **named)
        return table[asked]

    run_check(audit.exercise, noted)
    if audit.id == "8.1":
        return  # it takes no arguments: what it returns is a model, and the model is asked
    assert failures(audit, lambda *args, **named: table[repr((args, named))], 1)
