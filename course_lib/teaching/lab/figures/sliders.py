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
from course_lib.teaching.lab.idiom import has_widgets

Split = Callable[..., list[Span]]

HIDE_STATIC = "<style>.jp-OutputArea:has(.course-live) .course-static { display: none; }</style>"


@dataclass(frozen=True)
class Slider:
    """A static figure, and what makes the live one: an ipywidgets box."""

    static: Figure
    live: Callable[[], Any]

    def __repr__(self) -> str:
        return repr(self.static)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        if has_widgets():
            display(self.live())
        display(self.static)


def spans_slider(
    text: str,
    split: Split,
    sizes: Sequence[int] = (100, 200, 400, 800),
    overlaps: Sequence[int] = (0, 20, 50, 90),
    *,
    most: int = 1_500,
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
    """

    def drawn(size: int, overlap: int) -> Figure:
        if overlap >= size:
            message = f"An overlap of {overlap} does not fit into chunks of {size} characters."
            return Figure(f'<p style="color: {INK}">{escape(message)}</p>', message)
        return draw(text, split(text, chunk_size=size, chunk_overlap=overlap), most=most)

    def live() -> Any:
        import ipywidgets as widgets

        sliders = [
            widgets.SelectionSlider(options=options, value=options[0], description=name)
            for name, options in (("chunk_size", sizes), ("overlap", overlaps))
        ]
        panel = widgets.HTML()

        def redraw(change: object = None) -> None:
            panel.value = HIDE_STATIC + drawn(*(slider.value for slider in sliders)).html

        for slider in sliders:
            slider.observe(redraw, names="value")
        redraw()
        return widgets.VBox([*sliders, panel]).add_class("course-live")

    size, overlap = sizes[len(sizes) // 2], overlaps[len(overlaps) // 2]
    settings = [(size, overlaps[0]), (size, overlap), (sizes[-1], overlap)]
    parts, told = [], []
    for number, (size, overlap) in enumerate(dict.fromkeys(settings)):
        figure = drawn(size, overlap)
        name = f"chunk_size={size}, chunk_overlap={overlap}"
        told.append(f"with {name}: {figure.alt}")
        parts.append(
            f"<details{' open' if number == 1 else ''}><summary>{name}</summary>"
            f"{figure.html}</details>"
        )
    static = Figure(f'<div class="course-static">{"".join(parts)}</div>', " ".join(told))
    return Slider(static, live)
