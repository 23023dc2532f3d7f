"""Resources to pieces: a manifest goes in, pieces that fit a size come out, each under a header.

`limits: {cpu: 100m}` says nothing without its owner. A piece of a large resource therefore begins
with a header that says whose it is and where inside the resource it is.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from course_lib.loader.kind_words import KIND_WORDS
from course_lib.loader.kubernetes import ResourceSpan, split_resources
from course_lib.loader.recursive import find_cut, in_crlf
from course_lib.loader.resource_identity import Identity
from course_lib.loader.word_pieces import fits_model
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
        longer, or leaves the model no room for the piece, it is cut, and ends with a line feed as
        before.

    Examples
    --------
    >>> web = Identity("Secret", "web", "shop", "v1")
    >>> print(make_header(web, "base/web.yaml", "data"), end="")
    # v1 Secret web in namespace shop: passwords, keys, credentials
    # base/web.yaml at data
    >>> make_header(web, "base/web.yaml", "data", most=14)
    '# v1 Secret w\n'
    """
    # A name of a megabyte would be joined for each piece.
    kind, name, namespace, version = (value and value[:most] for value in resource)
    who = " ".join(filter(None, (version, kind, name)))
    if namespace:
        who += f"{' ' if who else ''}in namespace {namespace}"
    if words := KIND_WORDS.get(kind or ""):
        who += f": {words}"
    header = ""
    for path in (source_path, posixpath.basename(source_path)):
        at = f"{path}{' ' if path else ''}at {_end_of_path(where)}" if where else path
        # A name may hold line breaks (a block scalar), but a comment may not.
        lines = (" ".join(line.split()) for line in (who, at))
        header = "".join(f"# {line}\n" for line in lines if line)
        if len(header) <= most:
            break
    else:
        header = header[: most - 1] + "\n"
    while not fits_model(header + _SOME_TEXT):
        header = header[: len(header) * 3 // 4] + "\n"
    return header


def cut_document(
    text: str,
    resource: ResourceSpan,
    lines: Sequence[Line],
    source_path: str = "",
    most: int = 700,
    fits: Callable[[str], bool] = fits_model,
) -> Iterator[ResourcePiece]:
    """Yield the pieces of a resource, each under its header.

    A piece fits if it has at most `most` characters with its header, and `fits` is true for its
    text.

    1. If it fits, yield it. The next one begins where it ends, with a new `limit`: `end + most`.
    2. If not, try a shorter one: set `limit` to `end - 1`, and take the best cut up to there.
    3. A single line is a piece, even if it does not fit.

    Parameters
    ----------
    text, source_path
        The whole file, and its name.
    resource, lines
        Whose pieces they are, and what is cut.
    most
        Most characters of a piece. Its header may have half of them.
    fits
        Tells whether the model reads a text to its end.
    """
    at, limit = 0, lines[0].start + most
    while at < len(lines) - 1:
        after = next_cut(lines, at, limit)
        start, end, path = lines[at].start, lines[after].start, shared_path(lines[at:after])
        header = make_header(resource.identity, source_path, path, most // 2)
        piece = ResourcePiece(header + text[start:end], header, start, end, path, resource)
        limit = end - 1
        if after == at + 1 or len(piece.text) <= most and fits(piece.text):
            yield piece
            at, limit = after, end + most


def chunk_resources(
    text: str,
    max_chars: int = 2000,
    *,
    source_path: str = "",
    fits: Callable[[str], bool] | None = None,
) -> list[ResourcePiece]:
    r"""Cut the resources of a YAML stream into pieces under headers.

    A resource that fits is one piece. A larger one is cut at line boundaries along its indentation:
    a list item, or a key with its block, stays in one piece where it fits one. A line that is too
    long for a piece is cut as a text is. Of the schemas of a custom resource definition only the
    descriptions at their top are kept: the rest is as long as a book and reads the same in each.

    A document with a `kind`, but without `apiVersion` and a name, is not a resource, and its pieces
    have no kind. Such are the values files of Helm charts.

    Parameters
    ----------
    text
        One file.
    max_chars
        Most characters in a piece, its header included; at least 100.
    source_path
        What the header calls the file.
    fits
        A further limit on a piece's text, such as a number of word pieces.

    Returns
    -------
    list of ResourcePiece
        In order. Every character of a resource is in exactly one piece, but for schemas and pieces
        that are blank.

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
    for resource in map(_without_guess, split_resources(text)):
        cutter = _Cutter(text, resource, source_path, max_chars, fits or _fits_anyhow)
        pieces += cutter.pieces()
    return [piece for piece in pieces if text[piece.start : piece.end].strip()]


def _without_guess(resource: ResourceSpan) -> ResourceSpan:
    """Return a resource without a kind where that alone says that it is one: a Helm values file.

    It has neither `apiVersion`, which every resource has, nor a name in `metadata`.
    """
    identity = resource.identity
    if identity.api_version or identity.name:
        return resource
    return replace(resource, identity=identity._replace(kind=None))


def _fits_anyhow(text: str) -> bool:
    return True


@dataclass(frozen=True)
class _Cutter:
    """Cuts one resource: what `cut_document` does not, because only some resources need it."""

    text: str
    resource: ResourceSpan
    source_path: str
    most: int
    fits: Callable[[str], bool]

    def pieces(self) -> Iterator[ResourcePiece]:
        """Yield the whole resource where it fits, or else its pieces."""
        whole = self._piece(self.resource.start, self.resource.end, "")
        has_schemas = self.resource.identity.kind == "CustomResourceDefinition"
        if self._fits(whole) and not has_schemas:
            yield whole
            return
        lines = lines_of(self.text, self.resource.body, self.resource.end)
        lines[0] = lines[0]._replace(start=self.resource.start)
        # Lines that follow one another: a schema that is left out is between two runs.
        runs = without_schemas(lines) if has_schemas else [lines]
        for run in runs:
            for piece in self._joined(run):
                yield from [piece] if self._fits(piece) else self._cut_text(piece)

    def _joined(self, lines: Sequence[Line]) -> list[ResourcePiece]:
        """Return the pieces of some lines; small neighbours become one piece where it fits.

        It never goes beyond the block in which it begins.
        """
        numbers = {line.start: number for number, line in enumerate(lines)}
        joined: list[ResourcePiece] = []
        for piece in cut_document(
            self.text, self.resource, lines, self.source_path, self.most, self.fits
        ):
            if joined and self._fits(joined[-1]):
                at, after = numbers[joined[-1].start], numbers[piece.start]
                path = shared_path(lines[at : numbers[piece.end]])
                longer = self._piece(joined[-1].start, piece.end, path)
                if lines[after].depth >= lines[at].depth and self._fits(longer):
                    joined[-1] = longer
                    continue
            joined.append(piece)
        return joined

    def _cut_text(self, piece: ResourcePiece) -> Iterator[ResourcePiece]:
        """Yield the parts of a line that is too long for a piece, cut where lines or words end."""
        start = piece.start
        while start < piece.end:
            room = self.most - len(piece.header)
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
        return replace(piece, text=piece.header + self.text[start:end], start=start, end=end)

    def _piece(self, start: int, end: int, path: str) -> ResourcePiece:
        header = make_header(self.resource.identity, self.source_path, path, self.most // 2)
        text = header + self.text[start:end]
        return ResourcePiece(text, header, start, end, path, self.resource)

    def _fits(self, piece: ResourcePiece) -> bool:
        return len(piece.text) <= self.most and self.fits(piece.text)


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
