"""What a lab adds to matplotlib and ipywidgets: a style, alternative text, and a static form.

Neither is imported before a cell uses it.
"""

from __future__ import annotations

import inspect
import logging
import os
import sys
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

from course_lib.teaching.lab.own import notebook_shell

STYLE = Path(__file__).with_name("course.mplstyle")


def use_style() -> None:
    """Give matplotlib the course's style: when it is imported, or now if it has been."""
    os.environ.setdefault("MATPLOTLIBRC", str(STYLE))
    # It says on standard error that it builds its font cache, the first time.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    if "matplotlib.style" in sys.modules:
        sys.modules["matplotlib.style"].use(STYLE)


def interact(function: Callable[..., Any], **ranges: Any) -> None:
    """Show what a function returns, with a control for each of its parameters.

    Without JupyterLab or Notebook, it is shown once, for the first values.

    Parameters
    ----------
    function
        Called again whenever a control moves.
    ranges
        For each parameter what `ipywidgets.interact` takes: ``(low, high, step)`` for a slider, a
        list for a choice, a text or a bool. The first value is the function's default, or else the
        lowest or first of these, or the text or bool itself. A text counts when Enter is pressed.

    Examples
    --------
    >>> interact(lambda size: print(5000 // size, "chunks"), size=(50, 1000, 50))
    size = 50
    100 chunks
    """
    defaults = inspect.signature(function).parameters
    first = {}
    for name, values in ranges.items():
        default = defaults[name].default if name in defaults else inspect.Parameter.empty
        lowest = values[0] if isinstance(values, tuple | list) else values
        first[name] = lowest if default is inspect.Parameter.empty else default
    if has_widgets():
        import ipywidgets as widgets

        controls = {}
        for name, values in ranges.items():
            # Of a text or a bool ipywidgets takes the value itself, whatever the default is.
            among = values if isinstance(values, tuple | list) else first[name]
            control = widgets.interactive.widget_from_abbrev(among, first[name])
            if isinstance(control, widgets.Text):
                control.continuous_update = False
            controls[name] = control
        widgets.interact(function, **controls)
        return
    print(", ".join(f"{name} = {value}" for name, value in first.items()))
    if (shown := function(**first)) is not None:
        display(shown)


def alt(chart: Any, text: str) -> None:
    """Show a chart with a text for those who cannot see it, and close it.

    If it has bars of several series, each series gets a hatch, so that colour is not all that tells
    them apart.

    Parameters
    ----------
    chart
        A figure of matplotlib, or its axes, as pandas returns them.
    text
        What is to be seen, in a sentence.
    """
    import matplotlib.pyplot as plt

    from course_lib.teaching.lab.figures.base import picture

    figure = chart.get_figure() if hasattr(chart, "get_figure") else chart.flat[0].get_figure()
    for axes in figure.axes:
        _hatch(axes)
    plt.close(figure)
    display(picture(figure, text))


def _hatch(axes: Any) -> None:
    from matplotlib.container import BarContainer

    from course_lib.teaching.lab.figures.base import HATCHES

    series = [bars for bars in axes.containers if isinstance(bars, BarContainer)]
    legend = axes.get_legend()
    in_legend = legend.get_patches() if legend else []
    for at, (bars, hatch) in enumerate(zip(series, cycle(HATCHES), strict=False)):
        for patch in (*bars, *in_legend[at : at + 1]):
            patch.set_hatch(hatch)


def has_widgets() -> bool:
    """Tell whether the cell was run by a front end that shows widgets.

    JupyterLab and Notebook send a cell's id along with the request to run it; papermill, nbconvert
    and nbval do not.
    """
    parent: dict[str, Any] = getattr(notebook_shell(), "get_parent", dict)()
    return bool(parent.get("metadata", {}).get("cellId"))


def display(shown: Any) -> None:
    """Show an object below the cell, or print it outside of a notebook."""
    if notebook_shell() is None:
        print(shown)
        return
    from IPython.display import display as show

    show(shown)
