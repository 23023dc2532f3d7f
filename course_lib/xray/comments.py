"""The comment above the cursor, per language: source text and a line go in, what it asks comes out.

Comments are found by looking at lines, not by parsing: the code below a comment that asks for code
is seldom complete.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CommentStyle:
    """How a language writes comments.

    Attributes
    ----------
    line
        What begins a comment that ends with its line; longest first.
    blocks
        What opens and closes a comment of several lines.
    signature
        Matches the line that ends the head of a definition: the comment above it, or the docstring
        below it, is about its body.
    directive
        Matches comments that are meant for a tool.
    """

    line: tuple[str, ...] = ()
    blocks: tuple[tuple[str, str], ...] = ()
    signature: str = r"(?!)"
    directive: str = r"(?!)"


_C_LIKE = (("/*", "*/"),)
STYLES = {
    "python": CommentStyle(
        line=("#",),
        blocks=(('"""', '"""'), ("'''", "'''")),
        signature=r".*:$",
        directive=r"#(!|\s*(-\*-|type:|noqa|pylint:|fmt:|pragma:|ruff:|mypy:))",
    ),
    "javascript": CommentStyle(
        line=("///", "//"),
        blocks=_C_LIKE,
        signature=r".*(\{|=>)$",
        directive=r"//\s*(eslint-|@ts-|prettier-)",
    ),
    "go": CommentStyle(
        line=("//",), blocks=_C_LIKE, signature=r".*\{$", directive=r"//(go:|nolint|\s*\+build)"
    ),
    "php": CommentStyle(
        line=("//", "#"), blocks=_C_LIKE, signature=r".*\{$", directive=r"//\s*(phpcs:|@phpstan)"
    ),
    "ruby": CommentStyle(
        line=("#",),
        blocks=(("=begin", "=end"),),
        signature=r"(def|class|module)\b.*|.*\bdo(\s*\|.*\|)?$",
        directive=r"#(!|\s*(frozen_string_literal:|rubocop:|typed:|encoding:))",
    ),
    "rust": CommentStyle(line=("///", "//!", "//"), blocks=_C_LIKE, signature=r".*\{$|#!?\[.*\]$"),
    "shell": CommentStyle(
        line=("#",), signature=r".*(\{|\bthen|\bdo|\belse)$", directive=r"#(!|\s*shellcheck\b)"
    ),
}


def instruction_above(text: str, line: int, language: str) -> str:
    r"""Return what the comment above a cursor says, on one line; empty where there is none.

    The comment may be above the line, with nothing but blank lines between, or above the head of
    the definition whose body begins there; in Python it may be the docstring. The cursor's own
    line counts if it is a comment.

    Parameters
    ----------
    text
        The source.
    line
        Where the cursor is, counted from 1; one line beyond the end is allowed.
    language
        As `language_of` names it, or ``"shell"``.

    Raises
    ------
    ValueError
        If the text has no such line, or the language is unknown.

    Examples
    --------
    >>> instruction_above("import spotipy\n\n# Fetch the charts\n# from Spotify\n", 5, "python")
    'Fetch the charts from Spotify'
    >>> instruction_above("// Top charts.\nfunc charts() error {\n\n}\n", 3, "go")
    'Top charts.'
    """
    style = STYLES.get(language)
    if style is None:
        raise ValueError(f"comments of {language!r} are not known")
    lines = source_lines(text)
    if not 1 <= line <= len(lines) + 1:
        raise ValueError(f"there is no line {line}: the text has {len(lines)}")
    above = [one.strip() for one in lines[:line]]
    if line <= len(lines) and above and not _comment_at_end(above, style):
        above.pop()  # the cursor's line is code, or empty
    while above and not above[-1]:
        above.pop()
    found = _comment_at_end(above, style)
    if not found and above and re.fullmatch(style.signature, above[-1]):
        _drop_signature(above, style)
        found = _comment_at_end(above, style)
    return " ".join(" ".join(found).split())


def source_lines(text: str) -> list[str]:
    r"""Return the lines of a source as an editor counts them: form feeds and the like end none.

    Examples
    --------
    >>> source_lines("a\r\nb\x0cc\n")
    ['a', 'b\x0cc']
    """
    lines = re.split(r"\r\n|\r|\n", text)
    return lines if lines[-1] else lines[:-1]


def _drop_signature(lines: list[str], style: CommentStyle) -> None:
    """Drop the head of a definition, which may have decorators and several lines."""
    depth = 0
    while lines:
        last = lines.pop()
        depth += sum(last.count(one) for one in ")]") - sum(last.count(one) for one in "([")
        if depth > 0:
            continue
        if not lines or not re.match(r"@\w|#!?\[|template\b", lines[-1]):
            return


def _comment_at_end(lines: list[str], style: CommentStyle) -> list[str]:
    """Return the lines of the comment with which the lines end, without its marks."""
    if not lines or not lines[-1]:
        return []
    found = _line_comment(lines, style)
    return found or _block_comment(lines, style)


def _line_comment(lines: list[str], style: CommentStyle) -> list[str]:
    found: list[str] = []
    for line in reversed(lines):
        mark = next((one for one in style.line if line.startswith(one)), None)
        if mark is None:
            break
        if not re.match(style.directive, line):
            found.append(line.removeprefix(mark).strip())
    return found[::-1]


def _block_comment(lines: list[str], style: CommentStyle) -> list[str]:
    for opening, closing in style.blocks:
        if not lines[-1].endswith(closing):
            continue
        for at in range(len(lines) - 1, -1, -1):
            whole = "\n".join(lines[at:])
            start = re.match(r"[rRbBuU]{0,2}", whole) if opening in ('"""', "'''") else None
            body = whole[start.end() :] if start else whole
            if body.startswith(opening) and len(body) >= len(opening) + len(closing):
                inside = body[len(opening) : len(body) - len(closing)]
                if closing in inside:
                    return []
                return [one.strip().strip("*").strip() for one in inside.splitlines()]
    return []
