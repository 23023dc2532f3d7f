"""The lines of a resource, and where to cut it: a text goes in, lines with depths come out.

Indentation alone is enough for that, so templates and broken files have lines as well. Block
scalars and quoted strings that take several lines are text: nothing in them counts as a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from os.path import commonprefix
from typing import NamedTuple

from course_lib.loader.resource_identity import read_key

_DASH = re.compile(r"-(?:\s+|$)")
_BLOCK_SCALAR = re.compile(r"(?:[&!]\S*\s+)*[|>][-+0-9]*\s*(?:#.*)?")
_OPEN_STRING = re.compile(r"""(?!"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')["'].*""")
_SIMPLE_NAME = re.compile(r"[\w$-]+", re.ASCII)
_MOST_LEVELS, _LONGEST_KEY = 80, 100


class Line(NamedTuple):
    """A line of a manifest that begins with a key or a list item.

    Attributes
    ----------
    start
        The offset at which it begins, or at which the comments above it begin.
    depth
        Twice its column, plus one for a list item; -1 for the end of the text.
    first
        Whether it is the first line inside a block.
    path
        Where it is in the resource: ``spec.containers[0].image``.
    """

    start: int
    depth: int
    first: bool
    path: str


@dataclass
class _Block:
    """A key or an item that is still open, and how many items it has so far."""

    depth: int
    path: str
    items: int = 0


def lines_of(text: str, start: int, end: int) -> list[Line]:
    r"""Return the lines of a resource that open keys or items, and one for its end.

    Parameters
    ----------
    text
        The whole file.
    start, end
        Where the resource is in it. The first line begins at `start`, whatever is there.

    Examples
    --------
    >>> lines = lines_of("list:\n- a: 1\n  b: 2\n", 0, 19)
    >>> [(line.start, line.depth, line.first, line.path) for line in lines[:2]]
    [(0, 0, False, 'list'), (6, 1, True, 'list[0].a')]
    >>> [(line.start, line.depth, line.first, line.path) for line in lines[2:]]
    [(13, 4, False, 'list[0].b'), (19, -1, False, '')]
    """
    lines: list[Line] = []
    blocks = [_Block(-1, "")]
    scalar = 1_000_000  # lines indented more than this are the text of a scalar
    comment = -1  # where the comments above the next line begin
    after = text.rfind("\n", 0, start) + 1
    # An item of a List begins after its dash: blanks in its place leave the columns true.
    for line in (" " * (start - after) + text[start:end]).split("\n"):
        at, after = after, after + len(line) + 1
        bare = line.lstrip()
        column = len(line) - len(bare)
        if not bare or column > scalar:
            continue
        scalar = 1_000_000
        if bare[0] == "#":
            comment = at if comment < 0 else comment
            continue
        begin, comment = (at if comment < 0 else comment), -1
        labels, column, value = _labels(bare, column)
        if labels:
            depth = labels[0][0]
            lines.append(Line(begin, depth, -1 < blocks[-1].depth < depth, ""))
            for depth, name in labels:
                _open(blocks, depth, name)
            lines[-1] = lines[-1]._replace(path=blocks[-1].path)
        if _BLOCK_SCALAR.fullmatch(value) or _OPEN_STRING.fullmatch(value):
            scalar = column
    head = lines[0]._replace(start=start) if lines else Line(start, 0, False, "")
    return [head, *lines[1:], Line(end, -1, False, "")]


def _labels(bare: str, column: int) -> tuple[list[tuple[int, str]], int, str]:
    """Return depth and name of what a line opens ("" for an item), its column, and its value."""
    labels = []
    while dash := _DASH.match(bare):
        labels.append((2 * column + 1, ""))
        column += dash.end()
        bare = bare[dash.end() :]
    key = read_key(bare)
    if key is None:
        # The text of `- |` is indented more than the dash, whose depth is twice its column and one.
        owner = labels[-1][0] // 2 if labels else max(column - 1, 0)
        return labels, owner, bare.rstrip()
    return [*labels, (2 * column, key.name)], column, key.value


def _open(blocks: list[_Block], depth: int, name: str) -> None:
    """Close the blocks that are as deep or deeper, and open one."""
    while blocks[-1].depth >= depth:
        blocks.pop()
    if len(blocks) > _MOST_LEVELS:
        return
    above = blocks[-1]
    if len(name) > _LONGEST_KEY:
        name = name[: _LONGEST_KEY - 1] + "…"
    if name:
        label = f".{name}" if _SIMPLE_NAME.fullmatch(name) else f'["{name}"]'
    else:
        label = f"[{above.items}]"
        above.items += 1
    blocks.append(_Block(depth, (above.path + label).removeprefix(".")))


def shared_path(lines: Iterable[Line]) -> str:
    """Return the longest path that all lines are in.

    Examples
    --------
    >>> shared_path([Line(0, 5, True, "spec.list[0].a"), Line(9, 8, False, "spec.list[0].bc")])
    'spec.list[0]'
    >>> shared_path([Line(0, 2, True, 'data["a.b"]'), Line(9, 2, False, 'data["a.c"]')])
    'data'
    """
    paths = [line.path for line in lines]
    common = commonprefix(paths)
    if common.count('["') > common.count('"]'):  # it ends within a quoted key
        return common[: common.rfind('["')]
    if all(path[len(common) : len(common) + 1] in ("", ".", "[") for path in paths):
        return common
    return common[: max(common.rfind("."), common.rfind("["), 0)]


def next_cut(lines: Sequence[Line], at: int, limit: int) -> int:
    """Return the number of the line before which a piece of a resource ends.

    A line is in reach if it comes after `at`, starts at `limit` or before, and is not a `first`.
    Of the lines in reach, take

    1. the first one whose depth is smaller than that of `lines[at]`, where the block ends,
    2. if there is none, the one with the smallest depth, and of several the last,
    3. and if no line is in reach, `at + 1`.

    Parameters
    ----------
    lines
        The lines of a resource, as `lines_of` gives them.
    at
        The number of the line with which the piece begins. It is never the last line.
    limit
        The largest offset at which the piece may end.
    """
    reach = takewhile(lambda i: lines[i].start <= limit, range(at + 1, len(lines)))
    cuts = [i for i in reach if not lines[i].first]
    leaving = [i for i in cuts if lines[i].depth < lines[at].depth]
    strongest = min(cuts, key=lambda i: (lines[i].depth, -i), default=at + 1)
    return leaving[0] if leaving else strongest


# --- what is kept of a custom resource definition ---

# Nineteen twentieths of the manifests of a real platform are OpenAPI schemas, which repeat the same
# words thousands of times and would drown everything else. Kept are the head, the names, the
# versions with their columns, and the descriptions at the top of each schema; what is left out
# stays in the document and can be had on request.
_IN_SCHEMA = re.compile(r"openAPIV3Schema[.\[].*")
_DESCRIBED = re.compile(r"openAPIV3Schema(\.properties\.(?!apiVersion|kind|metadata)[\w$-]+)?")
"""What may keep its description: apiVersion, kind and metadata have the same in each schema."""


def without_schemas(lines: Sequence[Line]) -> list[list[Line]]:
    r"""Return the lines of a definition that are kept, in runs without a gap.

    Of each ``openAPIV3Schema`` these are its own description and those of its properties (`spec`,
    `status` …).

    Parameters
    ----------
    lines
        What `lines_of` gave.

    Returns
    -------
    list of list of Line
        Each ends with a line that says where the run ends, with depth -1.

    Examples
    --------
    >>> crd = '''spec:
    ...   schema:
    ...     openAPIV3Schema:
    ...       description: A queue.
    ...       properties:
    ...         spec:
    ...           description: What is wanted.
    ...           properties:
    ...             a: {}
    ...   served: true
    ... '''
    >>> runs = without_schemas(lines_of(crd, 0, len(crd)))
    >>> print("".join(crd[run[0].start : run[-1].start] for run in runs), end="")
    spec:
      schema:
        openAPIV3Schema:
          description: A queue.
            spec:
              description: What is wanted.
      served: true
    """
    runs: list[list[Line]] = [[]]
    for line, after in pairwise(lines):
        if _is_kept(line.path, after.path):
            runs[-1].append(line)
        elif runs[-1]:
            runs[-1].append(Line(line.start, -1, False, ""))
            runs.append([])
    return [*runs[:-1], [*runs[-1], lines[-1]]] if runs[-1] else runs[:-1]


def _is_kept(path: str, following: str) -> bool:
    """Tell whether the line with this path is kept, given the path of the line after it."""
    schema = _IN_SCHEMA.search(path)
    if schema is None:
        return True
    owner, found, _ = schema[0].partition(".description")
    # The name of a property is kept with its description.
    described = bool(found) or following.startswith(f"{path}.description")
    return described and _DESCRIBED.fullmatch(owner) is not None
