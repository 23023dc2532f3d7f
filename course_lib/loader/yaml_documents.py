"""Document boundaries of a YAML stream: a text goes in, its documents come out as offsets.

Only lines that begin at column 0 can end a document or name a top-level key, so that one regular
expression finds all that matters and the megabytes of indented lines between are passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

# YAML's line breaks are \n, \r\n, \r alone, NEL, LS and PS; the last four make a text unusual.
_BREAKS = "\r\n\x85\u2028\u2029"
_FIRST_WORD = re.compile(f"[^ #{_BREAKS}][^ {_BREAKS}]*")
_LINE_AT_0 = re.compile("\n([^ #\r\n][^ \r\n]*)")
_LINE_AT_0_UNUSUAL = re.compile(f"(?:\r\n|[{_BREAKS}])([^ #{_BREAKS}][^ {_BREAKS}]*)")
_NO_CONTENT = re.compile(rf"(?:[ \t{_BREAKS}]|#[^{_BREAKS}]*)*+")
_DIRECTIVES = re.compile(rf"(?:%(?:YAML|TAG)[ \t][^{_BREAKS}]*|[ \t{_BREAKS}]|#[^{_BREAKS}]*)*+")
_BLANK_LINES = re.compile(rf"(?:[ \t]*(?:\r\n|[{_BREAKS}]))*+")
_REST_OF_LINE = re.compile(rf"[^{_BREAKS}]*(?:\r\n|[{_BREAKS}])?")
_WHITE = frozenset(" \t" + _BREAKS)


@dataclass(slots=True)
class YamlDocument:
    r"""A document that has content, as offsets into the stream.

    Attributes
    ----------
    start, end
        Its lines: from the first that is not blank behind the separator (comments belong to the
        document that follows them) to the last. Content on the separator's own line comes without
        the ``---``.
    content
        Where its first character lies that is neither white space nor comment.
    source
        Where a parser has to begin reading: at the directives or the ``---``.
    unusual
        Whether the stream has line breaks other than ``\n`` and ``\r\n``.
    lines
        The lines that begin at column 0, comments left out: offset and first word of each.
    """

    start: int
    end: int
    content: int
    source: int
    unusual: bool = False
    lines: list[tuple[int, str]] = field(default_factory=list)


def has_unusual_breaks(text: str) -> bool:
    r"""Return whether lines end with anything but ``\n`` and ``\r\n``, as YAML sees it."""
    if "\r" not in text and text.isascii():
        return False
    if "\x85" in text or "\u2028" in text or "\u2029" in text:
        return True
    return text.count("\r") != text.count("\r\n")


def find_documents(text: str) -> list[YamlDocument]:
    r"""Find the documents of a YAML stream that are not empty.

    A document begins behind ``---`` at column 0 that is followed by white space or the end of the
    text, and ends before the next one or before ``...``. Nothing else can separate documents: not
    ``----``, not ``---#``, not an indented ``---``. Documents of blank lines and comments alone
    are left out, and so are a byte order mark and the directives (``%YAML``, ``%TAG``).

    Examples
    --------
    >>> stream = "# a comment\n---\nkind: A\n--- # next\n---\n--- {kind: B}\n"
    >>> [stream[document.start : document.end] for document in find_documents(stream)]
    ['kind: A\n', '{kind: B}\n']
    """
    documents: list[YamlDocument] = []
    begin = source = 1 if text.startswith("\ufeff") else 0
    lines: list[tuple[int, str]] = []
    unusual = has_unusual_breaks(text)
    for line in _lines_at_0(text, begin, unusual):
        at, word = line
        if word[0] not in "-." or word.partition("\t")[0] not in ("---", "..."):
            lines.append(line)
            continue
        end = _before_directives(text, lines, at) if word[0] == "-" else at
        _add(documents, text, begin, end, source, unusual, lines)
        begin = at + 3
        source = begin if word[0] == "." else end
        lines = []
    _add(documents, text, begin, len(text), source, unusual, lines)
    return documents


def _lines_at_0(text: str, begin: int, unusual: bool) -> list[tuple[int, str]]:
    pattern = _LINE_AT_0_UNUSUAL if unusual else _LINE_AT_0
    found = [(match.start(1), match[1]) for match in pattern.finditer(text, begin)]
    first = _FIRST_WORD.match(text, begin)
    return [(begin, first[0]), *found] if first else found


def _before_directives(text: str, lines: list[tuple[int, str]], separator: int) -> int:
    """Return where the directives before a separator begin; their lines are taken off."""
    end = separator
    while lines and lines[-1][1] in ("%YAML", "%TAG"):
        match = _DIRECTIVES.fullmatch(text, lines[-1][0], end)
        if not match:
            break
        end = lines.pop()[0]
    return end


def _add(
    documents: list[YamlDocument],
    text: str,
    begin: int,
    end: int,
    source: int,
    unusual: bool,
    lines: list[tuple[int, str]],
) -> None:
    match = _NO_CONTENT.match(text, begin, end)
    assert match
    content = match.end()
    if content == end:
        return
    start = begin
    if begin > 1:  # behind a separator: content may stand on its line
        rest = _REST_OF_LINE.match(text, begin, end)
        assert rest
        start = content if content < rest.end() else rest.end()
    if start < content:
        blank = _BLANK_LINES.match(text, start, content)
        assert blank
        start = blank.end()
    while text[end - 1] in _WHITE:  # there is content before
        end -= 1
    rest = _REST_OF_LINE.match(text, end)
    assert rest
    documents.append(YamlDocument(start, rest.end(), content, source, unusual, lines))
