"""The rehearsal: 200 submissions of three labs, from Canvas's zips to Canvas's grades."""

from pathlib import Path

import pytest

from tests.grading.conftest import needs_fence
from tests.grading.rehearsal import Rehearsal


@pytest.mark.long
@needs_fence
def test_a_class_is_graded_from_zips_to_an_export_and_nothing_is_lost(tmp_path: Path) -> None:
    rehearsal = Rehearsal(tmp_path)
    assert not rehearsal.run(), "\n".join(rehearsal.transcript)
