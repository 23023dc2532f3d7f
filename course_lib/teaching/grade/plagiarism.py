"""Answers that were copied: from another learner, or from the course's own version.

Sources become tokens without names, literals, comments and layout; every `GRAM` neighbouring tokens
are hashed, and winnowing keeps the smallest hash of every `WINDOW` neighbours, as MOSS does
(Schleimer, Wilkerson and Aiken: Winnowing: Local Algorithms for Document Fingerprinting, SIGMOD
2003). So a copied passage of `GRAM + WINDOW - 1` tokens shares a fingerprint, wherever it is.

Texts of SQL are tokens, too, where two learners are compared. With the course's they are not: an
answer in SQL has few ways to be right, and its names are given. So of its words those count that
the stub or the course's answer has: aliases, and names of queries and columns of one's own, do not.

The numbers below were chosen with right answers that were written from statements alone, and with
the course's own answers in disguise; `tests/grading/test_copies.py` tries these, and what the books
of answers have in another style. Some shorter exercises have one obvious answer: independent ones
share up to 94% with the course's. From `HELD_BACK` tokens on, the most was 80%.
"""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from course_lib.teaching.grade.flags import Flag
from course_lib.teaching.notebooks.cells import parsed

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

SQL = re.compile(
    r"\s*(--[^\n]*\n\s*)*(SELECT|INSERT|WITH|CREATE|DELETE|UPDATE|MERGE)\b", re.IGNORECASE
)
"""How a text of SQL begins."""

_SQL_TOKEN = re.compile(r"'(?:[^']|'')*'|\d+(?:\.\d+)?|\w+|[^\s\w]")
_SQL_LAYOUT = re.compile(
    r"--[^\n]*|/\*.*?\*/|\b(?:as|asc|inner|outer)\b|\b[^\W\d]\w*\.(?=\w)|;", re.DOTALL
)
"""What may be left out of a text of SQL, or be added: comments, words, what qualifies a name."""

NO_WORDS = frozenset[str]()

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
        solution = solutions.get(name, "")
        own = _own_prints(solution, stub)
        for who, source in given.items():
            share = _share(_own_prints(source, stub), own)
            if share >= SHARE and _own_length(source, stub) >= SHORTEST:
                found.append(Copy(name, who, COURSE, share))
        alike = _alike(given, stub, _words_of(stub, solution))
        found += [Copy(name, one, other, share) for one, other, share in alike]
    return sorted(found, key=lambda copy: (-copy.share, copy.answer, copy.one))


def _alike(
    given: Mapping[str, str], stub: str, words: frozenset[str]
) -> Iterator[tuple[str, str, float]]:
    """Yield pairs of learners whose answers are alike; what most of them wrote does not count."""
    long = [who for who in sorted(given) if _own_length(given[who], stub, words) >= SHORTEST]
    prints = {who: _own_prints(given[who], stub, words) for who in long}
    counts = Counter(mark for one in prints.values() for mark in one)
    most = max(2.0, COMMON * len(long))
    rare = {who: {p for p in prints[who] if counts[p] <= most} for who in long}
    for one, other in combinations(long, 2):
        share = _share(prints[one], prints[other])
        is_rare = len(rare[one]) > WINDOW and _share(rare[one], rare[other]) >= SHARE
        if share >= SHARE and is_rare:
            yield one, other, share


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
) -> list[Flag]:
    """Return a flag for each of a learner's answers that is the course's own.

    That is a long answer, whatever its names are, or several of any length word for word.
    """
    found, lengths = {}, {}
    for name, source in answers.items():
        stub, solution = stubs.get(name, ""), solutions.get(name, "")
        share = _share(_own_prints(source, stub), _own_prints(solution, stub))
        if share >= SAME and _own_length(source, stub) >= HELD_BACK:
            found[name] = f"{share:.0%} of it"
        if tokens(source) == tokens(solution) != ():
            lengths[name] = _own_length(source, stub, _words_of(stub, source))
    if len(lengths) >= WORD_FOR_WORD and sum(lengths.values()) >= HELD_BACK:
        found = dict.fromkeys(lengths, f"word for word, as {len(lengths)} answers are") | found
    what = f"is {COURSE}"
    return [Flag(name, what, f"{name} {what}, {how}") for name, how in found.items()]


@lru_cache(maxsize=5000)
def tokens(source: str) -> Sequence[tuple[str, str]]:
    r"""Return a source's tokens with their kinds, without docstrings, types, imports and layout.

    A text of SQL is a literal, and then its own tokens, without what may be left out.

    Examples
    --------
    >>> tokens("n = f('SELECT x AS y -- one')")  # doctest: +ELLIPSIS
    (('name', 'n'), ('', '='), ('name', 'f'), ('', '('), ('literal', ...), ('sql', 'select'), ...
    """
    try:
        text = ast.unparse(_Bare().visit(parsed(source)))
        found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return ()
    return tuple(one for token in found if token.type not in _LAYOUT for one in _kinds(token))


def _kinds(token: tokenize.TokenInfo) -> Iterator[tuple[str, str]]:
    if token.type == tokenize.NAME:
        yield "" if keyword.iskeyword(token.string) else "name", token.string
    elif token.type == tokenize.NUMBER:
        yield "literal", token.string
    elif token.type == tokenize.STRING:
        value = ast.literal_eval(token.string)
        if isinstance(value, str) and SQL.match(value):
            yield "literal", ""
            plain = _SQL_LAYOUT.sub(" ", value.lower()).replace("!=", "<>")
            yield from (("sql", one) for one in _SQL_TOKEN.findall(plain))
        else:
            yield "literal", token.string
    else:
        yield "", {tokenize.INDENT: ">", tokenize.DEDENT: "<"}.get(token.type, token.string)


@lru_cache(maxsize=5000)
def normalised(source: str, words: frozenset[str] = NO_WORDS) -> Sequence[str]:
    r"""Return a source's tokens: N for a name, L for a literal; of SQL where words are given.

    Examples
    --------
    >>> normalised("def f(x: int):\n    'Say.'\n    return x + 1")
    ('def', 'N', '(', 'N', ')', ':', '>', 'return', 'N', '+', 'L', '<')
    >>> normalised("q = 'SELECT c.kind, max(n) AS m'", frozenset(["select", "kind"]))
    ('N', '=', 'L', 'select', 'kind', ',', '(', ')')
    """
    found = []
    for kind, text in tokens(source):
        if kind == "sql" and (not words or (text.isidentifier() and text not in words)):
            continue
        is_literal = kind == "literal" or (kind == "sql" and (text[0] == "'" or text[0].isdigit()))
        found.append("L" if is_literal else "N" if kind == "name" else text)
    return tuple(found)


@lru_cache(maxsize=5000)
def fingerprints(source: str, words: frozenset[str] = NO_WORDS) -> frozenset[int]:
    r"""Return a source's fingerprints; the same whatever its names, literals and layout are.

    Examples
    --------
    >>> one = "def f(items):\n    return [2 * item for item in items if item > 3]"
    >>> fingerprints(one) == fingerprints(one.replace("item", "x").replace("3", "99")) != set()
    True
    """
    found = normalised(source, words)
    hashes = [
        zlib.crc32(" ".join(found[at : at + GRAM]).encode("utf-8"))
        for at in range(len(found) - GRAM + 1)
    ]
    return frozenset(min(hashes[at : at + WINDOW]) for at in range(len(hashes) - WINDOW + 1))


def _words_of(*texts: str) -> frozenset[str]:
    """Return the words of texts; aliases are often a letter, as is what prose abbreviates."""
    return frozenset(one for text in texts for one in re.findall(r"[^\W\d]\w+", text.lower()))


class _Bare(ast.NodeTransformer):
    """Takes docstrings, annotations and imports away; what an f-string fills in is a gap."""

    def visit(self, node: ast.AST) -> ast.AST:
        """Visit a node and those below it."""
        if isinstance(node, ast.JoinedStr):
            texts = (one.value if isinstance(one, ast.Constant) else "{}" for one in node.values)
            return ast.Constant("".join(map(str, texts)))
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


def _share(one: frozenset[int] | set[int], other: frozenset[int] | set[int]) -> float:
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def _own_prints(source: str, stub: str, words: frozenset[str] = NO_WORDS) -> frozenset[int]:
    return fingerprints(source, words) - fingerprints(stub, words)


def _own_length(source: str, stub: str, words: frozenset[str] = NO_WORDS) -> int:
    """Return how many tokens are the learner's own; those of SQL count where words are given."""
    return len(normalised(source, words)) - len(normalised(stub, words))
