"""A slider over chunk size and overlap, with a version for where no widget runs.

In JupyterLab the slider is alive, and hides the static version that is always there. Everywhere
else (a page made by nbconvert, papermill, nbval, a notebook opened again later) that one shows the
same figure at fixed settings in folded sections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from course_lib.records import Span
from course_lib.teaching.lab.figures.base import INK, Figure
from course_lib.teaching.lab.figures.text import spans as draw

Split = Callable[..., list[Span]]

HIDE_STATIC = "<style>.jp-OutputArea:has(.course-live) .course-static { display: none; }</style>"


@dataclass(frozen=True)
class Slider:
    """A static figure, and how to make the live one."""

    static: Figure
    text: str
    split: Split
    sizes: tuple[int, ...]
    overlaps: tuple[int, ...]
    most: int
    widget: bool | None

    def __repr__(self) -> str:
        return repr(self.static)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        if has_widgets() if self.widget is None else self.widget:
            display(self.live())
        display(self.static)

    def live(self) -> Any:
        """Return the ipywidgets box with two sliders and the figure."""
        import ipywidgets as widgets

        size = widgets.SelectionSlider(
            options=self.sizes, value=self.sizes[0], description="chunk_size"
        )
        overlap = widgets.SelectionSlider(
            options=self.overlaps, value=self.overlaps[0], description="overlap"
        )
        panel = widgets.HTML()

        def redraw(change: object = None) -> None:
            drawn = _drawn(self.text, self.split, size.value, overlap.value, self.most)
            panel.value = HIDE_STATIC + drawn.html

        size.observe(redraw, names="value")
        overlap.observe(redraw, names="value")
        redraw()
        return widgets.VBox([size, overlap, panel]).add_class("course-live")


def spans_slider(
    text: str,
    split: Split,
    sizes: Sequence[int] = (100, 200, 400, 800),
    overlaps: Sequence[int] = (0, 20, 50, 90),
    *,
    most: int = 1_500,
    widget: bool | None = None,
) -> Slider:
    """Show the chunks of a text at settings that one chooses with sliders.

    Parameters
    ----------
    text
        What is split.
    split
        Called as ``split(text, chunk_size=…, chunk_overlap=…)``; returns spans.
    sizes, overlaps
        What the sliders offer.
    most
        Characters of the text that are shown.
    widget
        True or False to have the live slider or not; without it, where a JupyterLab is there.
    """
    size, overlap = sizes[len(sizes) // 2], overlaps[len(overlaps) // 2]
    settings = [(size, overlaps[0]), (size, overlap), (sizes[-1], overlap)]
    parts, told = [], []
    for number, (size, overlap) in enumerate(dict.fromkeys(settings)):
        figure = _drawn(text, split, size, overlap, most)
        name = f"chunk_size={size}, chunk_overlap={overlap}"
        told.append(f"with {name}: {figure.alt}")
        parts.append(
            f"<details{' open' if number == 1 else ''}><summary>{name}</summary>"
            f"{figure.html}</details>"
        )
    static = Figure(f'<div class="course-static">{"".join(parts)}</div>', " ".join(told))
    return Slider(static, text, split, tuple(sizes), tuple(overlaps), most, widget)


def has_widgets() -> bool:
    """Tell whether the cell was run by a front end that shows widgets.

    JupyterLab and Notebook send a cell's id along with the request to run it; papermill, nbconvert
    and nbval do not.
    """
    try:
        from IPython import get_ipython

        shell = get_ipython()
        parent = shell.get_parent() if shell is not None else {}
    except (ImportError, AttributeError):
        return False
    return bool(parent.get("metadata", {}).get("cellId"))


def _drawn(text: str, split: Split, size: int, overlap: int, most: int) -> Figure:
    if overlap >= size:
        message = f"An overlap of {overlap} does not fit into chunks of {size} characters."
        return Figure(f'<p style="color: {INK}">{escape(message)}</p>', message)
    return draw(text, split(text, chunk_size=size, chunk_overlap=overlap), most=most)
