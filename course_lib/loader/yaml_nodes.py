"""A YAML document as libyaml's tree of nodes (through PyYAML), with scalars as they are written.

A node's `start_mark.index` is its offset in the text; an alias is the node of its anchor.
"""

from __future__ import annotations

import re

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BRACKETS = re.compile(r"[\[\]{}]")
_DEEPEST = 1000  # libyaml takes the square of this in time
_INDICATORS = re.compile(r"^[ \t?:-]{2000}", re.MULTILINE)
"""How a line begins that nests deeper than the stack of the process: `- - - - …`."""


def parse_nodes(text: str) -> yaml.Node | None:
    r"""Parse a text and return the node of its first document; None where there is none.

    Raises
    ------
    ValueError
        If the parser does not accept it, or it nests too deep.

    Examples
    --------
    >>> node = entries(parse_nodes("a: &x 1\nb: *x\n"))["b"]
    >>> node.value, node.start_mark.index
    ('1', 3)
    """
    if _flow_depth(text) > _DEEPEST or _INDICATORS.search(text):
        raise ValueError("it nests too deep")
    try:
        return next(iter(list(yaml.compose_all(text, Loader=_LOADER))), None)
    except (yaml.YAMLError, UnicodeError) as error:
        raise ValueError(f"no parser accepts it: {error}") from error


def entries(node: yaml.Node | None) -> dict[str, yaml.Node]:
    """Return a mapping's values by their scalar keys: the last of equal keys, merges last.

    Anything but a mapping has none.
    """
    found = dict(_pairs(node))
    for key, value in _pairs(node):
        if key == "<<":
            for source in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                found = dict(_pairs(source)) | found
    return found


def _pairs(node: yaml.Node | None) -> list[tuple[str, yaml.Node]]:
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return [(key.value, value) for key, value in pairs if isinstance(key, yaml.ScalarNode)]


def _flow_depth(text: str) -> int:
    """Return how deep brackets nest, counting those in strings as well."""
    if text.count("[") + text.count("{") <= _DEEPEST:
        return 0
    depth = deepest = 0
    for bracket in _BRACKETS.findall(text):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest
