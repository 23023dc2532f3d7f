"""Each lab is executed as a learner gets it, once in a test run; its solution is run by nbval.

`course build --check` says whether the notebooks are what their sources give, and
`tests/blackbox/test_notebooks.py` what they look like.
"""

import pytest

from course_lib.teaching.build import Project
from tests.notebooks.untouched import untouched_labs

LABS = [source.lab for source in Project().sources()]


@pytest.fixture(scope="session")
def untouched(request: pytest.FixtureRequest) -> dict[str, list[str]]:
    """What is wrong with each lab that was asked for: two at a time, since some of them wait."""
    asked = {
        item.callspec.params["lab"]
        for item in request.session.items
        if "untouched" in getattr(item, "fixturenames", ())
    }
    return untouched_labs(sorted(asked), jobs=2)


@pytest.mark.timeout(1800)  # the first of them waits for all
@pytest.mark.parametrize("lab", LABS)
def test_an_untouched_lab_fails_in_its_check_cells_and_nowhere_else(
    lab: str, untouched: dict[str, list[str]]
) -> None:
    assert untouched[lab] == []
