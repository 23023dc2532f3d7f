"""The lab about manifests: what a parser says that a document is, and headers for naive cuts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from course_lib.loader.kubernetes import split_stream
from course_lib.loader.resource_identity import Identity, read_identity
from course_lib.teaching.lab.retrieval import FilePiece


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


def with_headers(
    files: Mapping[str, str], cut: Mapping[str, Iterable[Any]]
) -> dict[str, list[FilePiece]]:
    r"""Return the pieces of all files three times: without a header, with a short and a full one.

    The short one is the `short_header` of the resource in which a piece begins.

    Parameters
    ----------
    files
        Name → text.
    cut
        Name → pieces with `start` and `end`. The full header is a piece's own `header`, if any.

    Examples
    --------
    >>> from types import SimpleNamespace as Piece
    >>> text = "kind: Pod\nmetadata:\n  name: web\n"
    >>> pieces = with_headers({"w.yaml": text}, {"w.yaml": [Piece(start=10, end=19)]})
    >>> [pieces[header][0].text for header in ("none", "short", "full")]
    ['metadata:', '# Pod web\n# w.yaml\nmetadata:', 'metadata:']
    """
    found: dict[str, list[FilePiece]] = {"none": [], "short": [], "full": []}
    for name, pieces in cut.items():
        spans = split_stream(files[name])
        for piece in pieces:
            content = files[name][piece.start : piece.end]
            begun = [span for span in spans if span.start <= piece.start] or spans[:1]
            identity = read_identity(begun[-1].text) if begun else Identity()
            headers = "", short_header(identity, name), getattr(piece, "header", "")
            for each, header in zip(found.values(), headers, strict=True):
                each.append(FilePiece(name, content, header + content))
    return found
