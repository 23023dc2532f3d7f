"""Fifty kills at random points: the session's own, with a seed that a failure shows."""

import json
import os
import sys

import pytest

from tests.faults.kills import kill_often

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform == "win32", reason="needs signals and forks"),
]
SEED = 20261122


def test_fifty_kills_at_random_points_leave_the_index_that_peace_leaves() -> None:
    seed = int(os.environ.get("COURSE_TEST_SEED") or SEED)
    print(f"seed {seed}")
    figures = kill_often(50, seed)
    print(json.dumps(figures, indent=1))
    assert figures["kills"] == 50
    assert figures["rows compared"] > 0 and figures["documents checked for halves"] > 0
    assert len(figures["by kind"]) == 5 and len(figures["by phase"]) > 4
