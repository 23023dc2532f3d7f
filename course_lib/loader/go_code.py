"""Go: a source file goes in, its functions, methods, types and var and const blocks come out.

Declarations are found by their keyword at the beginning of a line outside of all brackets; nothing
is parsed, so that unformatted and half-finished files are split like any other.
"""

from __future__ import annotations

import re
from itertools import chain

from course_lib.loader.code_outline import (
    Inside,
    Signature,
    Unit,
    balance,
    find_literals,
    first_line,
    leading,
)

# A string that is not closed ends with its line, so that each text is read once.
_SHORT = r""""(?:[^"\\\n]++|\\.)*+"?|'(?:[^'\\\n]++|\\.)*+'?"""
_TOKEN = re.compile(rf"//[^\n]*|(`|/\*)|{_SHORT}")
_NOISE = re.compile(rf"//[^\n]*|`[^`]*+`?|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?|{_SHORT}")
_KEYWORD = (
    r"(?P<indent>[ \t]*+)(?=[cfiptv])(?P<keyword>func|type|var|const|import|package)\b[ \t]*"
    r"(?P<receiver>\([^()\n]*\)[ \t]*)?(?P<name>\w+)?"
)
_FIRST = re.compile("\ufeff?" + _KEYWORD)
_DECLARATION = re.compile("\n" + _KEYWORD)
_GROUP = re.compile(r"\((?:\s|//[^\n]*+|/\*[^*]*+\*/)*+(\w+)")
_RECEIVER = re.compile(r"\(\s*(?:\w+\s+)?\**\s*(\w+)")
_BODY = re.compile(r"\{[ \t]*(?://[^\n]*)?\r?\n")
_OPENED = re.compile(r"[{(][ \t]*(?://[^\n]*)?\r?\n")
_LONGEST_SIGNATURE = 2000


class GoOutline:
    r"""The outline of a Go source.

    Examples
    --------
    >>> text = "package p\n\n// F does.\nfunc (s *S) F() {\n}\n\nvar x = `\nfunc no() {}`\n"
    >>> [(unit.kind, unit.name, unit.class_name) for unit in GoOutline(text, 512).units()]
    [('module', 'p', None), ('method', 'F', 'S'), ('block', 'x', None)]
    """

    def __init__(self, text: str, limit: int) -> None:
        self._text = text
        self._literals = find_literals(text, _TOKEN, {"`": "`", "/*": "*/"})

    def units(self) -> list[Unit]:
        """Return the package clause with the imports, and the declarations."""
        text = self._text
        starts, ends = self._literals.starts, self._literals.ends
        literal, last = 0, len(ends)
        units: list[Unit] = []
        depth = counted = 0
        first = _FIRST.match(text)
        for match in chain((first,) if first else (), _DECLARATION.finditer(text)):
            at = match.start(1)
            while literal < last and ends[literal] <= at:
                literal += 1
            if literal < last and starts[literal] < at:
                continue
            indent, keyword, _, name = match.groups()
            if keyword == "func" and not name:
                continue  # a function literal, or the type of one
            if indent or keyword != "func":  # else it begins, whatever is open before it
                depth = max(depth + balance(text, counted, at, _NOISE), 0)
                counted = at
                if depth:
                    continue
            depth, counted = 0, at
            preamble = keyword in {"package", "import"}
            if preamble and units and units[-1].kind == "module":
                units[-1].end = len(text)
                continue
            floor = units[-1].line + 1 if units else 0
            if literal and ends[literal - 1] > floor:
                above = self._leading(at, floor)
            else:
                above = leading(text, at, floor, "//", 99)
            if units:
                units[-1].end = above
            units.append(self._unit(match, at, above))
        if not units:
            return [Unit(0, len(text), 0, 0, "block", first_line(text, 0), opens=False, leaf=True)]
        if text[: units[0].start].strip():
            # Something that is no Go comes first.
            start = units[0].start
            head = Unit(0, start, 0, 0, "block", first_line(text, 0), opens=False, leaf=True)
            return [head, *units]
        units[0].start = 0
        return units

    def inside(self, unit: Unit, room: int) -> Inside:
        """Return the lines up to the brace or parenthesis that opens the declaration."""
        if not unit.opens:
            return Inside(None, [], [])
        text = self._text
        most = min(unit.end, unit.line + _LONGEST_SIGNATURE)
        pattern = _BODY if unit.kind in {"function", "method"} else _OPENED
        opened = pattern.search(text, unit.line, most)
        end = opened.end() if opened else text.find("\n", unit.line, unit.end) + 1
        if end <= 0 or end >= unit.end:
            return Inside(None, [], [])
        full = text[unit.line : end].rstrip() + "\n"
        short = {
            "function": f"func {unit.name}(...) {{\n",
            "method": f"func ({unit.class_name}) {unit.name}(...) {{\n",
            "type": f"type {unit.name}\n",
        }.get(unit.kind, full)
        return Inside(Signature(full, short), [], [])

    def _unit(self, match: re.Match[str], at: int, above: int) -> Unit:
        text = self._text
        _, keyword, receiver, name = match.groups("")
        kind, class_name = "block", None
        if keyword in {"package", "import"}:
            kind = "module"
        elif keyword == "func":
            kind = "function"
            if receiver:
                kind = "method"
                of = _RECEIVER.match(receiver)
                class_name = of[1] if of else None
        elif keyword == "type":
            kind = "type"
        if not name:
            group = _GROUP.match(text, match.end())
            name = group[1] if group else first_line(text, at)
        return Unit(
            above, len(text), at, at, kind, name, class_name, opens=kind != "module", leaf=True
        )

    def _leading(self, at: int, floor: int) -> int:
        """Return where the comments above the line at `at` begin, those in ``/* */`` included."""
        text, literals = self._text, self._literals
        while True:
            at = leading(text, at, max(floor, literals.last(at)[1]), "//", 99)
            start, end = literals.last(at)
            line = text.rfind("\n", 0, start) + 1
            if (
                line < floor
                or text[end - 2 : end] != "*/"
                or text[end:at].strip()
                or text[line:start].strip()
            ):
                return at
            at = line
