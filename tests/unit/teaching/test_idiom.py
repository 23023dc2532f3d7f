import os
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from matplotlib import pyplot as plt

from course_lib.teaching.lab import idiom
from course_lib.teaching.lab.idiom import STYLE, alt, interact


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    objects: list[Any] = []
    monkeypatch.setattr(idiom, "display", objects.append)
    with plt.style.context(STYLE):
        yield objects


def test_without_a_front_end_the_first_values_are_shown_once(displayed, capsys):
    calls = []

    def draw(size, overlap=3, kind="a", *, exact=False):
        calls.append((size, overlap, kind, exact))
        return f"{size}-{overlap}"

    interact(draw, size=(10, 90, 5), overlap=(0, 9), kind=["b", "c"], exact=True)
    assert calls == [(10, 3, "a", False)] and displayed == ["10-3"]
    assert capsys.readouterr().out == "size = 10, overlap = 3, kind = a, exact = False\n"


def test_with_a_front_end_the_controls_start_at_the_same_values(displayed, monkeypatch):
    ipywidgets = pytest.importorskip("ipywidgets")
    given: dict[str, Any] = {}
    monkeypatch.setattr(idiom, "has_widgets", lambda: True)
    monkeypatch.setattr(ipywidgets, "interact", lambda function, **named: given.update(named))
    interact(lambda size, kind="c": None, size=(10, 90, 5), kind=["b", "c"])
    assert {name: control.value for name, control in given.items()} == {"size": 10, "kind": "c"}
    slider = given["size"]
    assert (slider.min, slider.max, slider.step) == (10, 90, 5)
    assert displayed == []


def test_a_text_or_a_bool_starts_at_the_functions_default_with_a_front_end_and_without(
    displayed, monkeypatch
):
    ipywidgets = pytest.importorskip("ipywidgets")
    calls, given = [], {}

    def ask(question="default", *, exact=False, other):
        calls.append((question, exact, other))

    def both():
        interact(ask, question="given", exact=True, other="given")

    both()
    assert calls == [("default", False, "given")]
    monkeypatch.setattr(idiom, "has_widgets", lambda: True)
    monkeypatch.setattr(ipywidgets, "interact", lambda function, **named: given.update(named))
    both()
    assert tuple(control.value for control in given.values()) == calls[0]
    assert not given["question"].continuous_update  # typed to the end, and then searched


def test_a_chart_is_shown_with_its_text_and_closed(displayed):
    table = pd.DataFrame({"size": [1, 2], "torn": [3, 4]})
    alt(table.plot.line("size", "torn"), 'More is "torn" at 2.')
    alt(plt.figure(), "Nothing.")
    _, several = plt.subplots(1, 2)
    alt(several, "Two of nothing.")
    assert [one.alt for one in displayed] == ['More is "torn" at 2.', "Nothing.", "Two of nothing."]
    assert 'alt="More is &quot;torn&quot; at 2."' in displayed[0].html
    assert plt.get_fignums() == []


def test_lines_and_bars_are_not_told_apart_by_colour_alone(displayed):
    table = pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6]})
    lines, bars = table.plot.line(), table.plot.bar()
    alt(bars, "Bars."), alt(lines, "Lines.")
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines.lines}) == 3
    hatches = [{bar.get_hatch() for bar in series} for series in bars.containers]
    assert hatches == [{""}, {"//"}, {".."}]
    assert [patch.get_hatch() for patch in bars.get_legend().get_patches()] == ["", "//", ".."]


def test_start_gives_matplotlib_the_style_before_or_after_it_is_imported():
    for first in ("", "import matplotlib.pyplot; "):
        code = (
            f"{first}from course_lib.teaching import start; start('01')\n"
            "import matplotlib; print(matplotlib.rcParams['axes.prop_cycle'].by_key()['marker'])"
        )
        environment = {name: os.environ[name] for name in os.environ if name != "MATPLOTLIBRC"}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env=environment,
        )  # fmt: skip
        assert done.stdout.splitlines()[-1] == "['o', 's', '^', 'D', 'v', 'P', 'X']"
        assert done.stderr == ""


def test_the_palette_is_that_of_the_figures():
    from matplotlib import rc_params_from_file

    from course_lib.teaching.lab.figures.base import MARKERS, PALETTE

    cycle = rc_params_from_file(STYLE)["axes.prop_cycle"].by_key()
    assert ["#" + colour.lstrip("#") for colour in cycle["color"]] == list(PALETTE)
    assert cycle["marker"] == list(MARKERS)


def test_a_front_end_is_one_that_names_the_cell(monkeypatch):
    def shell(metadata: dict[str, str]) -> Any:
        return SimpleNamespace(get_parent=lambda: {"metadata": metadata})

    for metadata, live in (({"cellId": "a"}, True), ({}, False)):
        monkeypatch.setattr(idiom, "notebook_shell", lambda given=metadata: shell(given))
        assert idiom.has_widgets() is live
