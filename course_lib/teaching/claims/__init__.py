"""What the prose of lab 07 says about outputs: one module of predicates a lab.

The other labs say it in cells tagged ``claim``, as `infra.course.build` describes.

A claim is a sentence of the lab, the cells whose outputs it is about, and what has to hold of
them. `broken` holds a lab's claims against an executed notebook; `make build`, `course run` and
the tests do so after every execution. Whoever writes claims reads `lab07.py` as the example::

    CLAIMS: Claims = {
        "counts = rows_found(sections)": {
            "some lists are just shorter": lambda shown: numbers(shown)[0] > 0,
            "each of them has its own line": "a.md: 3 rows",
        },
    }
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from course_lib.teaching.checks import lab_module, lab_number

__all__ = [
    "Claims",
    "broken",
    "claims_file",
    "claims_of",
    "numbers",
    "plans",
    "rest_of_line",
    "text_of",
]

NUMBER = re.compile(r"(?<![\w.])[-−+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")


Claims = Mapping[str | tuple[str, ...], Mapping[str, str | Callable[..., object]]]
"""For each cell, or several, what sentences say about what it has shown.

A cell is named by a piece of source that only it holds. A sentence, or the part of it that claims,
is as it is in the lab: in its prose (where line breaks, links and emphasis do not count) or in a
comment of its code. It is true if the text that belongs to it is shown, or if the function does,
which gets what each of the cells has shown, as `text_of` gives it.
"""


def claims_of(lab_id: str | int) -> Claims:
    """Return the claims of a lab; none for a lab that has none.

    Parameters
    ----------
    lab_id
        As in ``"06"``.
    """
    module = lab_module(__name__, lab_id)
    claims: Claims = module.CLAIMS if module else {}
    return claims


def claims_file(lab_id: str | int) -> str:
    """Return where the claims of a lab are written, below the project's root.

    Examples
    --------
    >>> claims_file("01")
    'course_lib/teaching/claims/lab01.py'
    """
    return f"{__name__.replace('.', '/')}/lab{lab_number(lab_id)}.py"


def broken(cells: Iterable[Mapping[str, Any]], claims: Claims) -> list[str]:
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
    >>> broken(cells, {"2 + 2": {"never five": lambda shown: "5" not in shown, "Four": "4"}})
    []
    >>> broken(cells, {"2 + 2": {"Four": lambda shown: numbers(shown) == [5]}})
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
    faults = []
    for pieces, sentences in claims.items():
        about = (pieces,) if isinstance(pieces, str) else pieces
        for says, holds in sentences.items():
            if _plain(says) not in told:
                faults.append(f'the lab does not say "{says}"')
            elif fault := _fault(about, holds, code):
                faults.append(f'"{says}"{fault}')
    return faults


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
    shown = rest_of_line(shown, after, upto) if after else shown
    return [float(one.replace(",", "").replace("−", "-")) for one in NUMBER.findall(shown)]


def rest_of_line(shown: str, after: str, upto: str = "\n") -> str:
    r"""Return what is shown after a text, up to the end of its line.

    Raises
    ------
    ValueError
        If the text is not there.

    Examples
    --------
    >>> rest_of_line("deleted: ['bleach']\nkept: []", "deleted: ")
    "['bleach']"
    """
    _, found, rest = shown.partition(after)
    if not found:
        raise ValueError(f"{after!r} is not shown")
    return rest.partition(upto)[0]


def plans(shown: str) -> list[str]:
    """Return the descriptions of the query plans that a cell has drawn."""
    return [line for line in shown.splitlines() if "Query plan" in line]


def _fault(
    about: tuple[str, ...], holds: str | Callable[..., object], code: Mapping[str, str]
) -> str:
    """Return what is wrong with a claim about cells, to be read after it; empty for nothing."""
    shown = []
    for piece in about:
        found = [text for source, text in code.items() if piece in source]
        if len(found) != 1:
            return f": {len(found)} cells hold {piece!r}, and it has to be one"
        shown.append(found[0])
    try:
        if holds(*shown) if callable(holds) else holds in shown[0]:
            return ""
    except Exception as error:  # whatever the predicate could not read is not what it claims
        shown = [f"{type(error).__name__}: {error}", *shown]
    return f" is not what {' and '.join(about)} shows:\n" + "\n".join(
        f"    {line}" for text in shown for line in text.splitlines()[:20]
    )


def _plain(text: str) -> str:
    """Return prose without links, emphasis and comment signs, and with single spaces."""
    return " ".join(re.sub(r"[*_`]|^\s*[#>]+", "", LINK.sub(r"\1", text), flags=re.M).split())
