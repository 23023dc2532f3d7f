"""The planner: every key in one list, and for the right reason."""

from hypothesis import given
from hypothesis import strategies as st

from course_lib.indexing import Plan, make_plan

states = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 2))


@given(states, states)
def test_every_key_is_in_one_list_and_the_plan_makes_both_sides_equal(
    current: dict[str, int], stored: dict[str, int]
) -> None:
    plan = make_plan(current, stored)
    assert sorted([*plan.skip, *plan.add, *plan.change, *plan.remove]) == sorted(
        {*current, *stored}
    )
    after = {key: state for key, state in stored.items() if key not in plan.remove}
    after |= {key: current[key] for key in [*plan.add, *plan.change]}
    assert after == current
    assert all(current[key] == stored[key] for key in plan.skip)
    assert all(current[key] != stored[key] for key in plan.change)


def test_keys_stay_in_their_order() -> None:
    assert make_plan({"c": 1, "a": 1, "b": 1}, {"z": 1, "y": 1}) == Plan(
        add=["c", "a", "b"], remove=["z", "y"]
    )


def test_what_was_planned_and_done_needs_nothing_more() -> None:
    assert make_plan({"a": 1}, {"a": 1}) == Plan(skip=["a"])
    assert make_plan({}, {}) == Plan()
