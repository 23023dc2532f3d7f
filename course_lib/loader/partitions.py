"""Partitions: where in the index each file of a repository belongs, by its kind."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import TypeVar

from course_lib.records import Document, SourceDocument

ISSUES = "issues"
CODE = "code_pipelines"
"""Where code goes that is neither a manifest nor a notebook nor prose."""

_KINDS = {
    ".yaml": "code_manifests",
    ".yml": "code_manifests",
    ".json": "code_manifests",
    ".tpl": "code_manifests",
    ".ipynb": "code_notebooks",
    ".md": "documentation",
    ".txt": "documentation",
    ".rst": "documentation",
    ".adoc": "documentation",
}
BY_KIND = (*dict.fromkeys(_KINDS.values()), CODE)
"""The partitions that the files of a repository are spread over by their kinds."""


Some = TypeVar("Some", Document, SourceDocument)


def partition_of(path: str) -> str:
    """Return the partition that a file belongs to by its kind.

    Examples
    --------
    >>> partition_of("apps/a.yaml"), partition_of("heron/cli.py"), partition_of("README.md")
    ('code_manifests', 'code_pipelines', 'documentation')
    """
    name = PurePosixPath(path.lower())
    return "code_manifests" if name.name == "kustomization" else _KINDS.get(name.suffix, CODE)


def spread(documents: Iterable[Some], partition: str | None = None) -> dict[str, list[Some]]:
    """Return partition → documents: the one that is named, or else that of each file's kind.

    The latter are all of `BY_KIND`, also those that none of the documents belongs to any more.

    Examples
    --------
    >>> from pathlib import Path
    >>> found = spread([Path("a.md"), Path("b.py")])
    >>> {name: [str(file) for file in files] for name, files in found.items() if files}
    {'documentation': ['a.md'], 'code_pipelines': ['b.py']}
    """
    if partition:
        return {partition: list(documents)}
    found: dict[str, list[Some]] = {name: [] for name in BY_KIND}
    for document in documents:
        found[partition_of(document.name)].append(document)
    return found
