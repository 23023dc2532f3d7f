"""What the lab about manifests needs around its exercises: keys, lines with depths, a parser.

It gives plain values, so that the lab's own cells hold the decisions that it is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from os.path import commonprefix
from typing import NamedTuple

from course_lib.loader.resource_identity import Identity
from course_lib.loader.yaml_outline import outline, path

_KEY = re.compile(r"( *)([\w./-]+):(?:\s+(.*))?")


class Key(NamedTuple):
    """A line that says ``name: value``, and the column in which the name begins."""

    column: int
    name: str
    value: str


class Line(NamedTuple):
    """A line of a manifest that opens a key or a list item.

    Attributes
    ----------
    start
        The offset at which it begins, with the comments above it.
    depth
        Twice its column, and one more for a list item; -1 for the end of the text.
    first
        Whether it is the first one inside the block that the line above opens.
    path
        Where it lies in the resource: ``spec.containers[0].image``.
    """

    start: int
    depth: int
    first: bool
    path: str


def read_key(line: str) -> Key | None:
    """Return the key that a line opens, or None where it opens none (an item, a comment, text).

    The value comes without its quotes and without a comment behind it; it is empty where the line
    ends with the colon.

    Examples
    --------
    >>> read_key('  name: "web"  # in front')
    Key(column=2, name='name', value='web')
    >>> read_key("metadata:"), read_key("- name: web"), read_key("# name: web")
    (Key(column=0, name='metadata', value=''), None, None)
    """
    found = _KEY.fullmatch(line.rstrip())
    if found is None:
        return None
    value = (found[3] or "").strip()
    if value[:1] in ('"', "'") and (closing := value.find(value[0], 1)) > 0:
        return Key(len(found[1]), found[2], value[1:closing])
    return Key(len(found[1]), found[2], re.sub(r"(?:^|\s)#.*", "", value).strip())


def lines_of(text: str, start: int, end: int) -> list[Line]:
    r"""Return the lines of a resource that open keys or items, and one for its end.

    Parameters
    ----------
    text
        The whole file.
    start, end
        Where the resource lies in it. The first line begins at `start`, whatever stands there.

    Examples
    --------
    >>> lines = lines_of("list:\n- a: 1\n  b: 2\n", 0, 19)
    >>> [(line.start, line.depth, line.first, line.path) for line in lines[:2]]
    [(0, 0, False, 'list'), (6, 1, True, 'list[0].a')]
    >>> [(line.start, line.depth, line.first, line.path) for line in lines[2:]]
    [(13, 4, False, 'list[0].b'), (19, -1, False, '')]
    """
    entries = outline(text, [(start, end)], start)
    lines: list[Line] = []
    for index, entry in enumerate(entries):
        if lines and lines[-1].start == entry.start:  # the key behind a dash
            lines[-1] = lines[-1]._replace(path=path(entries, index))
            continue
        first = index > 0 and entry.parent == index - 1
        lines.append(Line(entry.start, entry.level, first, path(entries, index)))
    begin = lines[0]._replace(start=start) if lines else Line(start, 0, False, "")
    return [begin, *lines[1:], Line(end, -1, False, "")]


def shared_path(lines: Sequence[Line]) -> str:
    """Return the longest path that all lines lie in.

    Examples
    --------
    >>> shared_path([Line(0, 5, True, "spec.list[0].a"), Line(9, 8, False, "spec.list[0].bc")])
    'spec.list[0]'
    """
    one, other = (extreme(line.path for line in lines) for extreme in (min, max))
    common = commonprefix((one, other))
    if all(whole[len(common) : len(common) + 1] in ("", ".", "[") for whole in (one, other)):
        return common
    return common[: max(common.rfind("."), common.rfind("["), 0)]


def parsed_identity(document: str) -> Identity | None:
    """Return what PyYAML says that a document is, each value as written; None where it refuses.

    Parameters
    ----------
    document
        One document, without a separator.
    """
    import yaml

    try:
        root = yaml.compose(document, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return None

    def get(node: yaml.Node | None, key: str) -> yaml.Node | None:
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        return next((value for name, value in pairs if name.value == key), None)

    def scalar(node: yaml.Node | None) -> str | None:
        return str(node.value) if isinstance(node, yaml.ScalarNode) else None

    metadata = get(root, "metadata")
    return Identity(
        scalar(get(root, "kind")),
        scalar(get(metadata, "name")),
        scalar(get(metadata, "namespace")),
        scalar(get(root, "apiVersion")),
    )
