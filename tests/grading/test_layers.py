"""Each layer of the grader does something: without it, a submission of its own gets through."""

import os

import pytest

from tests.grading.conftest import has_fence
from tests.grading.layers import LAYERS, Layer, graded

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not has_fence(), reason="no bubblewrap that works"),
]
each = pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name.replace(" ", "-"))


@each
def test_with_the_layer_the_submission_does_not_get_through(layer: Layer, tmp_path) -> None:
    told = graded(layer, tmp_path, layer.before)
    assert layer.holds(told), told


@each
def test_without_the_layer_it_does(layer: Layer, tmp_path) -> None:
    if layer.name == "the process inside is nobody" and os.geteuid() != 0:
        pytest.skip("only root has to become somebody else")
    told = graded(layer, tmp_path, (*layer.before, *layer.off))
    assert not layer.holds(told), told
