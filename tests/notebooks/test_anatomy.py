import warnings

from infra.course.build import advice, broken_rules


def test_nothing_is_wrong_with_a_lab_and_what_is_over_a_budget_is_a_warning() -> None:
    if told := advice():
        warnings.warn("\n".join(["advice, for which nothing is refused", *told]), stacklevel=1)
    assert broken_rules() == []
