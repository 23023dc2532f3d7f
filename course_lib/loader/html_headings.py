"""Headings in HTML: the HTML of a Markdown page goes in, part by part, its headings come out.

At the top of many a README is ``<h1 align="center">``, over several lines, with a logo in it.
CommonMark says which parts of a page are HTML and which of them are tags, and Python's own parser
reads a tag. It does not get a whole text: it takes the square of its length for some.
"""

from __future__ import annotations

from collections.abc import Iterable
from html.parser import HTMLParser
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it.token import Token

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_RAW = ("pre", "script", "style", "textarea")
"""In these a heading is an example, or no HTML at all."""


class Heading(NamedTuple):
    """A heading: its first line and the line after it, from 0; its level, and what is read."""

    first: int
    after: int
    level: int
    name: str


class HtmlHeadings(HTMLParser):
    """Finds headings; one may begin in a part and end in a later one, with Markdown in between.

    Attributes
    ----------
    found
        The headings that have ended. Those without a text are named by their images, and those
        without a name are left out.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Heading] = []
        self._line = self._top = self._block = 0
        self._begun: tuple[int, int] | None = None
        self._raw = ""
        self._texts: list[str] = []
        self._images: list[str] = []

    @property
    def is_within(self) -> bool:
        """Whether a heading has begun and not ended yet."""
        return self._begun is not None

    def read(self, parts: Iterable[Token], first: int, after: int) -> None:
        """Read the parts of a block that begins at a line; `after` is the line after it."""
        self._line = self._top = self._block = first
        for part in parts:
            if part.type != "html_inline":
                self._add(seen(part))
            elif not part.content.startswith(("<!", "<?")):
                self.reset()
                self.feed(part.content)
            self._line += part.content.count("\n") + (part.type in ("softbreak", "hardbreak"))
            self._line = min(self._line, after - 1)  # a line end may be written as an entity

    def leave(self) -> None:
        """Forget what has begun and has no end: a heading in Markdown begins."""
        self._begun, self._raw = None, ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a heading; one before it in the same block ends here, as browsers have it."""
        if tag in _RAW:
            self._raw = self._raw or tag
        elif tag in _HEADINGS and not self._raw:
            if self._begun and self._begun[0] >= self._top:
                self._end()
            # What is before it in its block belongs to it unless that is text: <div>, a logo.
            self._begun = (self._line if self._block < 0 else self._block, int(tag[1]))
            self._texts, self._images, self._block = [], [], -1
        elif tag == "img" and self.is_within:
            self._images.append(dict(attrs).get("alt") or "")
        elif tag == "br":
            self._add(" ")

    def handle_endtag(self, tag: str) -> None:
        """End a heading, at the end tag of any heading, as browsers have it."""
        if tag == self._raw:
            self._raw = ""
        elif tag in _HEADINGS:
            self._end()

    def _add(self, text: str) -> None:
        if text.strip():
            self._block = -1
        if self.is_within and not self._raw:
            self._texts.append(text)

    def _end(self) -> None:
        if self._begun:
            first, level = self._begun
            name = " ".join("".join(self._texts).split() or " ".join(self._images).split())
            if name:
                self.found.append(Heading(first, self._line + 1, level, name))
        self._begun = None


def seen(part: Token) -> str:
    """Return what a reader sees of a part of a line: no marks, no HTML."""
    is_shown = part.type in ("text", "code_inline", "image", "softbreak")
    return (part.content or " ") if is_shown else ""
