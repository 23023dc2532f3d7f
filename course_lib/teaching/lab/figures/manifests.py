"""Figures of manifests: pieces under their labels, a file as a tree, and the depths of lines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape
from itertools import groupby, pairwise

from course_lib.errors import InputError
from course_lib.loader.kubernetes import ResourceSpan
from course_lib.loader.resource_chunks import ResourcePiece
from course_lib.loader.yaml_lines import Line
from course_lib.records import Span
from course_lib.teaching.lab.figures.base import FAINT, INK, Figure, boxed, colour

PRE = (
    f"white-space: pre; overflow-x: auto; color: {INK}; background-color: #ffffff; "
    "font-family: monospace; font-size: 12px; line-height: 1.4; margin: 0px; padding: 2px 0px"
)
MARK = f"color: {INK}; background-color: #f0e442; font-weight: bold"
CUT = "color: #a03c00; font-weight: bold"


Placed = Span | ResourcePiece | ResourceSpan


def pieces(text: str, spans: Sequence[Placed], labels: Sequence[str], *, mark: str = "") -> Figure:
    """Show the pieces of a text under their labels, folded, those with a marked phrase open.

    Parameters
    ----------
    text
        The whole text.
    spans
        Its pieces.
    labels
        A label for each piece; pieces with the same label have the same colour.
    mark
        A phrase. The pieces that hold it are open, and it is marked in them.
    """
    if len(spans) != len(labels):
        raise InputError(f"{len(spans)} pieces need as many labels")
    colours = {label: colour(index) for index, label in enumerate(dict.fromkeys(labels))}
    parts, opened = [], []
    for span, label in zip(spans, labels, strict=True):
        content = text[span.start : span.end]
        if mark and mark in content:
            opened.append(label)
        parts.append(_folded(content, label, colours[label], mark))
    told = f"{len(spans)} pieces: {', '.join(labels)}"
    if mark:
        told += f". {mark!r} is in {', '.join(opened) or 'none of them'}"
    return boxed("".join(parts), f"{told}.", caption="Click a label to unfold its piece.")


def tree(name: str, found: Sequence[ResourcePiece], *, mark: str = "") -> Figure:
    """Show a manifest as a tree: the file, its resources, and their pieces, folded, with paths.

    Parameters
    ----------
    name
        The file.
    found
        Its pieces, in order.
    mark
        A phrase. The pieces that hold it are open, and it is marked in them.
    """
    parts, told = [], []
    for index, (resource, group) in enumerate(groupby(found, key=lambda piece: piece.resource)):
        own, ink = list(group), colour(index)
        who = " ".join(filter(None, (resource.identity.kind, resource.identity.name)))
        parts.append(
            f'<div style="margin: 6px 0px 0px 14px; color: {INK}; font-size: 13px">'
            f'└ <b style="border-bottom: 3px solid {ink}">{escape(who)}</b></div>'
            '<div style="margin-left: 40px">'
        )
        parts += [_folded(piece.text, piece.path or "top level", ink, mark) for piece in own]
        parts.append("</div>")
        told.append(f"{who} ({len(own)})")
        told += [f"{mark!r} at {one.path}" for one in own if mark and mark in one.text]
    head = f'<div style="color: {INK}; font-size: 13px"><b>{escape(name)}</b></div>'
    alt = f"{name} with {len(found)} pieces: {', '.join(told)}."
    return boxed(head + "".join(parts), alt, caption="Click a path to unfold its piece.")


def _folded(content: str, label: str, ink: str, mark: str) -> str:
    """Return a piece below its label, open where it holds the mark."""
    found = bool(mark) and mark in content
    shown = escape(content.strip("\n"))
    if found:
        shown = shown.replace(escape(mark), f'<span style="{MARK}">{escape(mark)}</span>')
    return (
        f'<details{" open" if found else ""} style="border-left: 5px solid {ink}; '
        f'padding-left: 8px; margin: 3px 0px"><summary style="color: {INK}; font-size: 12px">'
        f"<b>{escape(label)}</b> {len(content):,} characters</summary>"
        f'<pre style="{PRE}">{shown}</pre></details>'
    )


def outline(text: str, lines: Sequence[Line], cuts: Collection[int] = ()) -> Figure:
    """Show the lines of a manifest with number, offset and depth, and cuts drawn between them.

    Parameters
    ----------
    text
        The whole text.
    lines
        Its lines in order, the last one being the end; ``↳`` is before the first line inside a
        block.
    cuts
        Offsets at which pieces begin.
    """
    rows, drawn = [f'<span style="color: {FAINT}">  no start depth</span>'], 0
    for number, (line, behind) in enumerate(pairwise(lines)):
        if line.start in cuts and line is not lines[0]:
            rows.append(f'<span style="{CUT}">{"✂":>16} {"─" * 40}</span>')
            drawn += 1
        head, *rest = text[line.start : behind.start].strip("\n").split("\n")
        mark = "↳" if line.first else " "
        rows.append(f"{number:4d} {line.start:5d} {line.depth:5d} {mark} {escape(head)}")
        rows += [f"{'':18} {escape(more)}" for more in rest]
    rows.append(f"{len(lines) - 1:4d} {lines[-1].start:5d} {lines[-1].depth:5d}   the end")
    depths = [line.depth for line in lines[:-1]]
    told = f"{len(depths)} lines with depths from {min(depths)} to {max(depths)}"
    if cuts:
        told += f", cut into {drawn + 1} pieces"
    legend = "↳ is the first line inside a block" + ("; ✂ a cut" if cuts else "")
    return boxed(f'<pre style="{PRE}">{chr(10).join(rows)}</pre>', f"{told}.", caption=legend)
