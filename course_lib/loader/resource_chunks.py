"""Resources to pieces: a manifest goes in, pieces that fit a size come out, each under a header.

`limits: {cpu: 100m}` says nothing without its owner. A piece of a large resource therefore begins
with a header that says whose it is and where inside the resource it is.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from course_lib.loader.kind_words import KIND_WORDS
from course_lib.loader.kubernetes import ResourceSpan, split_resources
from course_lib.loader.recursive import find_cut, in_crlf
from course_lib.loader.resource_identity import Identity
from course_lib.loader.yaml_lines import Line, lines_of, next_cut, shared_path, without_schemas

MIN_CHARS = 100
_LONGEST_PATH = 120
_SOME_TEXT = "a " * 40
"""What has to fit beside a header, or a piece would be no more than a few letters."""


@dataclass(frozen=True, slots=True)
class ResourcePiece:
    """A piece of a resource.

    Attributes
    ----------
    text
        The header and the piece itself: what is embedded.
    header
        The first lines of `text`, as YAML comments.
    start, end
        Where the piece is in the source: ``text == header + source[start:end]``.
    path
        Where inside the resource: ``spec.template.spec.containers[0]``; "" for all of it, and for
        a piece whose lines have no path in common.
    resource
        The resource that it is a piece of.
    """

    text: str
    header: str
    start: int
    end: int
    path: str
    resource: ResourceSpan


def make_header(resource: Identity, source_path: str = "", where: str = "", most: int = 350) -> str:
    r"""Return the lines that say whose piece it is: the resource, then its file and place in it.

    The first line ends with the words that people use for the kind, if `KIND_WORDS` has some. What
    is unknown (a name, a namespace) is left out, and so is an empty line.

    Parameters
    ----------
    resource
        Who it is.
    source_path
        The file.
    where
        The place inside the resource.
    most
        Most characters. A header that is longer loses the folders of its file. If it is still
        longer, it is cut, and ends with a line feed as before.

    Examples
    --------
    >>> web = Identity("Secret", "web", "shop", "v1")
    >>> print(make_header(web, "base/web.yaml", "data"), end="")
    # v1 Secret web in namespace shop: passwords, keys, credentials
    # base/web.yaml at data
    >>> make_header(web, "base/web.yaml", "data", most=14)
    '# v1 Secret w\n'
    """
    who = " ".join(filter(None, (resource.api_version, resource.kind, resource.name)))
    if resource.namespace:
        who += f"{' ' if who else ''}in namespace {resource.namespace}"
    words = KIND_WORDS.get(resource.kind or "")
    if words:
        who += f": {words}"
    header = ""
    for path in (source_path, posixpath.basename(source_path)):
        at = f"{path}{' ' if path else ''}at {where}" if where else path
        # A name may hold line breaks (a block scalar), but a comment may not.
        lines = (" ".join(line.split()) for line in (who, at))
        header = "".join(f"# {line}\n" for line in lines if line)
        if len(header) <= most:
            return header
    return header[: most - 1] + "\n"


def chunk_resources(
    text: str,
    max_chars: int = 2000,
    *,
    source_path: str = "",
    full_schemas: bool = False,
    fits: Callable[[str], bool] | None = None,
) -> list[ResourcePiece]:
    r"""Cut the resources of a YAML stream into pieces under headers.

    A resource that fits is one piece (but see `full_schemas`). A larger one is cut at line
    boundaries along its indentation: a list item, or a key with its block, stays in one piece where
    it fits one. A line that is too long for a piece is cut as a text is.

    Parameters
    ----------
    text
        One file.
    max_chars
        Most characters in a piece, its header included; at least 100.
    source_path
        What the header calls the file.
    full_schemas
        Whether the schemas of custom resource definitions are kept whole. By default only the
        descriptions at their top are: the rest of a schema is as long as a book and reads the
        same in each of them.
    fits
        A further limit on a piece's text, such as a number of word pieces.

    Returns
    -------
    list of ResourcePiece
        In order. Without `full_schemas` most lines of schemas are missing; otherwise every
        character of every resource is in exactly one piece, but for pieces that are blank.

    Raises
    ------
    ValueError
        If `max_chars` is too small. Nothing is raised for text that is not YAML.

    Examples
    --------
    >>> source = "kind: A\nmetadata: {name: a}\nspec:\n" + "".join(
    ...     f"- name: item-{number}\n  note: {'x' * 40}\n" for number in range(3)
    ... )
    >>> [piece.path for piece in chunk_resources(source, 120)]
    ['', 'spec[1]', 'spec[2]']
    """
    if max_chars < MIN_CHARS:
        raise ValueError(f"max_chars must be at least {MIN_CHARS}, not {max_chars}")
    pieces: list[ResourcePiece] = []
    for resource in split_resources(text):
        pieces += _Cutter(text, resource, max_chars, source_path, fits).pieces(full_schemas)
    return [piece for piece in pieces if text[piece.start : piece.end].strip()]


@dataclass(frozen=True)
class _Cutter:
    """Cuts one resource."""

    text: str
    resource: ResourceSpan
    max_chars: int
    source_path: str
    fits_also: Callable[[str], bool] | None
    headers: dict[str, str] = field(default_factory=dict)
    """Those made so far, by path: the parts of a long text have the same one."""

    def pieces(self, full_schemas: bool) -> Iterator[ResourcePiece]:
        """Yield the whole resource where it fits, or else its pieces."""
        whole = self._piece(self.resource.start, self.resource.end, "")
        has_schemas = self.resource.identity.kind == "CustomResourceDefinition"
        if self._fits(whole) and (full_schemas or not has_schemas):
            yield whole
            return
        lines = lines_of(self.text, self.resource.body, self.resource.end)
        lines[0] = lines[0]._replace(start=self.resource.start)
        # Lines that follow one another: a schema that is left out is between two runs.
        runs = without_schemas(lines) if has_schemas and not full_schemas else [lines]
        for run in runs:
            yield from self._cut(run)

    def _cut(self, lines: Sequence[Line]) -> Iterator[ResourcePiece]:
        """Yield the pieces of some lines; the last one of these is their end."""
        at = 0
        while at < len(lines) - 1:
            after = self._end(lines, at)
            piece = self._piece_of(lines, at, after)
            # Small neighbours become one piece, but never beyond the block in which it begins.
            while self._fits(piece) and lines[after].depth >= lines[at].depth:
                further = self._end(lines, after)
                longer = self._piece_of(lines, at, further)
                if not self._fits(longer):
                    break
                piece, after = longer, further
            if self._fits(piece):
                yield piece
            else:
                yield from self._cut_text(piece)
            at = after

    def _end(self, lines: Sequence[Line], at: int) -> int:
        """Return the number of the line before which a piece that begins with line `at` ends."""
        # No path that the lines of a piece share is longer than that of its first line.
        room = self.max_chars - len(self._header(lines[at].path))
        after = next_cut(lines, at, lines[at].start + room)
        while after > at + 1 and not self._fits(self._piece_of(lines, at, after)):
            after = next_cut(lines, at, lines[after].start - 1)
        return after

    def _cut_text(self, piece: ResourcePiece) -> Iterator[ResourcePiece]:
        """Yield the parts of a line that is too long for a piece, cut where lines or words end."""
        start = piece.start
        while start < piece.end:
            room = self.max_chars - len(piece.header)
            part = self._part(piece, start, room)
            while not self._fits(part) and part.end > start + 1:
                room = max(min(room, part.end - start) * 3 // 4, 1)
                part = self._part(piece, start, room)
            yield part
            start = part.end

    def _part(self, piece: ResourcePiece, start: int, room: int) -> ResourcePiece:
        end = piece.end
        if end - start > room:
            # No cut in the first half: a key would be left without its value.
            end = find_cut(self.text, start, start + room, start + room // 2)
        end = min(end + in_crlf(self.text, end), piece.end)
        return self._piece(start, end, piece.path)

    def _header(self, path: str) -> str:
        """Return the header, shortened where it would leave no room for the piece."""
        most = self.max_chars // 2
        header = make_header(self._identity, self.source_path, _end_of_path(path), most)
        while self.fits_also and not self.fits_also(header + _SOME_TEXT):
            header = header[: len(header) * 3 // 4] + "\n"
        return header

    @cached_property
    def _identity(self) -> Identity:
        """What a header takes of the resource's: a name of a megabyte would be joined each time."""
        own = self.resource.identity
        return Identity(*(value and value[: self.max_chars] for value in own))

    def _piece_of(self, lines: Sequence[Line], at: int, after: int) -> ResourcePiece:
        return self._piece(lines[at].start, lines[after].start, shared_path(lines[at:after]))

    def _piece(self, start: int, end: int, path: str) -> ResourcePiece:
        if path not in self.headers:
            self.headers[path] = self._header(path)
        header = self.headers[path]
        text = header + self.text[start:end]
        return ResourcePiece(text, header, start, end, path, self.resource)

    def _fits(self, piece: ResourcePiece) -> bool:
        short = len(piece.text) <= self.max_chars
        return short and (self.fits_also is None or self.fits_also(piece.text))


def _end_of_path(where: str) -> str:
    """Return a path's last labels: eighty levels of ``[0]`` would leave no room for the piece.

    Examples
    --------
    >>> _end_of_path("spec.a"), _end_of_path("[0]" * 80)[:7]
    ('spec.a', '…[0][0]')
    """
    if len(where) <= _LONGEST_PATH:
        return where
    end = where[-_LONGEST_PATH:]
    label = re.search(r"[.[]", end)  # where the first whole label begins
    return f"…{end[label.start() :] if label else end}"
