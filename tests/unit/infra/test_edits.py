"""The twelve edits: their tests tell an edit from none; with a GGUF file, a model makes them."""

from __future__ import annotations

import pytest

from course_lib.answers.generators.local import Local
from infra.course.edits import EDITS, Edit, ask_all, passes
from tests.unit.answers.test_local import FILE, with_a_model


def test_there_are_three_edits_of_each_kind() -> None:
    kinds = [edit.kind for edit in EDITS]
    assert len(kinds) == 12 and all(kinds.count(kind) == 3 for kind in kinds)


@pytest.mark.parametrize("edit", EDITS, ids=[f"{one.kind}-{one.file}" for one in EDITS])
def test_a_test_fails_before_the_edit_and_passes_after_it(edit: Edit) -> None:
    assert passes(edit, edit.text)
    text = edit.text
    for old, new in edit.by_hand:
        assert old in text
        text = text.replace(old, new)
    assert passes(edit, text) == ""


class TestWithAModel:
    pytestmark = with_a_model

    def test_it_makes_most_edits_a_file_and_some_of_them_right(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        outcomes = list(ask_all(Local(FILE, window=8192)))
        with capsys.disabled():
            for one in outcomes:
                print(one.edit.kind, one.edit.file, one.taken, one.passed, one.why)
        assert len(outcomes) == len(EDITS)
        assert all(one.why for one in outcomes if not one.passed)
        assert any(one.passed for one in outcomes)
