"""A cell's Python, read once: its statements, and what each defines and reads.

Nothing of it is run. What merges and marks looks at these records, and parses nothing itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, TypeVar

from course_lib.teaching.names import bound_names, read_names
from course_lib.teaching.notebooks.cells import parse_code

Kind = Literal["import", "function", "class", "text", "value", "other"]
KINDS: dict[type[ast.stmt], Kind] = {
    ast.Import: "import", ast.ImportFrom: "import", ast.FunctionDef: "function",
    ast.AsyncFunctionDef: "function", ast.ClassDef: "class", ast.Assign: "value",
    ast.AnnAssign: "value", ast.AugAssign: "value",
}  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """One statement at a cell's top level; an import of several names is several.

    Attributes
    ----------
    text
        As Python writes it, without comments.
    kind
        ``text`` for a name that is bound to a constant, ``other`` for what defines nothing.
    reads, binds
        The names of the module that it reads, and those to which it gives a meaning.
    is_empty
        Whether it defines nothing yet: a function that is to be written, a None, a ``raise``.
    """

    text: str
    kind: Kind
    reads: frozenset[str]
    binds: frozenset[str]
    is_empty: bool


@dataclass(frozen=True)
class Code:
    """What is in a cell.

    Attributes
    ----------
    source
        Its text.
    statements
        None, where the text is prose, or not Python.
    is_python
        Whether it is; magics are left out.
    """

    source: str
    statements: tuple[Statement, ...] = ()
    is_python: bool = False

    @cached_property
    def plain(self) -> str:
        """The text without blanks at the ends of its lines and empty lines around it."""
        return "\n".join(line.rstrip() for line in self.source.strip().splitlines())

    @cached_property
    def reads(self) -> frozenset[str]:
        """The names that it reads."""
        return union(one.reads for one in self.statements)

    @cached_property
    def binds(self) -> frozenset[str]:
        """The names to which it gives a meaning."""
        return union(one.binds for one in self.statements)

    @cached_property
    def filled(self) -> list[Statement]:
        """Its statements but those that define nothing yet, whatever their docstrings say."""
        return [one for one in self.statements if not one.is_empty]

    @cached_property
    def definitions(self) -> tuple[Statement, ...]:
        """What it gives a meaning to, and is not empty."""
        return tuple(one for one in self.statements if one.kind != "other" and not one.is_empty)


Piece = TypeVar("Piece", Statement, Code)


@lru_cache(maxsize=2_000)
def code_of(source: str, kind: str = "code") -> Code:
    """Return what is in a cell of a kind; most cells of a class are those that it was given."""
    try:
        tree = parse_code(source) if kind == "code" else None
        if tree is None:
            return Code(source)
        found = tuple(_read(one) for node in tree.body for one in _parts(node))
        return Code(source, found, is_python=True)
    except (ValueError, RecursionError, MemoryError):
        return Code(source)  # it does not run either


def of_statements(statements: Iterable[Statement]) -> Code:
    """Return a cell of some statements."""
    kept = tuple(statements)
    return Code("\n".join(one.text for one in kept), kept, is_python=True)


def union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """Return what is in any of some sets."""
    return frozenset[str]().union(*sets)


def needed(read: Iterable[str], among: Sequence[Piece]) -> list[Piece]:
    r"""Return the statements, or cells, that bind names which are read, here or by one of them.

    Examples
    --------
    >>> code = code_of("import math\nrows = show()\ndef f(x):\n    return math.pi * x\nf(rows)")
    >>> of_statements(needed({"f"}, code.statements)).source
    'import math\ndef f(x):\n    return math.pi * x'
    """
    names, found = set(read), list[Piece]()
    while more := [one for one in among if one not in found and one.binds & names]:
        found += more
        names.update(*(one.reads for one in more))
    return [one for one in among if one in found]


def _parts(node: ast.stmt) -> Iterator[ast.stmt]:
    match node:
        case ast.Import(names=names):
            yield from (ast.Import([one]) for one in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            yield from (ast.ImportFrom(module, [one], level) for one in names)
        case _:
            yield node


def _read(node: ast.stmt) -> Statement:
    text, kind = ast.unparse(node), KINDS.get(type(node), "other")
    match node:
        case ast.Assign(value=ast.Constant() | ast.JoinedStr()):
            kind = "text"
    return Statement(text, kind, read_names(text), bound_names(text), _is_empty(node))


def _is_empty(node: ast.stmt) -> bool:
    match node:
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body):
            return all(
                isinstance(one, ast.Pass)
                or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
                or (isinstance(one, ast.Raise) and "NotImplementedError" in ast.dump(one))
                for one in body
            )
        case ast.Assign(value=ast.Constant(value=None)) | ast.Raise():
            return True
    return False
