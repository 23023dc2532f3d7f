"""A YAML document as a tree of light nodes: what a parser says, with scalars as they are written.

It is built from the events of libyaml (through PyYAML), which nest to any depth without recursion.
Unlike PyYAML's own nodes these know where an alias is, and repeated keys are not an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BRACKETS = re.compile(r"[\[\]{}]")
_DEEPEST = 1000  # libyaml takes the square of this in time


@dataclass(slots=True, eq=False)
class Node:
    """A scalar, a sequence or a mapping.

    Attributes
    ----------
    kind
        ``scalar``, ``sequence`` or ``mapping``.
    start, end
        Offsets in the text that was parsed; of an alias, where the alias is.
    value
        A scalar's text, unescaped and unfolded but not resolved: ``on`` stays ``on``.
    children
        The items of a sequence; the keys and values of a mapping in turn.
    plain
        Whether a scalar is without quotes, tag or block indicator.
    """

    kind: str
    start: int
    end: int
    value: str = ""
    children: list[Node] = field(default_factory=list)
    plain: bool = False

    def entries(self) -> dict[str, Node]:
        """Return a mapping's values by their scalar keys: the last of equal keys, merges last.

        Anything but a mapping has none.
        """
        found: dict[str, Node] = {}
        merged: list[Node] = []
        for key, value in self._pairs():
            found[key.value] = value
            if key.value == "<<" and key.plain:
                merged += value.children if value.kind == "sequence" else [value]
        for source in merged:
            for key, value in source._pairs():
                found.setdefault(key.value, value)
        return found

    def _pairs(self) -> list[tuple[Node, Node]]:
        if self.kind != "mapping":
            return []
        pairs = zip(self.children[::2], self.children[1::2], strict=True)
        return [(key, value) for key, value in pairs if key.kind == "scalar"]


def parse_nodes(text: str) -> Node | None:
    r"""Parse a text of one document; None where there is none.

    Raises
    ------
    ValueError
        If the parser does not accept it.

    Examples
    --------
    >>> parse_nodes("a: &x 1\nb: *x\n").entries()["b"]
    Node(kind='scalar', start=11, end=13, value='1', children=[], plain=True)
    """
    if _flow_depth(text) > _DEEPEST:
        raise ValueError(f"flow collections nest deeper than {_DEEPEST}")
    open_nodes: list[Node] = []
    anchors: dict[str, Node] = {}
    root: Node | None = None
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
                open_nodes.pop().end = _index(event.end_mark)
                continue
            node = _node(event, anchors)
            if node is None:
                continue
            if open_nodes:
                open_nodes[-1].children.append(node)
            elif root is None:
                root = node
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append(node)
    except (yaml.YAMLError, UnicodeError) as error:
        raise ValueError(f"no parser accepts it: {error}") from error
    return root


def _flow_depth(text: str) -> int:
    """Return how deep brackets nest, counting those in strings as well."""
    if text.count("[") + text.count("{") <= _DEEPEST:
        return 0
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _node(event: Any, anchors: dict[str, Node]) -> Node | None:
    start, end = _index(event.start_mark), _index(event.end_mark)
    if isinstance(event, yaml.AliasEvent):
        meant = anchors.get(event.anchor or "")
        if meant is None:
            raise ValueError(f"no anchor is called {event.anchor}")
        return Node(meant.kind, start, end, meant.value, meant.children, meant.plain)
    if isinstance(event, yaml.ScalarEvent):
        node = Node("scalar", start, end, event.value, plain=bool(event.implicit[0]))
    elif isinstance(event, yaml.MappingStartEvent):
        node = Node("mapping", start, end)
    elif isinstance(event, yaml.SequenceStartEvent):
        node = Node("sequence", start, end)
    else:
        return None
    if event.anchor is not None:
        anchors[event.anchor] = node
    return node


def _index(mark: Any) -> int:
    return int(mark.index)
