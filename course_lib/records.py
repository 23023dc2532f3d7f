"""The records that flow through the course: Document → Span → Chunk → SearchResult.

`Chunk` is *parsed-chunk-v1*, the contract between every splitter and everything after it: what is
not in the model is rejected, so that a misspelt field is an error on the day it is written and not
a silent gap in an index.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

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


Kebab = Annotated[str, StringConstraints(pattern=KEBAB, max_length=KEBAB_LENGTH)]
NonEmpty = Annotated[str, StringConstraints(min_length=1)]
SemVer = Annotated[str, StringConstraints(pattern=SEMVER)]


class Chunk(BaseModel):
    """parsed-chunk-v1: one piece of a source, ready to be embedded and stored.

    Attributes are snake case in Python and camelCase in JSON (`line_start` and `line_end` are the
    same in both). Raises `pydantic.ValidationError` for a record that breaks the contract.

    Examples
    --------
    >>> chunk = Chunk(
    ...     tenant_id="local", repo_slug="docs", root_kind="external-source", source_path="a.md",
    ...     content="Hello.", hash_inputs=["content"], parser_id="markdown", parser_version="1.0.0",
    ...     kind="doc-section", name="Greeting",
    ... )
    >>> Chunk.model_validate_json(chunk.to_json()) == chunk
    True
    """

    model_config = ConfigDict(
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        frozen=True,
    )

    schema_version: Literal["1.0.0"] = "1.0.0"
    tenant_id: Kebab
    repo_slug: NonEmpty
    root_kind: Literal["neo-workspace", "bare-repo", "external-source"]
    source_path: NonEmpty
    content: NonEmpty
    hash_inputs: list[NonEmpty]
    parser_id: NonEmpty
    parser_version: SemVer
    kind: NonEmpty
    name: str
    line_start: int | None = Field(default=None, ge=1, alias="line_start")
    line_end: int | None = Field(default=None, ge=1, alias="line_end")
    class_name: str | None = None
    extends: str | None = None
    custom_meta: dict[str, JsonValue] = Field(default_factory=dict)

    @field_validator("source_path")
    @classmethod
    def _stays_below_the_root(cls, value: str) -> str:
        return check_source_path(value)

    @field_validator("hash_inputs")
    @classmethod
    def _hashes_the_content(cls, value: list[str]) -> list[str]:
        if "content" not in value:
            raise ValueError("must include 'content'")
        return value

    @model_validator(mode="after")
    def _lines_in_order(self) -> Self:
        if (
            self.line_start is not None
            and self.line_end is not None
            and self.line_end < self.line_start
        ):
            raise ValueError(f"line_end {self.line_end} lies before line_start {self.line_start}")
        return self

    @property
    def embedded_text(self) -> str:
        """What is encoded: the content, under the header that its parser gave it.

        The header is ``custom_meta["header"]``: the context that the piece was cut out of.
        """
        return embedded_text(self.content, self.custom_meta.get("header"))

    def to_json(self) -> str:
        """Return the record as one line of JSON, camelCase, without the fields that are unset."""
        return self.model_dump_json(by_alias=True, exclude_none=True)


def content_hash(chunk: Chunk) -> str:
    """Return the SHA-256 of what a record's `hash_inputs` name, in hexadecimal.

    The values are those of ``tenantId``, ``repoSlug`` and the named fields, in this order; the
    names are those in JSON, as in `chunk.to_json()`. A value that is no string counts as its
    `canonical` JSON. A field that is unset, and so not in the JSON, counts as an empty text. Each
    value is encoded as UTF-8 and preceded by the number of its bytes and a colon.

    Parameters
    ----------
    chunk
        A Chunk.

    Returns
    -------
    str
        64 hexadecimal digits.

    Examples
    --------
    >>> chunk = Chunk(
    ...     tenant_id="local", repo_slug="docs", root_kind="external-source", source_path="a.md",
    ...     content="Hello.", hash_inputs=["content"], parser_id="markdown",
    ...     parser_version="1.0.0", kind="doc-section", name="Greeting",
    ... )
    >>> content_hash(chunk) == hashlib.sha256(b"5:local4:docs6:Hello.").hexdigest()
    True
    """
    record = json.loads(chunk.to_json())
    digest = hashlib.sha256()
    for name in ["tenantId", "repoSlug", *chunk.hash_inputs]:
        value = record.get(name, "")
        raw = (value if isinstance(value, str) else canonical(value)).encode()
        digest.update(f"{len(raw)}:".encode() + raw)
    return digest.hexdigest()


def canonical(value: object) -> str:
    """Return a value as JSON that is the same for equal values: keys in order, no blanks.

    Examples
    --------
    >>> canonical({"b": 1, "a": "ü"})
    '{"a":"ü","b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


class Scope(BaseModel):
    """Whose content is worked on, as the server knows it; what a record claims does not count.

    Attributes
    ----------
    tenant, repo
        They replace the `tenantId` and `repoSlug` of every record.
    branch
        Which version of the repository; a record's `customMeta.branch` goes before it.
    partition
        One of `PARTITIONS`, or a name of your own. None leaves it to the kind of what is read: the
        files of a repository are spread, and anything else is `documentation`.
    visibility
        Of the whole repository: ``private`` to the tenant, or ``public`` to all tenants, who can
        read it and not change it.

    Examples
    --------
    >>> Scope(tenant="acme", repo="platform").visibility
    'private'
    >>> Scope(repo="platform", branch="main").key
    ('documentation', 'local', 'platform', 'main')
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    tenant: Kebab = "local"
    repo: NonEmpty = "documents"
    branch: str = ""
    partition: str | None = None
    visibility: Visibility = "private"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The four columns that rows of this scope share: what is planned and removed together."""
        partition = PARTITIONS[0] if self.partition is None else self.partition
        return (partition, self.tenant, self.repo, self.branch)

    def within(self, **changes: str) -> Scope:
        """Return the same scope with other values, such as another partition."""
        return self.model_copy(update=changes)


LOCAL = Scope()
"""Whose content it is where nothing else is said: this machine's tenant, and no version."""


def explain(error: ValidationError) -> str:
    """Return what is wrong with a record, in one line: the first three fields and why.

    Examples
    --------
    >>> try:
    ...     Chunk.model_validate({"kind": ""})
    ... except ValidationError as error:
    ...     print(explain(error)[:45])
    tenantId: Field required; repoSlug: Field req
    """
    return "; ".join(
        f"{'.'.join(map(str, item['loc'])) or 'record'}: {item['msg']}"
        for item in error.errors()[:3]
    )
