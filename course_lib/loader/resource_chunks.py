"""Resources to pieces: a manifest goes in, pieces that fit a size come out, each under a header.

`limits: {cpu: 100m}` says nothing without its owner. A piece of a large resource therefore begins
with a header that says whose it is and where inside the resource it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os.path import commonprefix

from course_lib.loader.crd_policy import without_schemas
from course_lib.loader.kubernetes import ResourceSpan, split_resources
from course_lib.loader.recursive import find_cut, keep_crlf
from course_lib.loader.yaml_outline import Entry, outline, path

MIN_CHARS = 100
_LONGEST_PATH = 120


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
        Where the piece lies in the source: ``text == header + source[start:end]``.
    path
        Where inside the resource: ``spec.template.spec.containers[0]``; "" for all of it.
    resource
        The resource that it is a piece of.
    """

    text: str
    header: str
    start: int
    end: int
    path: str
    resource: ResourceSpan


def make_header(resource: ResourceSpan, source_path: str = "", where: str = "") -> str:
    r"""Return the two lines that say whose piece it is.

    What a resource does not have (a name, a namespace) is left out, and a line of nothing as well.

    Examples
    --------
    >>> web = ResourceSpan("Deployment", "web", "shop", "apps/v1", 0, 9, 1, 1, 0)
    >>> print(make_header(web, "base/web.yaml", "spec.template"), end="")
    # apps/v1 Deployment web in namespace shop
    # base/web.yaml at spec.template
    """
    who = " ".join(filter(None, (resource.api_version, resource.kind, resource.name)))
    if resource.namespace:
        who += f"{' ' if who else ''}in namespace {resource.namespace}"
    at = f"{source_path}{' ' if source_path else ''}at {where}" if where else source_path
    # A name may hold line breaks (a block scalar); a header's line may not.
    return "".join(f"# {' '.join(line.split())}\n" for line in (who, at) if line)


def chunk_resources(
    text: str,
    max_chars: int = 2000,
    *,
    source_path: str = "",
    full_schemas: bool = False,
    fits: Callable[[str], bool] | None = None,
) -> list[ResourcePiece]:
    r"""Cut the resources of a YAML stream into pieces under headers.

    A resource that fits is one piece. A larger one is cut at line boundaries along its indentation:
    a list item, or a key with its block, stays in one piece where it fits one.

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
        In order. Without `full_schemas` the schemas are missing, otherwise every line of every
        resource is in exactly one piece.

    Raises
    ------
    ValueError
        If `max_chars` is too small. Nothing is raised for text that is no YAML.

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
        ranges = [(resource.start, resource.end)]
        if resource.kind == "CustomResourceDefinition" and not full_schemas:
            ranges = without_schemas(text, resource.start, resource.end)
        cutter = _Cutter(text, resource, max_chars, source_path, fits)
        pieces += cutter.pieces(ranges)
    return pieces


class _Cutter:
    """Cuts one resource; `_entries` is its outline."""

    def __init__(
        self,
        text: str,
        resource: ResourceSpan,
        max_chars: int,
        source_path: str,
        fits: Callable[[str], bool] | None,
    ) -> None:
        self._text, self._resource, self._max_chars = text, resource, max_chars
        self._source_path, self._fits_also = source_path, fits
        self._entries: list[Entry] = []

    def pieces(self, ranges: list[tuple[int, int]]) -> Iterator[ResourcePiece]:
        resource = self._resource
        if ranges == [(resource.start, resource.end)] and self._fits(*ranges[0], ""):
            yield self._piece(*ranges[0], "")
            return
        self._entries = outline(self._text, ranges, resource.body)
        first = 0
        for start, end in ranges:
            behind = first
            while behind < len(self._entries) and self._entries[behind].start < end:
                behind += 1
            cuts = list(self._cut(start, end, first, behind))
            for cut in _joined(cuts, self._fits, (self._max_chars + 3) // 4):
                if self._text[cut[0] : cut[1]].strip():
                    yield self._piece(*cut)
            first = behind

    def _cut(self, start: int, end: int, first: int, behind: int) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and path of the pieces of a range whose entries are first … behind."""
        if first == behind:
            where = path(self._entries, first - 1) if first else ""
            yield from self._cut_text(start, end, where)
            return
        begin, group, last = start, first, first  # gathered: from this offset, these siblings
        at = first
        while at < behind:
            after = self._behind(at, behind)
            stop = self._entries[after].start if after < behind else end
            if self._fits(begin, stop, self._where(group, at)):
                last, at = at, after
                continue
            own, where = self._entries[at].start, path(self._entries, at)
            if group < at:
                yield begin, own, self._where(group, last)
                begin, group = own, at
                continue
            if begin < own and self._fits(own, stop, where):  # only the lines above are too much
                yield from self._cut_text(begin, own, path(self._entries, self._entries[at].parent))
                begin = own
                continue
            if after > at + 1:
                yield from self._cut(begin, stop, at + 1, after)
            else:
                yield from self._cut_text(begin, stop, where)
            begin, group, at = stop, after, after
        if group < behind:
            yield begin, end, self._where(group, last)

    def _behind(self, index: int, behind: int) -> int:
        """Return the index of the next entry that is not inside this one."""
        level = self._entries[index].level
        index += 1
        while index < behind and self._entries[index].level > level:
            index += 1
        return index

    def _where(self, first: int, last: int) -> str:
        """Return the path of some siblings: their own, a range of items, or their parent's."""
        entries = self._entries
        if first == last:
            return path(entries, first)
        above = path(entries, entries[first].parent)
        start, stop = entries[first].label, entries[last].label
        same = entries[first].parent == entries[last].parent
        if same and start[1:-1].isdigit() and stop[1:-1].isdigit():
            return f"{above}[{start[1:-1]}-{stop[1:-1]}]"
        return above

    def _cut_text(self, start: int, end: int, where: str) -> Iterator[tuple[int, int, str]]:
        """Yield pieces of a text without structure, cut where lines or words end."""
        while start < end:
            stop = end
            room = max(self._max_chars - len(self._header(where)), 1)
            while not self._fits(start, stop, where) and stop - start > 1:
                limit = min(start + room, end)
                stop = limit if limit == end else find_cut(self._text, start, limit, start)
                stop = min(keep_crlf(self._text, stop), end)
                room = max(min(room, stop - start) * 3 // 4, 1)
            yield start, stop, where
            start = stop

    def _header(self, where: str) -> str:
        """Return the header, shortened where it would leave no room for the piece."""
        most = self._max_chars // 2
        where = _end_of_path(where)
        header = make_header(self._resource, self._source_path, where)
        if len(header) > most:
            folder, _, name = self._source_path.rpartition("/")
            header = make_header(self._resource, name if folder else "", where)
        return header if len(header) <= most else header[: most - 1] + "\n"

    def _fits(self, start: int, end: int, where: str) -> bool:
        if end - start > self._max_chars:
            return False
        header = self._header(where)
        if len(header) + end - start > self._max_chars:
            return False
        return self._fits_also is None or self._fits_also(header + self._text[start:end])

    def _piece(self, start: int, end: int, where: str) -> ResourcePiece:
        header = self._header(where)
        return ResourcePiece(
            header + self._text[start:end], header, start, end, where, self._resource
        )


def _joined(
    cuts: list[tuple[int, int, str]], fits: Callable[[int, int, str], bool], small: int
) -> Iterator[tuple[int, int, str]]:
    """Yield the cuts with small neighbours put together, under the path that both share."""
    held: tuple[int, int, str] | None = None
    for start, end, where in cuts:
        if held and held[1] == start and min(end - start, held[1] - held[0]) < small:
            shared = where if where == held[2] else _shared(held[2], where)
            if fits(held[0], end, shared):
                held = (held[0], end, shared)
                continue
        if held:
            yield held
        held = (start, end, where)
    if held:
        yield held


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
    first = min((at for at in map(end.find, ".[") if at >= 0), default=0)
    return f"…{end[first:]}"


def _shared(one: str, other: str) -> str:
    """Return the path above both: ``spec`` for ``spec.a[0]`` and ``spec.b``."""
    common = commonprefix((one, other))
    if all(label[len(common) : len(common) + 1] in ("", ".", "[") for label in (one, other)):
        return common
    return common[: max(common.rfind("."), common.rfind("["), 0)]
