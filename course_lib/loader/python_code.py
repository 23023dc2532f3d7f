"""Python: a source file goes in, its classes, functions, imports and other blocks come out.

Statements are found by their indentation, with one regular expression a level. No parser of Python
is needed, so that Python 2, templates and half-finished files are split like any other.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from itertools import chain

from course_lib.loader.code_outline import (
    Inside,
    Range,
    Signature,
    Unit,
    balance,
    find_literals,
    first_line,
    leading,
    pack,
)

# A string that is not closed ends with its line, so that each text is read once.
_SHORT = r""""(?:[^"\\\n]++|\\.)*+"?|'(?:[^'\\\n]++|\\.)*+'?"""
_TOKEN = re.compile(rf"#[^\n]*|(\"\"\"|''')|{_SHORT}", re.DOTALL)
_NOISE = re.compile(
    rf"""#[^\n]*|\"\"\"(?:[^"\\]++|\\.|"(?!""))*+(?:\"\"\")?|"""
    rf"""'''(?:[^'\\]++|\\.|'(?!''))*+(?:''')?|{_SHORT}""",
    re.DOTALL,
)
_SIGNATURE_TOKEN = re.compile(rf"{_NOISE.pattern}|(?P<mark>[()\[\]{{}}:\n])", re.DOTALL)
_STATEMENT = (
    r"(?=[^\s#)\]}\\])(?:(?P<at>@)|(?:async[ \t]+)?(?P<keyword>def|class)[ \t]+(?P<name>\w+))?"
)
_FIRST = re.compile(rf"\ufeff?{_STATEMENT}")
_BODY = re.compile(r"\n([ \t]{1,99}+)[^\s#]")
_INNER = re.compile(r"\n([ \t]{1,99}+)(?=[@acd])(?:@|(?:async[ \t]+)?(?:def|class)[ \t])")
_DEFINITION = re.compile(r"[ \t]*(?:@|(?:async[ \t]+)?(?:def|class)[ \t])")
_PLAIN_SIGNATURE = re.compile(
    r"[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+\w+[ \t]*"
    r"(?:\((?P<inner>[^()\"'#]*+)\))?[ \t]*(?:->[^:\"'#\n]*)?(?=:)"
)
_CONTINUED = ("\\", "\\\r")
_INDENT = re.compile(r"[ \t]{0,99}")
_DECORATED = re.compile(r"[ \t]*@")
_PREAMBLE = re.compile(r"\ufeff?(?:(?:import|from)\b|[rRuU]?[\"'])")
_ASSIGNED = re.compile(r"\ufeff?([A-Za-z_][\w.]*)[ \t]*(?::[^=\n]+)?=(?!=)")
_BASE = re.compile(r"(?:[^,\[\](){}]|[\[(](?:[^\[\]()]|[\[(][^\[\]()]*[\])])*+[\])])+")
_KEYWORD_ARGUMENT = re.compile(r"\w+\s*=|\*")
_LONGEST_SIGNATURE = 4000


@lru_cache(maxsize=64)
def _at_level(indent: str) -> re.Pattern[str]:
    # The line feed comes first because the engine is fast at looking for a literal beginning.
    return re.compile("\n" + indent + _STATEMENT)


class PythonOutline:
    r"""The outline of a Python source; neighbouring statements are packed up to `limit`.

    Examples
    --------
    >>> text = "import os\n\n# Says hello.\ndef hello():\n    pass\n"
    >>> [(unit.kind, unit.name, text[unit.start]) for unit in PythonOutline(text, 512).units()]
    [('module', '', 'i'), ('function', 'hello', '#')]
    """

    def __init__(self, text: str, limit: int) -> None:
        self._text = text
        self._limit = limit
        self._literals = find_literals(text, _TOKEN, {'"""': '"""', "'''": "'''"})

    def units(self) -> list[Unit]:
        """Return the preamble, the definitions at column 0 and the packed rest between them."""
        statements = self._statements(0, len(self._text), "", None)
        if not statements:
            return [Unit(0, len(self._text), 0, 0, "block", "", opens=False, leaf=True)]
        statements[0].start = 0
        preamble = 0
        for unit in statements:
            if unit.kind != "block" or not _PREAMBLE.match(self._text, unit.core):
                break
            preamble += 1
        units = []
        if preamble:
            end = statements[preamble - 1].end
            core = statements[0].core
            units = [Unit(0, end, core, core, "module", "", opens=False, leaf=True)]
        units += pack(self._text, statements[preamble:], self._limit)
        for unit in units:
            if unit.kind == "block":
                assigned = _ASSIGNED.match(self._text, unit.line)
                unit.name = assigned[1] if assigned else first_line(self._text, unit.line)
        return units

    def inside(self, unit: Unit, room: int) -> Inside:
        """Return the signature of a definition, the members of a class, inner functions."""
        if not unit.opens:
            return Inside(None, [], [])
        body_from, signature = self._signature(unit)
        if unit.leaf:
            return Inside(signature, [], [])
        if unit.kind in {"function", "method"}:
            return Inside(signature, [], self._inner_definitions(body_from, unit.end, room))
        members: list[Unit] = []
        body = _BODY.search(self._text, body_from, unit.end)
        if body and (unit.kind == "class" or _INNER.search(self._text, body_from, unit.end)):
            members = self._statements(body_from, unit.end, body[1], unit.class_name)
        if all(member.kind == "block" for member in members):
            members = []
        return Inside(signature, _with_head(unit, members) if members else [], [])

    def _statements(self, start: int, end: int, indent: str, class_name: str | None) -> list[Unit]:
        """Return the statements of one level, each up to the next, decorators with theirs."""
        text, literals = self._text, self._literals
        matches = _at_level(indent).finditer(text, start, end)
        first = _FIRST.match(text) if not indent else None
        units: list[Unit] = []
        core = -1  # of the decorators that wait for their definition
        depth, counted = 0, start
        floor = start
        starts, ends = literals.starts, literals.ends
        literal, last = bisect_right(ends, start), len(ends)
        for match in chain((first,) if first else (), matches):
            begin = match.start()
            at = begin + (text[begin : begin + 1] == "\n")
            while literal < last and ends[literal] <= at:
                literal += 1
            if literal < last and starts[literal] < at or text.endswith(_CONTINUED, 0, begin):
                continue
            kind = "block"
            decorator, keyword, name = match.groups()
            if name is None and decorator is None:
                depth = max(depth + balance(text, counted, at, _NOISE), 0)
                counted = at
                if depth:
                    continue
            if core < 0:
                if units:
                    floor = max(units[-1].line + 1, ends[literal - 1] if literal else 0)
                above = leading(text, at, floor, "#", len(indent))
                if units:
                    units[-1].end = above
                units.append(Unit(above, end, at, at, kind, ""))
            unit = units[-1]
            unit.line = at
            core = at if decorator else -1
            if decorator:
                depth, counted = 0, at
            elif name is not None:
                depth, counted = 0, at
                _describe(unit, keyword, name, class_name)
        for unit in units:
            if unit.kind == "class":
                unit.extends = self._bases(unit)
        return units

    def _bases(self, unit: Unit) -> str | None:
        """Return the base classes as they are written, without keyword arguments."""
        plain = _PLAIN_SIGNATURE.match(self._text, unit.line, unit.end)
        if plain:
            inner = plain["inner"]
        else:
            head = _NOISE.sub("", self._text[unit.line : self._end_of_signature(unit)])
            inner = head[head.find("(") + 1 : head.rfind(")")] if "(" in head else ""
        if not inner:
            return None
        if inner.isidentifier():
            return inner
        bases = [" ".join(base.split()) for base in _BASE.findall(inner)]
        return ", ".join(b for b in bases if b and not _KEYWORD_ARGUMENT.match(b)) or None

    def _signature(self, unit: Unit) -> tuple[int, Signature | None]:
        """Return where the signature ends, and its lines."""
        text = self._text
        if unit.kind == "block":
            end = text.find("\n", unit.line, unit.end)
            line = text[unit.line : end] if end >= 0 else ""
            signature = Signature(line + "\n", line + "\n") if line.strip() else None
            return max(end, unit.line), signature
        plain = _PLAIN_SIGNATURE.match(text, unit.line, unit.end)
        end = plain.end() if plain else self._end_of_signature(unit)
        end += text[end : end + 1] == ":"
        indent = _INDENT.match(text, unit.line)[0]  # type: ignore[index]  # it matches anywhere
        keyword, dots = ("class", "") if unit.kind == "class" else ("def", "(...)")
        short = f"{indent}{keyword} {unit.name}{dots}:\n"
        return end, Signature(text[unit.line : end].rstrip() + "\n", short)

    def _end_of_signature(self, unit: Unit) -> int:
        """Return the offset of the colon outside of brackets, or of the end of the first line."""
        text = self._text
        depth = 0
        most = min(unit.end, unit.line + _LONGEST_SIGNATURE)
        for token in _SIGNATURE_TOKEN.finditer(text, unit.line, most):
            mark = token["mark"]
            if mark is None:
                continue
            if mark in "([{":
                depth += 1
            elif mark in ")]}":
                depth -= 1
            elif depth <= 0 and (mark == ":" or text[token.start() - 1] != "\\"):
                return token.start()
        end = text.find("\n", unit.line, unit.end)
        return end if end >= 0 else unit.end

    def _inner_definitions(self, start: int, end: int, room: int) -> list[Range]:
        """Return the outermost definitions in a function that are no larger than `room`."""
        text, literals = self._text, self._literals
        kept: list[Range] = []
        if not (_has_line(text, "def ", start, end) or _has_line(text, "class ", start, end)):
            return kept  # which is the rule, and quickly found out
        behind = start
        for match in _INNER.finditer(text, start, end):
            at = match.start() + 1
            if at < behind or literals.around(at):
                continue
            dedent = _dedent(len(match[1]))
            most = min(end, at + room + 2)
            decorated = bool(_DECORATED.match(text, at))
            for other in dedent.finditer(text, at, most):
                line = other.start() + 1
                if literals.around(line):
                    continue
                if decorated and _DEFINITION.match(text, line):
                    decorated = bool(_DECORATED.match(text, line))
                    continue
                behind = line
                break
            else:
                if most < end:
                    continue
                behind = end
            stop = at + len(text[at:behind].rstrip())
            if stop - at <= room:
                kept.append((at, stop))
        return kept


def _has_line(text: str, word: str, start: int, end: int) -> bool:
    """Say whether a line of a range begins with `word`, but for white space and ``async``."""
    while (at := text.find(word, start, end)) >= 0:
        if text[text.rfind("\n", start, at) + 1 : at].strip() in {"", "async"}:
            return True
        start = at + 1
    return False


@lru_cache(maxsize=64)
def _dedent(width: int) -> re.Pattern[str]:
    return re.compile(rf"\n[ \t]{{0,{width}}}+(?=[^\s#)\]}}\\])")


def _describe(unit: Unit, keyword: str, name: str, class_name: str | None) -> None:
    unit.name = name
    if keyword == "class":
        unit.kind = "class"
        unit.class_name = f"{class_name}.{name}" if class_name else name
    else:
        unit.kind = "method" if class_name else "function"
        unit.class_name = class_name


def _with_head(unit: Unit, members: list[Unit]) -> list[Unit]:
    """Return the head of a class or compound statement, its definitions, and what is between."""

    def rest(start: int, core: int, line: int, *, opens: bool) -> Unit:
        return Unit(
            start, unit.end, core, line, unit.kind, unit.name, unit.class_name, unit.extends,
            opens, leaf=True,
        )  # fmt: skip

    pieces = [rest(unit.start, unit.core, unit.line, opens=True)]
    for member in members:
        if member.kind != "block":
            pieces[-1].end = member.start
            pieces.append(member)
        elif not pieces[-1].leaf:
            pieces[-1].end = member.start
            pieces.append(rest(member.start, member.core, member.line, opens=False))
    pieces[-1].end = unit.end
    return pieces
