r"""The line at which Python stopped reading an answer: message and answer in, both together out.

The message comes from the learner's process, which may say anything. So it chooses no more than a
number, and what is shown is a line of the learner's own cell, cut to a length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

WIDEST = 200
"""Characters of the line that are shown."""

_ERRORS = ("SyntaxError: ", "IndentationError: ", "TabError: ")

_PLACE = re.compile(r" \((?:<ipython-input-\d{1,9}-\w{1,64}>|\d{1,20}\.py), line (\d{1,6})\)\Z")
"""How IPython, in our process and in a kernel, says where in a cell an error is."""

_END = re.compile(r"\r\n|\r|\n")


def with_line(said: str, answers: Mapping[str, str]) -> str:
    r"""Return what a check said; where an answer is not Python, with the answer's line.

    Parameters
    ----------
    said
        What `Mark.said` holds: the answer's grade id, the error, and its place in the cell.
    answers
        The learner's cells by grade id.

    Examples
    --------
    >>> said = "double: SyntaxError: expected ':' (<ipython-input-1-deb3>, line 1)"
    >>> print(with_line(said, {"double": "\ndef double(x)\n    return 2 * x"}))
    double: SyntaxError: expected ':' (line 2 of the cell)
    <BLANKLINE>
      2 | def double(x)
    """
    name, _, error = said.partition(": ")
    place = _PLACE.search(said)
    if place is None or name not in answers or not error.startswith(_ERRORS):
        return said
    source = answers[name]
    number = int(place[1]) + _empty_lines(source)
    lines = _END.split(source)
    if not 0 < number <= len(lines) or any(map(_is_joined, lines[: number - 1])):
        return said
    line = lines[number - 1]
    shown = line if len(line) <= WIDEST else f"{line[:WIDEST]} …"
    return f"{said[: place.start()]} (line {number} of the cell)\n\n  {number} | {shown}"


def _is_joined(line: str) -> bool:
    """Tell whether IPython joins a line to the next before it counts: a magic that goes on."""
    assigned = line.partition("=")[2]
    return line.endswith("\\") and any(
        part.lstrip().startswith(("%", "!")) for part in (line, assigned)
    )


def _empty_lines(source: str) -> int:
    """Return how many empty lines a cell begins with: IPython counts from the first other one."""
    count = 0
    for line in source.splitlines(keepends=True):
        if not line.isspace():
            return count
        count += len(_END.findall(line))
    return 0
