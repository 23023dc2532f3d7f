"""Kubernetes manifests: a YAML stream goes in, one span for each resource comes out.

A span says who the resource is and where it lies, and copies nothing. Most documents are read by
looking at the lines that begin at column 0; a parser is asked only about the odd ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from course_lib.loader.resource_identity import (
    Identity,
    is_template,
    read_node,
    read_plainly,
    read_roughly,
)
from course_lib.loader.yaml_documents import YamlDocument, find_documents
from course_lib.loader.yaml_nodes import Node, parse_nodes


@dataclass(frozen=True, slots=True)
class ResourceSpan:
    """A resource, and where it lies in the text.

    Attributes
    ----------
    kind, name, namespace, api_version
        As written (``name: 123`` is ``"123"``, a key without a value ``""``); None where the
        document has no such key or its value is no scalar. `name` and `namespace` are those of
        `metadata`.
    start, end
        ``text[start:end]`` are its lines, with the comments above it.
    line_start, line_end
        Its first and last line, counted from 1.
    body
        Where the resource itself begins: behind comments, and in a List behind the item's dash.
    """

    kind: str | None
    name: str | None
    namespace: str | None
    api_version: str | None
    start: int
    end: int
    line_start: int
    line_end: int
    body: int


def split_resources(text: str) -> list[ResourceSpan]:
    r"""Find the resources of a YAML stream.

    Every document that is not empty gives a span, whatever it holds. A ``kind: List`` gives one for
    each of its items instead: the lines of the List itself belong to the item behind them (those at
    its end to the last), so that no line is lost. Nothing is raised for text that is no YAML.

    Parameters
    ----------
    text
        One file, of any number of documents.

    Returns
    -------
    list of ResourceSpan
        In order, not overlapping.

    Examples
    --------
    >>> stream = "kind: A\nmetadata: {name: one}\n---\n# two\nkind: B\nmetadata:\n  name: two\n"
    >>> [(span.kind, span.name, span.line_start, span.line_end) for span in split_resources(stream)]
    [('A', 'one', 1, 2), ('B', 'two', 4, 7)]
    """
    spans: list[ResourceSpan] = []
    line, counted = 1, 0
    for document in find_documents(text):
        for identity, start, end, body in identify(text, document):
            if start > counted:
                line += _breaks(text, counted, start, document.unusual)
            behind = line + _breaks(text, start, end, document.unusual)
            # The last line's own break, if it has one, ends it and begins no other.
            last = behind - 1 if text[end - 1] in _BREAKS and behind > line else behind
            spans.append(ResourceSpan(*identity, start, end, line, last, body))
            line, counted = behind, end
    return spans


def identify(text: str, document: YamlDocument) -> list[tuple[Identity, int, int, int]]:
    """Return the identity, start, end and body of each resource in one document of a stream."""
    identity = None if document.unusual else read_plainly(text, document)
    if identity is not None:
        return [(identity, document.start, document.end, document.content)]
    source = text[document.source : document.end]
    try:
        root = None if is_template(text, document) else parse_nodes(source)
        if root is not None:
            identity = read_node(root, source)
            if identity.kind != "List":
                return [(identity, document.start, document.end, document.content)]
            items = _items(root, source) or [(identity, 0, document.content - document.source)]
            return _partition(document, document.source, items)
    except ValueError:
        pass
    rough = read_roughly(text[document.content : document.end])
    return _partition(document, document.content, [(who, at, at) for who, at in rough])


def _items(root: Node, source: str) -> list[tuple[Identity, int, int]]:
    """Return the identity, the first offset and the body of each item, Lists in Lists opened."""
    found: list[tuple[Identity, int, int]] = []
    waiting = [root]
    last = -1
    while waiting:
        node = waiting.pop()
        if node.start <= last:
            return []  # an alias to what stands elsewhere, or to what it stands in
        last = node.start
        identity = read_node(node, source)
        items = node.entries().get("items") if identity.kind == "List" else None
        if items is not None and items.kind == "sequence" and items.children:
            waiting += reversed(items.children)
            continue
        found.append((identity, _item_start(source, node.start), node.start))
    return found


def _item_start(source: str, body: int) -> int:
    """Return where the line of an item's dash begins, or the item where there is none."""
    at = body
    while at and source[at - 1] in " -":
        at -= 1
    dashed = source[at:body].lstrip().startswith("-")
    return at if dashed and (at == 0 or source[at - 1] in "\r\n\x85\u2028\u2029") else body


def _partition(
    document: YamlDocument, offset: int, items: list[tuple[Identity, int, int]]
) -> list[tuple[Identity, int, int, int]]:
    """Share a document out: what lies between two items belongs to the second one."""
    starts = [document.start, *(offset + start for _, start, _ in items[1:])]
    ends = [*starts[1:], document.end]
    return [
        (identity, start, end, offset + body)
        for (identity, _, body), start, end in zip(items, starts, ends, strict=True)
    ]


_BREAKS = "\r\n\x85\u2028\u2029"


def _breaks(text: str, start: int, end: int, unusual: bool) -> int:
    count = text.count("\n", start, end)
    if unusual:
        count += text.count("\r", start, end) - text.count("\r\n", start, end)
        count += sum(text.count(mark, start, end) for mark in "\x85\u2028\u2029")
    return count
