"""Records that need no validation, and what is said about records in plain Python.

A search takes a question and gives results: it uses this module, and not pydantic.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

PARTITIONS = ("documentation", "issues", "code_manifests", "code_pipelines", "code_notebooks")
"""The partitions that have a table of their own; any other name goes to the default one."""

KEBAB = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""What the name of a tenant looks like."""

KEBAB_LENGTH = 63

SEMVER = r"^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$"
"""What the version of a parser looks like."""

Visibility = Literal["private", "public"]


class Span(NamedTuple):
    """A piece of a text, and where it lies: ``text == source[start:end]``.

    Offsets count characters (code points), not bytes.
    """

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """One source file as it was read.

    Attributes
    ----------
    path
        Where it was read from.
    name
        Its path relative to the root that was read, with forward slashes: its identity.
    content
        The text, without a byte order mark; line endings as they are in the file.
    metadata
        `extension` (with the dot), `size` (bytes in the file) and `relative_path`.
    """

    path: Path
    name: str
    content: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One row of a search.

    `similarity_score` is always the cosine similarity (−1 … 1); `score` is what the results are
    ordered by and is the mode's own (cosine here). `metadata` holds the chunk's `customMeta`, its
    lines and its parser.
    """

    chunk_id: str
    document_name: str
    chunk_index: int
    content: str
    similarity_score: float
    score: float
    partition: str
    repo_slug: str
    branch: str
    kind: str
    name: str
    namespace: str | None = None
    citation_url: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def check_source_path(path: str) -> str:
    """Return the path as it is, if it stays below its root.

    Raises
    ------
    ValueError
        If it is empty or absolute, leads upwards, or has backslashes.
    """
    if not path or path.startswith("/") or "\\" in path or ".." in path.split("/"):
        raise ValueError("must be relative to the root, with forward slashes and without '..'")
    return path


def embedded_text(content: str, header: object = None) -> str:
    r"""Return what is encoded of a piece: its content, under its header where it has one.

    Examples
    --------
    >>> embedded_text("    pass", "def f():\n"), embedded_text("Hello.")
    ('def f():\n    pass', 'Hello.')
    """
    if not isinstance(header, str) or not header:
        return content
    return header.rstrip("\n") + "\n" + content
