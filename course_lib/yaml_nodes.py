"""A YAML document as libyaml's tree of nodes (through PyYAML), with scalars as they are written.

A node's `start_mark.index` is its offset in the text; an alias is the node of its anchor.
"""

from __future__ import annotations

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST = 1_024  # libyaml takes the square of this in time


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
    return next(iter(parse_documents(text)), None)


def parse_documents(text: str) -> list[yaml.Node]:
    """Parse a text and return the node of each of its documents; see `parse_nodes`."""
    depth = 0
    try:
        # Composing calls itself at each level, and at many thousands it would end the process.
        for event in yaml.parse(text, Loader=_LOADER):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise ValueError("it nests too deep")
        return list(yaml.compose_all(text, Loader=_LOADER))
    except (yaml.YAMLError, UnicodeError) as error:
        raise ValueError(str(error)) from error


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
