"""The referee of the lab about manifests: what a parser says that a document is."""

from __future__ import annotations

from course_lib.loader.resource_identity import Identity


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
