"""Each layer of the grader does something: without it, a submission of its own gets through."""

import os
from collections.abc import Callable
from functools import cache

import pytest

from course_lib.settings import project_root
from tests.grading.conftest import needs_fence
from tests.grading.layers import LAYERS, Layer, Told, alike, graded

each = pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name.replace(" ", "-"))


def test_each_edit_that_switches_a_layer_off_finds_its_place_once() -> None:
    edits = {edit for layer in LAYERS for edit in (*layer.before, *layer.off)}
    for name, old, _ in sorted(edits):
        source = (project_root() / name).read_text(encoding="utf-8")
        assert source.count(old) == 1, f"{name}: {old!r}"


@pytest.fixture(scope="module")
def with_all(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Layer], Told]:
    """What is told with every layer in place; layers of the same limits share a run."""

    @cache
    def graded_alike(key: tuple[object, ...]) -> dict[str, Told]:
        group = [layer for layer in LAYERS if alike(layer) == key]
        return graded(group, tmp_path_factory.mktemp("with"), group[0].before)

    return lambda layer: graded_alike(alike(layer))[layer.name]


@pytest.mark.long
@needs_fence
@each
def test_with_the_layer_the_submission_does_not_get_through(
    layer: Layer, with_all: Callable[[Layer], Told]
) -> None:
    told = with_all(layer)
    assert layer.holds(told), told


@pytest.mark.long
@needs_fence
@each
def test_without_the_layer_it_does(layer: Layer, tmp_path) -> None:
    if layer.name == "the process inside is nobody" and os.geteuid() != 0:
        pytest.skip("only root has to become somebody else")
    told = graded([layer], tmp_path, (*layer.before, *layer.off))[layer.name]
    assert not layer.holds(told), told
