"""The referee of the lab about manifests: what a parser says of a document, and what is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from course_lib.evaluation import Question
from course_lib.loader.resource_identity import Identity

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Passage(NamedTuple):
    """A piece of a file: what a reader gets of it, and what is embedded."""

    document_name: str
    content: str
    text: str


Split = Callable[[str, str], Iterable[tuple[str, str]]]
"""Takes a file's name and text; returns what a reader gets and what is embedded, in pairs."""


def passages_of(split: Split, files: Mapping[str, str]) -> list[Passage]:
    """Return the pieces of all files.

    Examples
    --------
    >>> passages_of(lambda name, text: [(text, f"# {name}: {text}")], {"a.yaml": "a: 1"})
    [Passage(document_name='a.yaml', content='a: 1', text='# a.yaml: a: 1')]
    """
    return [Passage(name, *pair) for name, text in files.items() for pair in split(name, text)]


def search_in(
    passages: Sequence[Passage], encode: Callable[[Sequence[str]], npt.NDArray[np.float32]]
) -> Callable[[str], list[Passage]]:
    """Return a search that puts all passages in order, the most similar first.

    Parameters
    ----------
    passages
        What is searched.
    encode
        Texts → unit vectors, such as ``lab.encode``.
    """
    vectors = encode([passage.text for passage in passages])

    def search(question: str) -> list[Passage]:
        scores = vectors @ encode([question])[0]
        return [passages[at] for at in (-scores).argsort(kind="stable")]

    return search


def count_owned(passages: Sequence[Passage], questions: Iterable[Question]) -> int:
    """Return how many questions have a passage with the answer and its resource's kind and name."""
    return sum(
        any(
            asked.names_owner(one.text) and asked.is_answered_by(one.document_name, one.content)
            for one in passages
        )
        for asked in questions
    )


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
