"""Documents to chunks: a Markdown or text document goes in, parsed-chunk-v1 records come out.

A heading belongs to what follows it: a page is cut into its sections first, and only a section that
is too large is cut by `split_prose`. Each piece is embedded under the page's title and the headings
above it, without which many a section does not say what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple

from course_lib.loader.pieces import ParserInfo, Piece, make_chunks, shortened
from course_lib.loader.recursive import split_prose
from course_lib.records import LOCAL, Chunk, Document, Scope
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

PARSER = ParserInfo("markdown", "2.1.0")

BETWEEN = " > "
"""Is between the headings above a piece."""

# What is before a page and says how it is published: YAML between ---, or TOML between +++.
_FRONT_MATTER = re.compile(
    r"\A(?P<mark>---|\+\+\+)[ \t]*\r?\n(?P<fields>.*?)^(?P=mark)[ \t]*\r?$",
    re.DOTALL | re.MULTILINE,
)
_LINE_END = re.compile(r"\r\n?|\n")
_TITLE = re.compile(r"^title[ \t]*[:=](?P<title>.*)$", re.MULTILINE)


class Section(NamedTuple):
    """A part of a page, `text[start:end]`, and the headings that it is under, the highest first."""

    start: int
    end: int
    headings: tuple[str, ...]


def split_document(
    document: Document,
    *,
    scope: Scope = LOCAL,
    chunk_size: int = CHUNK_SIZE,
    chunk_overlap: int = CHUNK_OVERLAP,
) -> list[Chunk]:
    r"""Split one document into records.

    Parameters
    ----------
    document
        What `read_documents` gave.
    scope
        Whose document this is.
    chunk_size, chunk_overlap
        As in `split_text`, in characters. Pieces of one section share an overlap, which begins at
        a word; sections share nothing.

    Returns
    -------
    list of Chunk
        `kind` is ``doc-section`` and `name` the heading of the section that the piece is in (before
        the first one the page's title, or the file's name). `custom_meta` holds `chunkIndex`, the
        offsets `charStart` and `charEnd`, and the `header`: the page's title and the headings above
        the piece. Pieces of white space alone are left out.

    Raises
    ------
    ValueError, TypeError
        As `split_text`.

    Examples
    --------
    >>> from pathlib import Path
    >>> page = Document(Path("a.md"), "a.md", "# Title\n\nFirst.\n\n## Next\n\nSecond.")
    >>> for piece in split_document(page, chunk_size=20, chunk_overlap=0):
    ...     print((piece.custom_meta["header"], piece.name, piece.content, piece.line_start))
    ('Title\n', 'Title', '# Title\n\nFirst.\n\n', 1)
    ('Title > Next\n', 'Next', '## Next\n\nSecond.', 5)
    """
    pieces = page_pieces(document.content, document.name, chunk_size, chunk_overlap)
    return make_chunks(document, scope, pieces, PARSER)


def page_pieces(text: str, path: str, chunk_size: int, chunk_overlap: int) -> list[Piece]:
    """Return the pieces of a Markdown page that is at a path, as `split_document` says."""
    title = page_title(text)
    pieces = []
    for section in join_small(find_sections(text), chunk_size):
        header = header_of(section.headings, title)
        name = [title or path.rsplit("/", 1)[-1], *section.headings][-1]
        for span in split_prose(text[section.start : section.end], chunk_size, chunk_overlap):
            if span.text.strip():
                start, end = section.start + span.start, section.start + span.end
                pieces.append(Piece(start, end, "doc-section", name, header))
    return pieces


def find_sections(text: str) -> list[Section]:
    r"""Return the sections of a Markdown page: each begins with a heading, or with the page.

    Together they are the whole text. A heading without a text of its own is in the section that
    follows it. What is a heading, CommonMark says: `# A`, or `A` above `===` or `---`, but not in
    fenced code, comments, lists or quotations. Its name is what a reader sees of it.

    Examples
    --------
    >>> for section in find_sections("Hello.\n# A\n## B\nText.\n# C\nEnd.\n"):
    ...     print(section)
    Section(start=0, end=7, headings=())
    Section(start=7, end=22, headings=('A', 'B'))
    Section(start=22, end=31, headings=('C',))
    """
    starts: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    above: list[tuple[int, str]] = []
    body = 0
    for at, end, level, title in _headings(text):
        above = [one for one in above if one[0] < level] + [(level, title)]
        begin = at if text[body:at].strip() else starts.pop()[0]
        starts.append((begin, tuple(heading for _, heading in above)))
        body = end
    ends = [*(at for at, _ in starts[1:]), len(text)]
    return [
        Section(at, end, headings)
        for (at, headings), end in zip(starts, ends, strict=True)
        if at < end
    ]


def join_small(sections: Sequence[Section], size: int) -> list[Section]:
    """Return the sections, with neighbours joined that fit the size together.

    What was joined is under the headings that all of its parts are under.

    Examples
    --------
    >>> join_small([Section(0, 40, ("A", "B")), Section(40, 70, ("A", "C"))], size=80)
    [Section(start=0, end=70, headings=('A',))]
    """
    joined: list[Section] = []
    for section in sections:
        if joined and section.end - joined[-1].start <= size:
            before = joined.pop()
            pairs = zip(before.headings, section.headings, strict=False)
            shared = tuple(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            section = Section(before.start, section.end, shared)
        joined.append(section)
    return joined


def page_title(text: str) -> str:
    r"""Return the title in a page's front matter, or else its first heading of the first level.

    A page may have neither: then it is empty.

    Examples
    --------
    >>> page_title('+++\ntitle = "Pipelines"\n+++\n## Start\n'), page_title("# Serving\n\nText.")
    ('Pipelines', 'Serving')
    """
    front = _FRONT_MATTER.match(text)
    named = _TITLE.search(front["fields"]) if front else None
    if named:
        return named["title"].strip().strip("\"'")
    return next((title for *_, level, title in _headings(text) if level == 1), "")


def header_of(headings: Sequence[str], title: str) -> str:
    r"""Return the line that a piece is embedded under: the title, and the headings above the piece.

    Examples
    --------
    >>> header_of(("Serving", "Canary"), "Serving"), header_of(("Canary",), "Serving")
    ('Serving > Canary\n', 'Serving > Canary\n')
    >>> header_of((), "")
    ''
    """
    path = headings if not title or headings[:1] == (title,) else (title, *headings)
    return f"{shortened(BETWEEN.join(path))}\n" if path else ""


def _headings(text: str) -> list[tuple[int, int, int, str]]:
    """Return start, end, level and name of each heading, as CommonMark has it.

    Headings within lists and quotations are left out.
    """
    front = _FRONT_MATTER.match(text)
    begin = front.end() if front else 0
    blocks, inline = _parsers()
    tokens = blocks.parse(text[begin:])
    starts = [begin, *(begin + one.end() for one in _LINE_END.finditer(text[begin:])), len(text)]
    found = []
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open" and opening.level == 0 and opening.map:
            first, after = opening.map
            if name := _as_read(inline.parseInline(content.content)[0].children or ()):
                found.append((starts[first], starts[after], int(opening.tag[1]), name))
    return found


@cache
def _parsers() -> tuple[MarkdownIt, MarkdownIt]:
    """Return a parser of blocks alone, which is quick, and one of what is in a line."""
    from markdown_it import MarkdownIt

    blocks = MarkdownIt("commonmark")
    blocks.core.ruler.enableOnly(["normalize", "block"])
    return blocks, MarkdownIt("commonmark")


def _as_read(parts: Sequence[Token]) -> str:
    """Return what a reader sees of a heading: no emphasis, link, HTML or `{#anchor}`."""
    shown = {"text", "code_inline", "image", "softbreak"}
    seen = "".join(part.content or " " for part in parts if part.type in shown)
    return " ".join(re.sub(r"\{:? *#[^{}]*\}\s*$", "", seen).split())
