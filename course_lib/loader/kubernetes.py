"""Kubernetes manifests: a YAML stream goes in, one span for each resource comes out.

A span says who the resource is and where it is, and copies nothing. Most documents are read by
their lines. A parser is asked about the unusual ones, and what no parser accepts (a Helm template,
a broken file) is read by its lines again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import yaml

from course_lib.loader.resource_identity import Identity, read_identity, read_key, usual_head
from course_lib.records import Span
from course_lib.yaml_nodes import entries, parse_nodes


@dataclass(frozen=True, slots=True)
class ResourceSpan:
    """A resource, and where it is in the text.

    Attributes
    ----------
    identity
        Who it is. A value is None where the document has no such key or it is not a scalar.
    start, end
        ``text[start:end]`` are its lines, with the comments above it.
    body
        Where the resource itself begins: at `start`, or in a List after the item's dash.
    """

    identity: Identity
    start: int
    end: int
    body: int


class _Found(NamedTuple):
    """Who a resource is, its start and its body; it ends where the next one starts."""

    identity: Identity
    start: int
    body: int


def split_stream(text: str) -> list[Span]:
    r"""Return the documents of a YAML stream, without those for which `is_empty` is true.

    - A separator is ``---`` at the beginning of a line, before white space or the end of the text.
    - A document begins directly after the dashes, the first one at 0.
    - It ends directly before the next dashes, the last one at the end of the text.

    Examples
    --------
    >>> split_stream("a: 1\n---\n# nothing\n--- {b: 2}")
    [Span(start=0, end=5, text='a: 1\n'), Span(start=22, end=29, text=' {b: 2}')]
    """
    marks = [mark.span() for mark in re.finditer(r"^---(?=\s|\Z)", text, re.MULTILINE)]
    parts = pairwise([(0, 0), *marks, (len(text), len(text))])
    spans = [Span(begin, end, text[begin:end]) for (_, begin), (end, _) in parts]
    return [span for span in spans if not is_empty(span.text)]


def is_empty(document: str) -> bool:
    r"""Tell whether every line is blank or a comment.

    Examples
    --------
    >>> is_empty("\n  # nothing\n"), is_empty("a: 1  # one\n")
    (True, False)
    """
    return all(line.strip()[:1] in ("", "#") for line in document.split("\n"))


def usual_breaks(text: str) -> str:
    r"""Return a text of the same length whose lines and documents end in the usual way.

    YAML also ends lines with a carriage return alone and with three characters that are hardly
    used (U+0085, U+2028, U+2029), and documents with ``...``. It has directives, too (``%YAML``,
    ``%TAG``). Line feeds, ``---`` and comments take their place, so that offsets stay true.

    Examples
    --------
    >>> usual_breaks("%YAML 1.1\r---\rkind: A\r...\r")
    '#YAML 1.1\n---\nkind: A\n---\n'
    """
    text = re.sub("\r(?!\n)|[\x85\u2028\u2029]", "\n", text)
    text = re.sub(r"^\.\.\.(?=\s|\Z)", "---", text, flags=re.MULTILINE)
    return re.sub(r"^%(?=(?:YAML|TAG)[ \t])", "#", text, flags=re.MULTILINE)


def split_resources(text: str) -> list[ResourceSpan]:
    r"""Find the resources of a YAML stream.

    Every document that is not empty gives a span, whatever it holds. A ``kind: List`` (or RoleList
    and the like, whose items need not name their kind) gives one for each of its items instead: the
    lines of the List itself belong to the item after them (those at its end to the last), so that
    no line is lost. Nothing is raised for text that is not YAML.

    Parameters
    ----------
    text
        One file, of any number of documents.

    Returns
    -------
    list of ResourceSpan
        In order, not overlapping, without blank lines around them.

    Examples
    --------
    >>> stream = "kind: A\nmetadata: {name: one}\n---\n# two\nkind: B\nmetadata:\n  name: two\n"
    >>> [(span.identity.name, span.start, span.end) for span in split_resources(stream)]
    [('one', 0, 30), ('two', 34, 70)]
    """
    usual = usual_breaks(text.removeprefix("\ufeff"))
    shift = len(text) - len(usual)  # 1 where the file begins with a byte order mark, else 0
    spans: list[ResourceSpan] = []
    for document in _documents(usual):
        begin, end = _without_blank_lines(usual, document)
        found = _resources_in(usual[begin:end])
        begin, end = begin + shift, end + shift
        # What is above the first resource belongs to it.
        starts = [begin, *(begin + one.start for one in found[1:]), end]
        for one, (start, stop) in zip(found, pairwise(starts), strict=True):
            spans.append(ResourceSpan(one.identity, start, stop, begin + one.body))
    return spans


def _documents(text: str) -> list[Span]:
    """Return the documents of a stream, also where `---` has the next one's first key beside it.

    A template that trims its line ends produces ``---apiVersion: v1``.
    """
    found = []
    for document in split_stream(text):
        glued = re.finditer(r"^---(?=[A-Za-z][\w.-]*:\s)", document.text, re.MULTILINE)
        marks = [(document.start + one.start(), document.start + one.end()) for one in glued]
        begins = [document.start, *(end for _, end in marks)]
        for begin, end in zip(begins, [*(start for start, _ in marks), document.end], strict=True):
            if not is_empty(text[begin:end]):
                found.append(Span(begin, end, text[begin:end]))
    return found


_LEAD = re.compile(r"(?<=---)[ \t]+(?=\S)|(?:\s*\n)?")


def _without_blank_lines(text: str, document: Span) -> tuple[int, int]:
    """Return where the lines of a document begin and end; one may begin on its separator's line."""
    lead = _LEAD.match(text, document.start, document.end)
    last = document.start + len(document.text.rstrip())
    return lead.end() if lead else document.start, text.find("\n", last) + 1 or document.end


def _resources_in(document: str) -> list[_Found]:
    """Return the resources of one document."""
    head = usual_head(document)
    if head is not None:
        identity = read_identity(head)
        # An empty value may go on in the next line, which only the parser sees.
        if not (identity.kind or "").endswith("List") and "" not in identity:
            return [_Found(identity, 0, 0)]
    try:
        root = parse_nodes(document)
        if root is not None:
            return _resources_of(root, document) or [_Found(_identity(root, document), 0, 0)]
    except ValueError:
        pass  # it is not YAML, or a template
    return _branches(document)


def _identity(root: yaml.Node, text: str) -> Identity:
    """Return what a parsed document says; a `ValueError` where a value is a Helm expression."""
    own = entries(root)
    children = entries(own.get("metadata"))
    nodes = [own.get("kind"), children.get("name"), children.get("namespace")]
    nodes.append(own.get("apiVersion"))
    for node in nodes:
        if isinstance(node, yaml.MappingNode) and text.startswith("{{", node.start_mark.index):
            raise ValueError("a template, which happens to be a mapping in a mapping")
    return Identity(*(one.value if isinstance(one, yaml.ScalarNode) else None for one in nodes))


def _resources_of(root: yaml.Node, source: str) -> list[_Found]:
    """Return a parsed resource, or the items of a List; an alias belongs to the item before it.

    Lists in Lists are opened. An item begins with the comments above it.
    """
    found: list[_Found] = []
    waiting = [(root, Identity())]
    last, end = -1, 0
    while waiting:
        node, of_list = waiting.pop()
        at = node.start_mark.index
        if at <= last:
            continue  # an alias to what was before, or to what it is in
        last = at
        identity = _identity(node, source)
        if identity.kind is None:
            identity = identity._replace(kind=of_list.kind)
        if identity.api_version is None:
            identity = identity._replace(api_version=of_list.api_version)
        if items := _items(node, identity):
            of_items = Identity()
            if identity.kind != "List":
                of_items = identity._replace(kind=(identity.kind or "").removesuffix("List"))
            waiting += [(item, of_items) for item in reversed(items)]
            continue
        start = source.rfind("\n", 0, at) + 1
        if source[start:at].strip(" -"):
            start = at  # in flow style, another item is on the same line
        elif found:
            start = _with_comments(source, start, end)
        end = _end_of(node)
        found.append(_Found(identity, start, at))
    return found


def _items(node: yaml.Node, identity: Identity) -> list[yaml.Node]:
    """Return the items of a List, or of a RoleList and the like; none of anything else."""
    items = entries(node).get("items")
    if not isinstance(items, yaml.SequenceNode) or not (identity.kind or "").endswith("List"):
        return []
    are_resources = all("metadata" in entries(item) for item in items.value)
    return list(items.value) if identity.kind == "List" or are_resources else []


def _end_of(node: yaml.Node) -> int:
    """Return where the last scalar in a node ends; what follows are comments."""
    while isinstance(node, yaml.CollectionNode) and node.value:
        last = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
        if last.start_mark.index <= node.start_mark.index:
            break  # an alias to what is elsewhere, or to what it is in
        node = last
    return node.end_mark.index


def _with_comments(source: str, start: int, floor: int) -> int:
    """Return where the comment lines directly above an offset begin; never before `floor`."""
    while start > floor:
        above = source.rfind("\n", 0, start - 1) + 1
        if above < floor or not source[above:start].lstrip().startswith("#"):
            break
        start = above
    return start


def _branches(document: str) -> list[_Found]:
    """Return the resources of a text that no parser accepts, read line by line.

    The least indented keys are a resource's own. Where `apiVersion` or `kind` comes again after
    other keys, another resource begins (a branch of a template, or a separator is missing), with
    the comments and template lines right above it.
    """
    lines = document.split("\n")
    keys = filter(None, map(read_key, lines))
    column = min((key.column for key in keys), default=0)
    who = {"apiVersion", "kind"}
    starts = [0]
    seen: set[str] = set()  # the keys of the present resource so far
    at = above = 0  # where the line begins, and the comments above it
    for line in lines:
        key = read_key(line[column:])
        if key and key.column == 0:
            if key.name in who & seen and seen - who:
                starts.append(above)
                seen = set()
            seen.add(key.name)
        at += len(line) + 1
        if not line.lstrip().startswith(("#", "{{")):
            above = at
    found: list[_Found] = []
    for start, end in zip(starts, [*starts[1:], len(document)], strict=True):
        own = "\n".join(line[column:] for line in document[start:end].split("\n"))
        # The end of a quoted value may be on another line.
        values = (value and value.lstrip("\"'") for value in read_identity(own))
        found.append(_Found(Identity(*values), start, start))
    return found
