"""What is kept of a custom resource definition: its text goes in, the ranges to index come out.

Nineteen twentieths of the manifests of a real platform are OpenAPI schemas, which repeat the same
words thousands of times and would drown everything else. Kept are the head, the names, the versions
with their columns, and the descriptions at the top of each schema; what is left out stays in the
document and can be had on request.
"""

from __future__ import annotations

import re

_SCHEMA = "openAPIV3Schema:"
_REST = re.compile(r"[ \t]*(?:#[^\n]*)?\r?\n")
_FIRST = re.compile(r"\n( +)(?=[^ \r\n#])")
_EVERYWHERE = frozenset({"apiVersion", "kind", "metadata"})
"""Properties that every schema has, with the same descriptions."""


def without_schemas(text: str, start: int, end: int) -> list[tuple[int, int]]:
    r"""Return the ranges of a definition that are kept, in order.

    Of each ``openAPIV3Schema`` these are its own description and those of its properties (`spec`,
    `status` …).

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
    >>> print("".join(crd[start:end] for start, end in without_schemas(crd, 0, len(crd))), end="")
    spec:
      schema:
        openAPIV3Schema:
          description: A queue.
            spec:
              description: What is wanted.
      served: true
    """
    ranges: list[tuple[int, int]] = []
    kept = start
    at = start - 1
    while (at := text.find(_SCHEMA, at + 1, end)) >= 0:
        column = at - text.rfind("\n", 0, at) - 1
        rest = _REST.match(text, at + len(_SCHEMA), end)
        if at < kept or rest is None or not text[at - column : at].isspace():
            continue
        first = rest.end()
        behind = re.compile(rf"\n {{0,{column}}}(?=[^ \r\n])").search(text, first - 1, end)
        stop = behind.start() + 1 if behind else end
        if stop <= first:
            continue
        _keep(ranges, kept, first)
        for begin, finish in _descriptions(text, first, stop):
            _keep(ranges, begin, finish)
        kept = stop
    _keep(ranges, kept, end)
    return ranges


def _descriptions(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges of the descriptions of a schema and of its properties."""
    found = []
    for key, at, stop in _children(text, start, end):
        if key == "description":
            found.append((at, stop))
        elif key == "properties":
            for name, begin, finish in _children(text, _next_line(text, at, stop), stop):
                if name not in _EVERYWHERE:
                    found += _description(text, begin, finish)
    return found


def _description(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the range of a property's description, with the property's name if that is above."""
    first = _next_line(text, start, end)
    for key, at, stop in _children(text, first, end):
        if key == "description":
            return [(start if at == first else at, stop)]
    return []


def _children(text: str, start: int, end: int) -> list[tuple[str, int, int]]:
    """Return key, start and end of each block directly below a line that ends before `start`."""
    child = _FIRST.search(text, start - 1, end)
    if child is None:
        return []
    lines = re.compile(rf"\n {{{len(child[1])}}}([^ \r\n#:]+)")
    found = [(match[1], match.start() + 1) for match in lines.finditer(text, start - 1, end)]
    stops = [at for _, at in found[1:]] + [end] * bool(found)
    return [(key, at, stop) for (key, at), stop in zip(found, stops, strict=True)]


def _next_line(text: str, start: int, end: int) -> int:
    newline = text.find("\n", start, end)
    return newline + 1 if newline >= 0 else end


def _keep(ranges: list[tuple[int, int]], start: int, end: int) -> None:
    """Add a range; one that continues the last makes that longer."""
    if ranges and ranges[-1][1] == start:
        ranges[-1] = (ranges[-1][0], end)
    elif start < end:
        ranges.append((start, end))
