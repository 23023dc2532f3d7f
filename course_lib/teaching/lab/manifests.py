"""The lab about manifests: what a parser says that a document is, and headers for naive cuts."""

from __future__ import annotations

from collections.abc import Iterable

from course_lib.loader.kubernetes import split_stream
from course_lib.loader.resource_identity import Identity, read_identity


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


def short_header(identity: Identity, name: str) -> str:
    r"""Return two lines: the kind and name of a resource, and the file's name.

    Examples
    --------
    >>> short_header(Identity("Pod", "web", None, "v1"), "w.yaml")
    '# Pod web\n# w.yaml\n'
    """
    return f"# {' '.join(filter(None, (identity.kind, identity.name)))}\n# {name}\n"


def headers_above(pieces: Iterable[str], name: str) -> list[tuple[str, str]]:
    r"""Return each piece of a file, and the piece below the `short_header` of its resource.

    It is the resource in which the piece begins.

    Parameters
    ----------
    pieces
        All pieces of the file, in order.
    name
        The file's name.

    Examples
    --------
    >>> headers_above(["kind: Pod\nmetadata:\n  name: web\n", "spec: {}\n"], "w.yaml")[1]
    ('spec: {}\n', '# Pod web\n# w.yaml\nspec: {}\n')
    """
    parts = list(pieces)
    spans = list(split_stream("".join(parts)))
    pairs, start = [], 0
    for piece in parts:
        begun = [span for span in spans if span.start <= start] or spans[:1]
        found = read_identity(begun[-1].text) if begun else Identity(None, None, None, None)
        pairs.append((piece, short_header(found, name) + piece))
        start += len(piece)
    return pairs
