"""What all figures share: the `Figure` itself, the palette, and how a chart becomes a picture.

Figures are HTML with inline styles: JupyterLab strips style sheets, scripts and SVG from notebooks
it does not trust, and shows a bare PNG without its alternative text.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Chart

INK, PAPER, FAINT = "#1a1a1a", "#ffffff", "#6b6b6b"

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444")
"""Okabe and Ito's colours, which the colour-blind tell apart."""

HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo")
DPI = 140
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

BOX = (
    f"color: {INK}; background-color: {PAPER}; border: 1px solid #c8c8c8; padding: 8px; "
    "margin: 4px 0px; max-width: 820px"
)

CELL = f"text-align: left; vertical-align: top; color: {INK}; background-color: {PAPER}"


@dataclass(frozen=True)
class Figure:
    """A figure and its description.

    Attributes
    ----------
    html
        What is shown, with inline styles only.
    alt
        What is to be seen in it, in words.
    """

    html: str
    alt: str

    def __repr__(self) -> str:
        return f"Figure: {self.alt}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": repr(self)}


def boxed(content: str, alt: str, *, caption: str = "") -> Figure:
    """Return a figure made of HTML.

    Parameters
    ----------
    content
        HTML, escaped already.
    alt
        The description.
    caption
        Plain text below it.
    """
    below = (
        f'<figcaption style="color: {FAINT}; font-size: 12px">{escape(caption)}</figcaption>'
        if caption
        else ""
    )
    # `title` is left to elements inside: as a tooltip over all of it, it would be in the way.
    html = f'<figure aria-label="{escape(alt)}" style="{BOX}">{content}{below}</figure>'
    return Figure(html, alt)


def chart(
    title: str = "", across: str = "", up: str = "", *, width: float = 7.0, height: float = 3.4
) -> tuple[Chart, Axes]:
    """Return an empty matplotlib figure and its axes, without pyplot's global state.

    Parameters
    ----------
    title, across, up
        Above the chart and beside its axes.
    width, height
        In inches.
    """
    from matplotlib.figure import Figure as Chart

    figure = Chart(figsize=(width, height), layout="constrained", facecolor=PAPER)
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, loc="left")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    return figure, axes


def picture(figure: Chart, alt: str) -> Figure:
    """Return a matplotlib figure as a picture with its description."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, bbox_inches="tight", metadata={"Software": None})
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    pixels = int.from_bytes(buffer.getvalue()[16:20], "big")  # the width in a PNG's header
    width = round(pixels / DPI * 100)
    return Figure(
        f'<img src="data:image/png;base64,{data}" alt="{escape(alt)}" width="{width}">', alt
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as HTML; its cells are HTML, escaped already."""
    head = "".join(f'<th style="{CELL}">{name}</th>' for name in heads)
    body = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{cell}</td>' for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def colour(index: int) -> str:
    """Return a colour of the palette, which begins again at its end."""
    return PALETTE[index % len(PALETTE)]
