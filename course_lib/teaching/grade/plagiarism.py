"""Answers that were copied: from another learner, or from the course's own version.

Sources become tokens without names, literals, comments and layout; every `GRAM` neighbouring tokens
are hashed, and winnowing keeps the smallest hash of every `WINDOW` neighbours, as MOSS does
(Schleimer, Wilkerson and Aiken: Winnowing: Local Algorithms for Document Fingerprinting, SIGMOD
2003). So a copied passage of `GRAM + WINDOW - 1` tokens shares a fingerprint, wherever it is.

Texts of SQL are tokens, too (`sql_words`), where two learners are compared. With the course's they
are not: an answer in SQL has few ways to be right, and its names are given.

The numbers below were chosen with 26 right answers to 15 exercises that were written from their
statements alone, and with the course's own answers in disguise (`tests/grading/test_copies.py` has
these, and of the others those that came closest). Some shorter exercises have one obvious answer:
independent ones share up to 94% with the course's. From `HELD_BACK` tokens on, the most was 71%.
"""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from course_lib.teaching.grade.sql_words import sql_texts, sql_tokens
from course_lib.teaching.notebooks.cells import as_python

GRAM = 8
WINDOW = 5

SHORTEST = 60
"""Tokens of an answer, without what was given, below which likeness means nothing."""

SHARE = 0.8
"""Of an answer's fingerprints that have to be in the other for both to be shown."""

SAME = 0.85
"""Of the fingerprints, from which an answer is called the course's own, which holds it back."""

HELD_BACK = 110
"""Tokens of an answer below which that is not said, because there may be one obvious answer."""

WORD_FOR_WORD = 3
"""Answers of a notebook that are the course's with all their names, from which they hold it back,
if they have `HELD_BACK` tokens together: a short one alone may be what everybody writes."""

COMMON = 0.5
"""Of a class's answers that may share a fingerprint before it is the obvious way to write it."""

COURSE = "the course's version"

_LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


@dataclass(frozen=True)
class Copy:
    """Two answers that are alike.

    Attributes
    ----------
    answer
        The grade id.
    one, other
        Whose they are; the course's is `COURSE`.
    share
        Of the smaller one's fingerprints that are in both.
    """

    answer: str
    one: str
    other: str
    share: float


def find_copies(
    submissions: Mapping[str, Mapping[str, str]],
    solutions: Mapping[str, str],
    stubs: Mapping[str, str],
) -> list[Copy]:
    """Return pairs of answers that are alike, the most alike first.

    Parameters
    ----------
    submissions
        Answers by learner and grade id; untouched ones left out.
    solutions, stubs
        By grade id: the course's own answers, and what learners were given.
    """
    found: list[Copy] = []
    for name, stub in stubs.items():
        given = {who: answers[name] for who, answers in submissions.items() if name in answers}
        if own := fingerprints(solutions.get(name, "")) - fingerprints(stub):
            for who, source in given.items():
                share = _share(fingerprints(source) - fingerprints(stub), own)
                if share >= SHARE and _own_length(source, stub) >= SHORTEST:
                    found.append(Copy(name, who, COURSE, share))
        prints = {who: _with_sql(source) - _with_sql(stub) for who, source in given.items()}
        long = [who for who in prints if _own_length(given[who], stub, sql=True) >= SHORTEST]
        counts: dict[int, int] = defaultdict(int)
        for who in long:
            for mark in prints[who]:
                counts[mark] += 1
        most = max(2.0, COMMON * len(long))
        rare = {who: {p for p in prints[who] if counts[p] <= most} for who in long}
        for one, other in combinations(sorted(long), 2):
            share = _share(rare[one], rare[other])
            whole = _share(prints[one], prints[other])
            if share >= SHARE and whole >= SHARE and len(rare[one]) > WINDOW:
                found.append(Copy(name, one, other, whole))
    return sorted(found, key=lambda copy: (-copy.share, copy.answer, copy.one))


def groups_of(copies: Sequence[Copy]) -> list[tuple[str, list[str], float]]:
    """Return who has the same answer: its grade id, whose it is, and the greatest share of two.

    Who is alike to one of a group is in it. The most alike come first.

    Examples
    --------
    >>> pairs = [Copy("a", "ada", "bob", 0.9), Copy("a", "bob", "cy", 0.8)]
    >>> groups_of([*pairs, Copy("a", "dan", "eva", 1.0)])
    [('a', ['dan', 'eva'], 1.0), ('a', ['ada', 'bob', 'cy'], 0.9)]
    """
    groups: list[tuple[str, set[str], float]] = []
    for copy in copies:
        members, share, others = {copy.one, copy.other}, copy.share, []
        for group in groups:
            if group[0] == copy.answer and members & group[1]:
                members, share = members | group[1], max(share, group[2])
            else:
                others.append(group)
        groups = [*others, (copy.answer, members, share)]
    found = [(name, sorted(members), share) for name, members, share in groups]
    return sorted(found, key=lambda group: (-group[2], group[0], group[1]))


def copies_of_the_course(
    answers: Mapping[str, str], solutions: Mapping[str, str], stubs: Mapping[str, str]
) -> list[str]:
    """Return what of a learner's answers is the course's own, one text each.

    That is a long answer, whatever its names are, or several of any length word for word.
    """
    found, lengths = {}, {}
    for name, source in answers.items():
        stub = stubs.get(name, "")
        own = fingerprints(solutions.get(name, "")) - fingerprints(stub)
        share = _share(fingerprints(source) - fingerprints(stub), own)
        if share >= SAME and _own_length(source, stub) >= HELD_BACK:
            found[name] = f"{name} is {COURSE}, {share:.0%} of it"
        if _words(source) == _words(solutions.get(name, "")) != "":
            lengths[name] = _own_length(source, stub, sql=True)
    if len(lengths) >= WORD_FOR_WORD and sum(lengths.values()) >= HELD_BACK:
        others = f"as {len(lengths)} answers are"
        found = {name: f"{name} is {COURSE}, word for word, {others}" for name in lengths} | found
    return list(found.values())


@lru_cache(maxsize=5000)
def fingerprints(source: str) -> frozenset[int]:
    r"""Return a source's fingerprints; the same whatever its names, literals and layout are.

    Examples
    --------
    >>> one = "def f(items):\n    return [2 * item for item in items if item > 3]"
    >>> fingerprints(one) == fingerprints(one.replace("item", "x").replace("3", "99")) != set()
    True
    """
    return _winnowed(normalised(source))


@lru_cache(maxsize=5000)
def _with_sql(source: str) -> frozenset[int]:
    """Return a source's fingerprints and those of the SQL in it."""
    return fingerprints(source).union(*map(_winnowed, _sql(source)))


@lru_cache(maxsize=5000)
def _sql(source: str) -> Sequence[Sequence[str]]:
    try:
        return tuple(map(sql_tokens, sql_texts(ast.parse(as_python(source)))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


@lru_cache(maxsize=5000)
def _words(source: str) -> str:
    """Return a source's code with its names and literals, without layout of its own; "" for none.

    Two texts of SQL are the same whatever their comments and layout are.
    """
    try:
        tree = _Bare().visit(ast.parse(as_python(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = " ".join(re.sub(r"--.*", "", node.value).split())
    return ast.unparse(tree)


def _winnowed(tokens: Sequence[str]) -> frozenset[int]:
    hashes = [
        zlib.crc32(" ".join(tokens[at : at + GRAM]).encode("utf-8"))
        for at in range(len(tokens) - GRAM + 1)
    ]
    return frozenset(min(hashes[at : at + WINDOW]) for at in range(len(hashes) - WINDOW + 1))


@lru_cache(maxsize=5000)
def normalised(source: str) -> Sequence[str]:
    r"""Return a source's tokens, N for a name, L for a literal, without docstrings and types.

    Examples
    --------
    >>> normalised("def f(x: int):\n    'Say.'\n    return x + 1")
    ('def', 'N', '(', 'N', ')', ':', '>', 'return', 'N', '+', 'L', '<')
    """
    try:
        tree = ast.parse(as_python(source))
        text = ast.unparse(_Bare().visit(tree))
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return ()
    return tuple(_kind(token) for token in tokens if token.type not in _LAYOUT)


class _Bare(ast.NodeTransformer):
    """Takes docstrings, annotations and imports away."""

    def visit(self, node: ast.AST) -> ast.AST:
        """Visit a node and those below it."""
        body = getattr(node, "body", None)
        if isinstance(body, list) and body:
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                body = body[1:]
            kept = [one for one in body if not isinstance(one, ast.Import | ast.ImportFrom)]
            node.body = kept if kept or isinstance(node, ast.Module) else [ast.Pass()]  # type: ignore[attr-defined]
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        return self.generic_visit(node)


def _kind(token: tokenize.TokenInfo) -> str:
    if token.type == tokenize.NAME:
        return token.string if keyword.iskeyword(token.string) else "N"
    if token.type in (tokenize.NUMBER, tokenize.STRING):
        return "L"
    return {tokenize.INDENT: ">", tokenize.DEDENT: "<"}.get(token.type, token.string)


def _share(one: frozenset[int] | set[int], other: frozenset[int] | set[int]) -> float:
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def _own_length(source: str, stub: str, *, sql: bool = False) -> int:
    own = len(normalised(source)) - len(normalised(stub))
    return own + (sum(map(len, _sql(source))) - sum(map(len, _sql(stub))) if sql else 0)
