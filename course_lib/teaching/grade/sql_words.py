"""Texts of SQL in an answer as tokens, which are the same whatever aliases, case and layout are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

BEGINS = re.compile(
    r"\s*(--[^\n]*\n\s*)*(SELECT|INSERT|WITH|CREATE|DELETE|UPDATE|MERGE)\b", re.IGNORECASE
)
"""How a text of SQL begins."""

_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?\*/)
      | (?P<text>'(?:[^']|'')*')
      | (?P<gap>%\(\w+\)s|%s|\{\w*\})
      | (?P<number>\d+(?:\.\d+)?)
      | (?P<name>"[^"]+"|[^\W\d]\w*)
      | (?P<sign><=>|<->|<\#>|::|<>|!=|<=|>=|->>|->|\|\||[^\s\w])""",
    re.DOTALL | re.VERBOSE,
)
_KEYWORDS = frozenset(
    """
    all and any array between by case conflict create cross delete desc distinct do else end
    except excluded exists fetch first for from full group having ilike in index insert intersect
    into is join key last lateral left like limit materialized merge natural not nothing null
    nulls offset on or order over partition primary references returning right select set table
    then union unique update using values view when where window with
    """.split()
)
_NOISE = {"as", "asc", "inner", "outer", ";"}
_SOURCES = {"from", "join", "into", "update", "lateral", ")"}


def sql_texts(tree: ast.AST) -> Iterator[str]:
    """Yield the texts of SQL in a source; what an f-string fills in is a gap."""
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
              for part in node.values}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (one.value if isinstance(one, ast.Constant) else "{}" for one in node.values)
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and type(node.value) is str and id(node) not in inside:
            text = node.value
        else:
            continue
        if BEGINS.match(text):
            yield text


def sql_tokens(text: str) -> Sequence[str]:
    r"""Return the tokens of a text of SQL, N for a name of its own, L for a literal.

    Names of columns and tables stay: they are given. What qualifies them goes, as do aliases where
    they are given, comments, and words that may be left out.

    Examples
    --------
    >>> one = "SELECT c.kind, count(*) AS n FROM chunks AS c -- all of them"
    >>> sql_tokens(one)
    ('select', 'kind', ',', 'count', '(', '*', ')', 'from', 'chunks')
    >>> sql_tokens(one) == sql_tokens("select  t.KIND, COUNT(*) many\nfrom chunks t;")
    True
    """
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        word = match[0].lower()
        if match.lastgroup in ("text", "number"):
            found.append("L")
        elif match.lastgroup != "comment":
            found.append({"!=": "<>"}.get(word, word.strip('"')))
    aliases, queries = _aliases(found)
    own = {found[place] for place in aliases} | queries
    tokens: list[str] = []
    for place, word in enumerate(found):
        after = found[place + 1] if place + 1 < len(found) else ""
        is_qualifier = after == "." and word.isidentifier()
        if not (is_qualifier or word == "." or word in _NOISE or place in aliases):
            tokens.append("N" if word in own else word)
    return tuple(tokens)


def _aliases(words: Sequence[str]) -> tuple[set[int], set[str]]:
    """Return where a text of SQL gives aliases, and how it calls its queries (`WITH`)."""
    aliases, queries = set(), set()
    padded = ["", "", *words, "", ""]
    for place, word in enumerate(padded[2:-2], 2):
        if not _is_name(word):
            continue
        before, earlier, after = padded[place - 1], padded[place - 2], padded[place + 1]
        if after == "as" and padded[place + 2] in ("(", "materialized", "not"):
            queries.add(word)
        elif before == "as" or (before == ")" and after != "(") or (
            earlier in _SOURCES and _is_name(before)
        ):  # fmt: skip
            aliases.add(place - 2)
    return aliases, queries


def _is_name(word: str) -> bool:
    return word.isidentifier() and word not in _KEYWORDS and word not in _NOISE
