"""What switches a layer off is an edit of its source: each still finds its place, and one only."""

import pytest

from course_lib.settings import project_root
from tests.grading.layers import LAYERS, Layer


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name.replace(" ", "-"))
def test_each_edit_of_a_layer_finds_its_place_once(layer: Layer) -> None:
    for name, old, _ in (*layer.before, *layer.off):
        source = (project_root() / name).read_text(encoding="utf-8")
        assert source.count(old) == 1, f"{name}: {old!r}"
