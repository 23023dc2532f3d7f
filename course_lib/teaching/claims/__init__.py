"""What a lab's prose says about its outputs, as predicates: one module a lab (`lab07.py`).

A claim names a sentence of the lab, the cells whose outputs it is about, and what has to hold of
them. `broken` holds a lab's claims against an executed notebook; `course build`, `course run` and
the tests do so after every execution. Whoever writes claims reads `lab07.py` as the example::

    CLAIMS = (
        Claim(
            "some lists are just shorter",
            "counts = rows_found(sections)",
            holds=lambda shown: numbers(shown)[0] > 0,
        ),
    )
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from course_lib.teaching.checks import lab_number

__all__ = ["Claim", "broken", "claims_of", "numbers", "text_of"]

NUMBER = re.compile(r"(?<![\w.])[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")


class Claim:
    """A sentence about outputs, and what has to hold of them.

    Parameters
    ----------
    says
        The sentence, or the part of it that claims, as it is in the lab: in its prose (where
        line breaks, links and emphasis do not count) or in a comment of its code.
    cells
        For each output that the sentence is about, a piece of source that only its cell holds.
    holds
        Gets what each of the cells has shown, as `text_of` gives it, and returns whether the
        sentence is true.
    """

    def __init__(self, says: str, *cells: str, holds: Callable[..., object]) -> None:
        self.says = says
        self.cells = cells
        self.holds = holds


def claims_of(lab_id: str | int) -> Sequence[Claim]:
    """Return the claims of a lab; none for a lab that has none.

    Parameters
    ----------
    lab_id
        As in ``"06"``.
    """
    name = f"{__name__}.lab{lab_number(lab_id)}"
    if importlib.util.find_spec(name) is None:
        return ()
    claims: Sequence[Claim] = importlib.import_module(name).CLAIMS
    return claims


def broken(cells: Iterable[Mapping[str, Any]], claims: Sequence[Claim]) -> list[str]:
    r"""Return which claims do not hold of an executed notebook, a line or two each.

    Parameters
    ----------
    cells
        The notebook's cells, with outputs. Of cells with the same source the last one counts, so
        that a notebook whose cells ran twice is held to what it showed in the end.
    claims
        The lab's.

    Examples
    --------
    >>> cells = [
    ...     {"cell_type": "code", "source": "print(2 + 2)", "outputs": [{"text": "4"}]},
    ...     {"cell_type": "markdown", "source": "Four, and never five."},
    ... ]
    >>> broken(cells, [Claim("never five", "2 + 2", holds=lambda shown: "5" not in shown)])
    []
    >>> broken(cells, [Claim("Four", "2 + 2", holds=lambda shown: numbers(shown) == [5])])
    ['"Four" is not what 2 + 2 shows:\n    4']
    """
    code: dict[str, str] = {}
    prose = []
    for cell in cells:
        source = "".join(cell["source"])
        prose.append(_plain(source))
        if cell["cell_type"] == "code":
            code[source] = text_of(cell.get("outputs", ()))
    told = " ".join(prose)
    faults = [_fault(claim, code, told) for claim in claims]
    return [fault for fault in faults if fault]


def text_of(outputs: Iterable[Mapping[str, Any]]) -> str:
    r"""Return what a cell has shown as text: what it printed, and each result's plain text.

    The plain text of a figure is its description, which holds the figures that are drawn.

    Examples
    --------
    >>> text_of([{"text": "4 rows"}, {"data": {"text/plain": "Figure: 4 bars"}}])
    '4 rows\nFigure: 4 bars'
    """
    texts = []
    for output in outputs:
        given = output.get("text") or output.get("data", {}).get("text/plain", "")
        texts.append("".join(given).rstrip("\n"))
    return "\n".join(text for text in texts if text)


def numbers(shown: str, after: str = "", upto: str = "\n") -> list[float]:
    r"""Return the numbers in what a cell has shown.

    Parameters
    ----------
    shown
        As `text_of` gives it.
    after
        Only those after this text, which has to be there, in the same line.
    upto
        Where to stop.

    Raises
    ------
    ValueError
        If `after` is not there.

    Examples
    --------
    >>> numbers("recall 0.81 of 63 questions")
    [0.81, 63.0]
    >>> numbers("rows:\nfive 5, 42 times\nfour 4", after="five")
    [5.0, 42.0]
    """
    if after:
        _, found, rest = shown.partition(after)
        if not found:
            raise ValueError(f"{after!r} is not shown")
        shown = rest.partition(upto)[0]
    return [float(one.replace(",", "").replace("−", "-")) for one in NUMBER.findall(shown)]


def _fault(claim: Claim, code: Mapping[str, str], told: str) -> str:
    if _plain(claim.says) not in told:
        return f'the lab does not say "{claim.says}"'
    shown = []
    for piece in claim.cells:
        found = [text for source, text in code.items() if piece in source]
        if len(found) != 1:
            return f'"{claim.says}": {len(found)} cells hold {piece!r}, and it has to be one'
        shown.append(found[0])
    try:
        holds = claim.holds(*shown)
    except Exception as error:  # whatever the predicate could not read is not what it claims
        holds, shown = False, [f"{type(error).__name__}: {error}", *shown]
    if holds:
        return ""
    where = " and ".join(claim.cells)
    return f'"{claim.says}" is not what {where} shows:\n' + "\n".join(
        f"    {line}" for text in shown for line in text.splitlines()[:20]
    )


def _plain(text: str) -> str:
    """Return prose without links, emphasis and comment signs, and with single spaces."""
    return " ".join(re.sub(r"[*_`]|^\s*[#>]+", "", LINK.sub(r"\1", text), flags=re.M).split())
