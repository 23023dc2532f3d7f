"""What the lab about code measures: where definitions really are, and which a splitter keeps whole.

Python's own parser finds the definitions. A splitter is any function that takes a text and its
language and returns pieces with `start`, `end` and `text`, such as `split_code`.
"""

from __future__ import annotations

import ast
import sysconfig
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from course_lib.loader.languages import language_of
from course_lib.records import Span, embedded_text
from course_lib.teaching.taught import line_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


Splitter = Callable[[str, str], Iterable[Any]]
"""Takes a text and its language. If a piece has a `header`, both are embedded together."""


class Definition(NamedTuple):
    """A class or function: its name, its lines with its decorators, and its level."""

    name: str
    span: Span
    outer: bool
    """Whether it is at the left margin."""


class Found(NamedTuple):
    """A piece that a search found, as `lab.show.ranking` draws it."""

    document_name: str
    chunk_index: int
    content: str
    similarity_score: float


def definitions(text: str) -> list[Definition]:
    r"""Return what Python's own parser takes for definitions, the outer ones first.

    Raises
    ------
    SyntaxError
        If the text is not valid Python.

    Examples
    --------
    >>> [(one.name, one.span.start, one.outer) for one in definitions("@x\ndef f():\n    pass\n")]
    [('f', 0, True)]
    """
    with warnings.catch_warnings(action="ignore"):
        tree = ast.parse(text)
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = line_of(node)
            start = starts[first - 1] + node.col_offset
            end = starts[node.end_lineno or node.lineno] - 1
            span = Span(start, end, text[start:end])
            found.append(Definition(node.name, span, node in tree.body))
    return found


def real_sources(every: int = 5) -> list[str]:
    """Return Python files that are installed: by default every fifth of two packages.

    They are the standard library, without its folders, and kfp.
    """
    package = find_spec("kfp")
    assert package is not None and package.origin is not None
    library = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    installed = sorted(Path(package.origin).parent.rglob("*.py"))
    paths = [*library[::every], *installed[::every]]
    return [path.read_text(encoding="utf-8") for path in paths]


def kept_whole(split: Splitter, sources: Sequence[str], size: int = 512) -> tuple[float, float]:
    """Return how many of the definitions that fit into one piece are whole in one, in per cent.

    Parameters
    ----------
    split
        The splitter.
    sources
        Python files.
    size
        Characters of the largest piece; larger definitions are not counted.

    Returns
    -------
    tuple of float
        Of all definitions, and of the outer ones.
    """
    whole: list[bool] = []
    outer: list[bool] = []
    for text in sources:
        places = [(piece.start, piece.end) for piece in split(text, "python")]
        for one in definitions(text):
            if one.span.end - one.span.start <= size:
                kept = any(a <= one.span.start and one.span.end <= b for a, b in places)
                whole.append(kept)
                outer += [kept] * one.outer
    return 100 * sum(whole) / len(whole), 100 * sum(outer) / len(outer)


def _encoded(
    files: Mapping[str, str],
    split: Splitter,
    encode: Callable[[Sequence[str]], npt.NDArray[np.float32]],
) -> tuple[list[tuple[str, int, Any]], npt.NDArray[np.float32]]:
    """Return the pieces of some files, each with its file and its number, and their vectors."""
    pieces = [
        (name, index, piece)
        for name, text in files.items()
        for index, piece in enumerate(split(text, language_of(name) or ""))
    ]
    texts = [embedded_text(one.text, getattr(one, "header", "")) for _, _, one in pieces]
    return pieces, encode(texts)


def search_over(
    files: Mapping[str, str],
    split: Splitter,
    encode: Callable[[Sequence[str]], npt.NDArray[np.float32]],
) -> Callable[[str], list[Found]]:
    """Return a search over the pieces of some files, by cosine similarity alone, five at most.

    Parameters
    ----------
    files
        Name → text.
    split
        The splitter.
    encode
        Texts → unit vectors, such as ``lab.encode``.
    """
    pieces, vectors = _encoded(files, split, encode)

    def search(question: str) -> list[Found]:
        scores = vectors @ encode([question])[0]
        best = (-scores).argsort(kind="stable")[:5]
        hits = [(*pieces[at], float(scores[at])) for at in best]
        return [Found(name, index, piece.text, score) for name, index, piece, score in hits]

    return search


def asking(
    files: Mapping[str, str],
    split: Splitter,
    encode: Callable[[Sequence[str]], npt.NDArray[np.float32]],
) -> Callable[[str], None]:
    """Return a function that prints the best piece for a question, and above it its header.

    The lines of a header begin with ``>``, those of the file with their number in it.

    Parameters
    ----------
    files
        Name → text.
    split
        The splitter.
    encode
        Texts → unit vectors, such as ``lab.encode``.
    """
    pieces, vectors = _encoded(files, split, encode)

    def ask(question: str) -> None:
        scores = vectors @ encode([question])[0]
        name, _, best = pieces[int(scores.argmax())]
        print(f"{name}, similarity {scores.max():.2f}")
        for line in getattr(best, "header", "").splitlines():
            print("  >", line)
        first = files[name].count("\n", 0, best.start) + 1
        for number, line in enumerate(best.text.splitlines(), first):
            print(f"{number:3} {line}".rstrip())

    return ask
