"""Shell: a script goes in, its functions and the blocks between blank lines come out.

Heredocs and strings over several lines are found first, so that neither a blank line nor something
like a function in them is a boundary; a loop or condition with blank lines in it is one block.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import chain

from course_lib.loader.code_outline import (
    Inside,
    Literals,
    Range,
    Signature,
    Unit,
    first_line,
    leading,
)

_COMMENT = r"\#(?<![^\s;&|()]\#)[^\n]*+"
_MARK = (
    r"(?P<here><<(?P<dash>-?)[ \t]*(?:\\|'|\")?(?P<word>[A-Za-z_=!%@+][\w.:=!%@+-]*)['\"]?)"
    r"|(?P<single>\$?')"
    r"|(?P<double>\")"
)
_TOKEN = re.compile(rf"{_COMMENT}|\\.|<<<|{_MARK}", re.DOTALL)
# The same, but past all strings that end on their line: few scripts have more than a match or two.
_NEXT_MARK = re.compile(
    rf"""(?: [^\#\\<'"$]++ | \$(?!') | {_COMMENT} | "[^"\\\n<]*+(?:\\[^\n][^"\\\n<]*+)*+"
           | '[^'\n]*+' | \\.?+ | \# | <<< | <(?!<) | \$'[^'\\\n]*+(?:\\[^\n][^'\\\n]*+)*+' )*+
         (?:{_MARK}|<)""",
    re.DOTALL | re.VERBOSE,
)
_DOUBLE = re.compile(r'(?:[^"\\]++|\\.)*+"', re.DOTALL)
_ANSI = re.compile(r"(?:[^'\\]++|\\.)*+'", re.DOTALL)
_WORD_LINE = re.compile(r"\n(\t*+)([A-Za-z_=!%@+][\w.:=!%@+-]*+)(?=\r?(?:\n|\Z))")
_HEADER = (
    r"(?:function[ \t]+(?P<named>[^\s(){}]+)[ \t]*(?:\([ \t]*\))?"
    r"|(?P<name>[^\s(){}'\"$#=;&|<>]+)[ \t]*\([ \t]*\))\s{0,9}(?P<open>[{(])"
)
_FUNCTION = re.compile("\ufeff?" + _HEADER)
_END = re.compile(rf"\n(?:(?P<close>[}})])|{_HEADER})")
_LINE = re.compile(r"\n([^\s#][^\n]*)")
_FIRST_LINE = re.compile(r"([^\s#][^\n]*)")
_BLANK = re.compile(r"\n[ \t\r]*\n")
_CONTINUED = ("\\\n", "\\\r\n", "\\\n\n")
_COMPOUND = re.compile(r"(?:if|for|while|until|case|select)\b(?!.*\b(?:fi|done|esac)\b)")
_CLOSES = re.compile(r"(?:fi|done|esac)\b|[})]")
_BRANCH = re.compile(r"(?:then|do|else|elif)\b")
_ASSIGNED = re.compile(
    r"\ufeff?(?:(?:export|readonly|local|declare|typeset)(?:[ \t]+-\w+)*[ \t]+)?([A-Za-z_]\w*)\+?="
)


class ShellOutline:
    r"""The outline of a shell script.

    Examples
    --------
    >>> text = "set -e\n\ncat <<EOF\na\n\nb() {\nEOF\n\nf() {\n  echo\n}\n"
    >>> [(unit.kind, unit.name) for unit in ShellOutline(text, 512).units()]
    [('block', 'set -e'), ('block', 'cat <<EOF'), ('function', 'f')]
    """

    def __init__(self, text: str, limit: int) -> None:
        self._text = text
        self._literals, self._heredocs = _find_literals(text)

    def units(self) -> list[Unit]:
        """Return functions, and the blocks that blank lines or functions separate."""
        text = self._text
        starts, ends = self._literals.starts, self._literals.ends
        literal, last = 0, len(ends)
        units: list[Unit] = []
        closed = 0  # the end of the last function
        depth = 0
        opened = line_end = -2  # where the last unit's line begins; the end of the line before
        first = _FIRST_LINE.match(text)
        for match in chain((first,) if first else (), _LINE.finditer(text)):
            # Right below such a line stands no blank line and no comment that could belong to it.
            at, stop = match.span(1)
            adjacent = at - 1 == line_end
            line_end = stop
            while literal < last and ends[literal] <= at:
                literal += 1
            if (
                at < closed
                or (literal < last and starts[literal] < at)
                or text.endswith(_CONTINUED, 0, at)
            ):
                continue
            line = match[1]
            # Most lines are no header, and quickly found to be none.
            header = _FUNCTION.match(text, at) if "(" in line or "function" in line else None
            goes_on = header is None and closed <= opened
            if goes_on and (depth or adjacent):
                depth = _deeper(depth, line)
                continue
            above = at
            if not adjacent:
                floor = max(opened + 1, closed, ends[literal - 1] if literal else 0)
                above = leading(text, at, floor, "#")
            if goes_on and (_BRANCH.match(line) or not _after_blank(text, above, at)):
                depth = _deeper(0, line)
                continue
            if units:
                units[-1].end = above
            kind, name = "block", ""
            if header:
                depth = 0
                kind, name = "function", header["named"] or header["name"]
                closed = self._function_end(header)
            else:
                assigned = _ASSIGNED.match(line)
                name = assigned[1] if assigned else first_line(text, at)
                depth = _deeper(0, line)
            opened = at
            units.append(Unit(above, len(text), at, at, kind, name, leaf=True))
        if not units:
            return [Unit(0, len(text), 0, 0, "block", first_line(text, 0), opens=False, leaf=True)]
        units[0].start = 0
        return units

    def inside(self, unit: Unit, room: int) -> Inside:
        """Return a function's first line, or the line that opens a compound or a heredoc."""
        text = self._text
        end = text.find("\n", unit.line, unit.end) + 1
        line = text[unit.line : end].rstrip()
        heredoc = bisect_left(self._heredocs, (end, 0))
        is_heredoc = heredoc < len(self._heredocs) and self._heredocs[heredoc][0] == end
        signature = None
        if end and (unit.kind == "function" or is_heredoc or _opens(line)):
            short = f"{unit.name}() {{\n" if unit.kind == "function" else line + "\n"
            signature = Signature(line + "\n", short)
        first = bisect_left(self._heredocs, (unit.start, 0))
        last = bisect_left(self._heredocs, (unit.end, 0))
        # A heredoc is kept together with the command that reads it.
        keep = [(text.rfind("\n", 0, s - 1) + 1, e) for s, e in self._heredocs[first:last]]
        return Inside(signature, [], [kept for kept in keep if kept[1] - kept[0] <= room])

    def _function_end(self, header: re.Match[str]) -> int:
        """Return the end of the line that closes a function, or where the next one begins."""
        text = self._text
        close = {"{": "}", "(": ")"}[header["open"]]
        line_end = text.find("\n", header.end())
        line_end = line_end if line_end >= 0 else len(text)
        line = text[header.start("open") : line_end]
        if line.count(header["open"]) == line.count(close) and not self._literals.around(line_end):
            return line_end
        for match in _END.finditer(text, header.end()):
            if self._literals.around(match.start() + 1):
                continue
            if match["close"] == close:
                end = text.find("\n", match.end())
                return end if end >= 0 else len(text)
            if match["open"]:
                return match.start()
        return len(text)


def _deeper(depth: int, line: str) -> int:
    """Return how many compound commands are open behind a line."""
    if depth and _CLOSES.match(line):
        depth -= 1
    return depth + 1 if _opens(line) else depth


def _opens(line: str) -> bool:
    """Say whether a compound command or an array begins on a line and does not end there."""
    return bool(_COMPOUND.match(line)) or line.rstrip(" \t\r").endswith(("{", "("))


def _after_blank(text: str, above: int, at: int) -> bool:
    """Say whether a blank line lies above a line or among its comments."""
    before = text.rfind("\n", 0, max(above - 1, 0)) + 1
    return text[before:above].isspace() or bool(_BLANK.search(text, above, at))


def _find_literals(text: str) -> tuple[Literals, list[Range]]:
    """Return everything in which no line begins a command, and the heredocs among it."""
    found = Literals()
    heredocs: list[Range] = []
    exact, tabbed = _word_lines(text) if "<<" in text else ({}, {})
    position, stop = 0, len(text)
    pending: list[tuple[str, bool]] = []  # the heredocs that begin behind this line
    quoted = -1  # start of a string that has a heredoc in it
    dead: set[str] = set()  # quotes that are closed nowhere
    while True:
        if quoted >= 0 or dead:
            match = _TOKEN.search(text, position, stop)
        else:
            match = _NEXT_MARK.match(text, position, stop)
        if match is None:
            if not pending:
                return found, heredocs
            body = end = stop + 1
            for word, dash in pending:
                end = _terminator((tabbed if dash else exact).get(word, []), end) or end
            pending, position, stop = [], max(end, body - 1), len(text)
            if end > body:
                heredocs.append((body, end))
                if quoted >= 0:
                    closing = _DOUBLE.match(text, end)
                    body, end = quoted + 1, closing.end() if closing else end
                    position = end
                found.add(body - 1, end)  # from the line feed, so that the first line is inside
            quoted = -1
            continue
        position = match.end()
        if match["here"]:
            lines = (tabbed if match["dash"] else exact).get(match["word"], [])
            if _terminator(lines, position):
                pending.append((match["word"], bool(match["dash"])))
                line_end = text.find("\n", position)
                stop = line_end if line_end >= 0 else len(text)
            continue
        quote = match["single"] or match["double"]
        if not quote or quote in dead or quoted >= 0:
            continue
        begin = position - len(quote)
        pattern = _ANSI if quote == "$'" else _DOUBLE
        if quote == "'":
            end = text.find("'", position) + 1
        else:
            closing = pattern.match(text, position)
            end = closing.end() if closing else 0
        if not end:
            dead.add(quote)
            continue
        if (
            quote == '"'
            and "<<" in text[position:end]
            and any(
                _terminator((tabbed if here["dash"] else exact).get(here["word"], []), here.end())
                for here in _TOKEN.finditer(text, position, end)
                if here["here"]
            )
        ):
            quoted = begin
            continue
        position = end
        if text.find("\n", begin, end) >= 0:
            found.add(begin, end)
            if pending and end > stop:
                pending = []
                stop = len(text)


def _word_lines(text: str) -> tuple[dict[str, list[Range]], dict[str, list[Range]]]:
    """Return the lines that hold one word, without and with tabs before it."""
    exact: dict[str, list[Range]] = {}
    tabbed: dict[str, list[Range]] = {}
    for match in _WORD_LINE.finditer(text):
        line = (match.start() + 1, match.end())
        tabbed.setdefault(match[2], []).append(line)
        if not match[1]:
            exact.setdefault(match[2], []).append(line)
    return exact, tabbed


def _terminator(lines: list[Range], position: int) -> int:
    """Return the end of the first of `lines` that begins at or behind `position`, or 0."""
    at = bisect_right(lines, (position - 1, 1 << 62))
    return lines[at][1] if at < len(lines) else 0
