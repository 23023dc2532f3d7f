"""Documents to chunks: a Markdown document goes in, parsed-chunk-v1 records come out.

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

from course_lib.loader.front_matter import read_front_matter
from course_lib.loader.html_headings import Heading, HtmlHeadings, seen
from course_lib.loader.pieces import ParserInfo, Piece, make_chunks, shortened
from course_lib.loader.recursive import split_prose
from course_lib.records import LOCAL, Chunk, Document, Scope
from course_lib.settings import CHUNK_OVERLAP, CHUNK_SIZE

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

PARSER = ParserInfo("markdown", "2.2.0")

BETWEEN = " > "
"""Is between the headings above a piece."""

_LINE_END = re.compile(r"\r\n?|\n")


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
    follows it. What is a heading, CommonMark says: `# A`, or `A` above `===` or `---`, or HTML as
    `<h1>A</h1>`, but not in fenced code, comments, lists or quotations. Its name is what a reader
    sees of it.

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
    first = (title for *_, level, title in _headings(text) if level == 1)
    return read_front_matter(text).title or next(first, "")


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
    begin = read_front_matter(text).end
    blocks, inline, tags = _parsers()
    tokens = blocks.parse(text[begin:])
    starts = [begin, *(begin + one.end() for one in _LINE_END.finditer(text[begin:])), len(text)]
    html = HtmlHeadings()
    for token, content in pairwise([*tokens, *tokens[-1:]]):
        if token.level > 0 or token.map is None:
            continue
        first, after = token.map
        if token.type == "heading_open":
            html.leave()
            if name := _as_read(_parts(inline, content)):
                html.found.append(Heading(first, after, int(token.tag[1]), name))
        elif token.type == "html_block" and (html.is_within or "<h" in token.content.lower()):
            html.read(_parts(tags, token), first, after)
        elif token.type == "paragraph_open" and (html.is_within or "<h" in content.content.lower()):
            html.read(_parts(inline, content), first, after)
    return [(starts[one.first], starts[one.after], one.level, one.name) for one in html.found]


@cache
def _parsers() -> tuple[MarkdownIt, MarkdownIt, MarkdownIt]:
    """Return a quick parser of blocks alone, one of what is in a line, and one of HTML."""
    from markdown_it import MarkdownIt

    blocks = MarkdownIt("commonmark")
    blocks.core.ruler.enableOnly(["normalize", "block"])
    tags = MarkdownIt("zero", {"html": True}).enable(["html_inline", "entity"])
    return blocks, MarkdownIt("commonmark"), tags


def _parts(parser: MarkdownIt, token: Token) -> Sequence[Token]:
    return parser.parseInline(token.content)[0].children or ()


def _as_read(parts: Sequence[Token]) -> str:
    """Return what a reader sees of a heading: no emphasis, link, HTML or `{#anchor}`."""
    return " ".join(re.sub(r"\{:? *#[^{}]*\}\s*$", "", "".join(map(seen, parts))).split())
