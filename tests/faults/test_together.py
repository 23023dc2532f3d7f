"""Full disks, eight writers with twenty readers, and bad inputs; a failure shows its seed."""

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.bad_inputs import SHARES, feed
from tests.faults.disks import fill_disks
from tests.faults.ground import own_place
from tests.faults.small_disks import NoSmallDiskError
from tests.faults.traffic import READERS, WRITERS, write_and_read

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="needs signals and forks"),
]
SECONDS = 30
SEED = 20261122


@pytest.fixture
def seed() -> int:
    chosen = int(os.environ.get("COURSE_TEST_SEED") or SEED)
    print(f"seed {chosen}")
    return chosen


@pytest.fixture
def place() -> Iterator[None]:
    """An embedded server of the test's own."""
    with own_place():
        yield


def shown(figures: dict[str, Any]) -> dict[str, Any]:
    print(json.dumps(figures, indent=1))
    return figures


def test_full_disks_are_named_and_cost_nothing_that_was_written(seed: int) -> None:
    try:
        figures = shown(fill_disks(seed))
    except NoSmallDiskError as error:
        pytest.skip(f"no small disk can be mounted here: {error}")
    assert len(figures["what was said"]) == 8 and figures["rows compared"] > 0


def test_eight_writers_and_twenty_readers_see_no_error_and_no_half_document(
    seed: int, place: None
) -> None:
    figures = shown(write_and_read(SECONDS, seed))
    assert (WRITERS, sum(READERS.values())) == (8, 20)
    assert figures["documents seen whole"] > 0
    assert figures["rows compared with an index of these alone"] > 0
    assert len(figures["writes"]) == 4 and len(figures["reads"]) == 6


def test_two_thousand_bad_inputs_end_in_a_result_or_an_explained_refusal(
    seed: int, place: None
) -> None:
    figures = shown(feed(2_000, seed))
    assert set(figures["by place"]) == set(SHARES)
    assert sum(one["inputs"] for one in figures["by place"].values()) == 2_000
    assert figures["records that passed the contract and were stored"] > 0
