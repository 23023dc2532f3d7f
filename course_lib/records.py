"""The records that flow through the course: Document → Span → Chunk, and Query → SearchResult.

`Chunk` is *parsed-chunk-v1*, the contract between every splitter and everything after it: what is
not in the model is rejected, so that a misspelt field is an error on the day it is written and not
a silent gap in an index.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import KW_ONLY, asdict, dataclass, field, fields
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

from course_lib.errors import InputError

PARTITIONS = ("documentation", "issues", "code_manifests", "code_pipelines", "code_notebooks")
"""The partitions that have a table of their own; any other name goes to the default one.

`code_manifests`, `code_pipelines` and `code_notebooks` are for the repositories kubeflow/manifests,
kubeflow/pipelines and kubeflow/notebooks.
"""

KEBAB = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""What the name of a tenant looks like."""

KEBAB_LENGTH = 63

MOST_NAME_BYTES = 250
"""Bytes in the name of a repository, a branch or a kind, at most: it is in an index."""

_NUMBER = "(0|[1-9][0-9]*)"
_BUILD = "[0-9A-Za-z-]+"
_EARLY = "(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
SEMVER = (
    rf"^{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
    rf"(-{_EARLY}(\.{_EARLY})*)?(\+{_BUILD}(\.{_BUILD})*)?$"
)
"""What the version of a parser looks like: no number begins with a zero, no part is empty."""

Visibility = Literal["private", "public"]
Mode = Literal["hybrid", "dense"]

DEPTH = 100
"""How many rows each of the two lists of a hybrid search holds, at least."""

RERANK_K = 15
"""How many of the first results a reranker reads, where nothing else is said."""

MOST_CHARACTERS = 2_000
"""Characters of a question whose words are looked up; the model reads no more than about 1,000."""

ROUNDING = 1e-6
"""What single precision may take from a result that is on the threshold itself."""


class Span(NamedTuple):
    """A piece of a text, and where it is: ``text == source[start:end]``.

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


def without_surrogates(text: str) -> str:
    """Return a text with ? for each half of a surrogate pair, which no text in UTF-8 has."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Report:
    """What a command found and did: a data class, which is also told as JSON."""

    __slots__ = ()

    def to_json(self) -> str:
        """Return the report as a JSON object."""
        return json.dumps(asdict(self), ensure_ascii=False)  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out, or a folder with a slash at the end of its name; and why.

    Examples
    --------
    >>> Skipped("a/", "cannot be read").covers("a/b.md"), Skipped("a", "is a pipe").covers("a/b.md")
    (True, False)
    """

    name: str
    reason: str

    def covers(self, name: str) -> bool:
        """Return whether this is the file of that name, or a folder that it is in."""
        return name == self.name or (self.name.endswith("/") and name.startswith(self.name))


MOST_RESULTS = 1_000_000
"""Of a search; PostgreSQL counts them in four bytes, and several times as many on the way."""


def filter_by(column: str, about: str = "") -> Any:
    """Return a field of `Query`: what a column of a row has to hold; None means anything.

    Parameters
    ----------
    column
        Of `document_chunks`.
    about
        What a person reads who may set it in a request; empty where a request cannot.
    """
    return field(default=None, metadata={"column": column, "about": about})


@dataclass(frozen=True)
class Query:
    """What is asked of the index: the words of a question, how many results, and which rows count.

    Attributes
    ----------
    question
        In any words; a hybrid search looks them up in the index of words.
    top_k
        How many results, at most; this many come back wherever that many qualify.
    threshold
        Smallest cosine similarity of a result, in either mode.
    mode
        ``"dense"`` ranks by the vector alone. ``"hybrid"`` fuses that ranking with one by words,
        which finds identifiers that a model has never read. None is hybrid where the words are
        given, for every corpus: in one index of the course's documents, manifests and code, its
        gain in MRR over dense is 0.12 [0.05, 0.19] for manifests and about 0.01 for documents and
        for code, with intervals that hold 0 (`tests/bench/README.md`).
    partitions, repo, branch, kind, namespace, document, tenant
        Only chunks with these values; None means any.
    rerank
        A CrossEncoder, by name or path, that orders the first results again, in `retrieve`. It
        reads each of them, which takes a few hundred milliseconds or more.
    rerank_k
        How many of the first results are ordered again; the others follow after them.
    ef_search
        Candidates that the walk through the HNSW graph keeps (1 … 1000): more find more
        and take longer. None is 100, or the square root of the rows where a partition has more
        than 10,000. Among up to 86,000 real pieces that finds 0.97 of the ten nearest and more
        (`tests/bench/README.md`); what it finds among many more was not measured.
    exact
        True looks at every row that passes the filters. Otherwise PostgreSQL weighs that against
        a walk through the index.

    Raises
    ------
    InputError
        If a value is out of its range.

    Examples
    --------
    >>> Query("Who may use PodDefault?", repo="platform", kind="Role").filters["repo_slug"]
    'platform'
    >>> Query(top_k=0)
    Traceback (most recent call last):
        ...
    course_lib.errors.InputError: top_k is 0
    Ask for 1 to 1,000,000 results.
    """

    question: str | None = None
    _: KW_ONLY
    top_k: int = 5
    threshold: float = 0.0
    mode: Mode | None = None
    partitions: Iterable[str] | str | None = filter_by("partition")
    repo: str | None = filter_by("repo_slug", "only this repository or corpus")
    branch: str | None = filter_by("branch", "only this version")
    kind: str | None = filter_by("kind", "only this kind, such as Deployment")
    namespace: str | None = filter_by("namespace", "only this Kubernetes namespace")
    document: str | None = filter_by("document_name")
    tenant: str | None = filter_by("tenant_id")
    rerank: str | None = None
    rerank_k: int = RERANK_K
    ef_search: int | None = None
    exact: bool = False

    def __post_init__(self) -> None:
        if self.partitions is not None:  # an iterable may be read only once
            is_one = isinstance(self.partitions, str)
            named = (self.partitions,) if is_one else tuple(self.partitions)
            object.__setattr__(self, "partitions", named)
        if not 1 <= self.top_k <= MOST_RESULTS:
            raise InputError(
                f"top_k is {self.top_k}", hint=f"Ask for 1 to {MOST_RESULTS:,} results."
            )
        if not -1 <= self.threshold <= 1:
            raise InputError(
                f"threshold is {self.threshold}", hint="A cosine similarity is between -1 and 1."
            )
        if self.mode not in (None, "hybrid", "dense"):
            raise InputError(f"there is no mode {self.mode!r}", hint="It is 'hybrid' or 'dense'.")
        if self.rerank_k < 1:
            raise InputError(f"rerank_k is {self.rerank_k}", hint="Re-order 1 result or more.")
        if self.ef_search is not None and not 1 <= self.ef_search <= 1000:
            raise InputError(f"ef_search is {self.ef_search}", hint="pgvector takes 1 to 1000.")

    @property
    def filters(self) -> dict[str, list[str] | str | None]:
        """What has to be in the columns of a row; None means anything."""
        given = {
            one.metadata["column"]: getattr(self, one.name) for one in fields(self) if one.metadata
        }
        return {name: list(one) if isinstance(one, tuple) else one for name, one in given.items()}

    @property
    def words(self) -> str | None:
        """The words that a hybrid search looks up; None for a dense one.

        Raises
        ------
        InputError
            If a hybrid search is asked for without a question.
        """
        if self.mode == "hybrid" and self.question is None:
            raise InputError(
                "a hybrid search needs the question's words",
                hint="Pass question=…, or use mode='dense'.",
            )
        if self.mode == "dense" or self.question is None:
            return None
        # What PostgreSQL cannot store is in no text that it has.
        readable = without_surrogates(self.question[:MOST_CHARACTERS])
        return readable.replace("\0", " ")

    @property
    def depth(self) -> int:
        """How many rows are looked for by meaning: those of a hybrid search are also fused."""
        return self.top_k if self.words is None else max(self.top_k, DEPTH)

    @property
    def least(self) -> float:
        """The threshold that a similarity in single precision is held to."""
        return self.threshold - ROUNDING


FILTERS = {one.name: one.metadata["about"] for one in fields(Query) if one.metadata.get("about")}
"""The fields of `Query` that a request may set to filter, besides partitions: name → what it is."""

ANYTHING = Query()
"""What is asked where nothing else is said: the five nearest of all rows."""


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
    tenant_id: str = field(default="", repr=False)


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
            raise ValueError(f"line_end {self.line_end} is before line_start {self.line_start}")
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
    r"""Return the SHA-256 of the fields that a record's `hash_inputs` name, in hexadecimal.

    1. Hash the tenant and the repository first, even if `hash_inputs` names them again.
    2. Then hash the fields that `hash_inputs` names, in its order. It has the names in JSON, such
       as ``"sourcePath"``; `chunk.to_json()` has these names, too.
    3. Hash `canonical(value)` of a value that is not a text: ``12`` becomes ``"12"``.
    4. Hash an empty text for a field that is not set, and so is not in the JSON.

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
    values = [record.get(name, "") for name in ["tenantId", "repoSlug", *chunk.hash_inputs]]
    return hash_texts([one if isinstance(one, str) else canonical(one) for one in values])


def vector_key(chunk: Chunk, model: str) -> str:
    """Return what the vector of a piece is found by: an equal key means an equal vector.

    1. The key is another one if the model reads another text. It reads the content, below the
       header if there is one.
    2. It is another one for another model.
    3. It is another one for another tenant: no tenant may notice that another one has the text.
    4. Whatever else changes, the key stays: the vector would be the same.

    Parameters
    ----------
    chunk
        The record of the piece.
    model
        The name of the model.

    Returns
    -------
    str
        What `hash_texts` returns.
    """
    return hash_texts([chunk.tenant_id, chunk.embedded_text, model])


def hash_texts(texts: list[str]) -> str:
    r"""Return one hash of some texts; different lists have different hashes.

    1. It tells where a text ends: ``["ab", "c"]`` is not ``["a", "bc"]``.
    2. It tells this for all texts, whatever characters are in them.
    3. It hashes each text exactly as it is, with its white space: ``"a\r\n"`` is not ``"a\n"``.
    4. Equal lists have equal hashes, also in another process and on another machine.

    Parameters
    ----------
    texts
        In their order; a text may be empty, and so may the list. Each can be written as UTF-8.

    Returns
    -------
    str
        A SHA-256, as 64 hexadecimal digits.

    Examples
    --------
    >>> hash_texts(["ab", "c"]) == hash_texts(["a", "bc"])
    False
    """
    digest = hashlib.sha256()
    for text in texts:
        raw = text.encode()
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
        One of `PARTITIONS`, or a name of your own: it belongs to the source, for every file of it.
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
    partition: str = PARTITIONS[0]
    visibility: Visibility = "private"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The four columns that rows of this scope share: what is planned and removed together."""
        return (self.partition, self.tenant, self.repo, self.branch)

    def within(self, **changes: str) -> Scope:
        """Return the same scope with other values, such as another partition."""
        return self.model_copy(update=changes)


LOCAL = Scope()
"""Whose content it is where nothing else is said: this machine's tenant, and no version."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A row of `documents`: a source file and what it was indexed with.

    `parser`, `settings` and `model` are part of its state: when one of them changes, the document
    is indexed again although its text is the same.
    """

    name: str
    content: str
    content_hash: str
    parser: str
    settings: str
    model: str
    commit_sha: str | None = None
    citation_url: str | None = None
    visibility: Visibility = "private"


def explain(error: ValueError) -> str:
    """Return what is wrong with a record, in one line: the first three fields and why.

    If the text is not JSON, this is what the error says.

    Examples
    --------
    >>> try:
    ...     Chunk.model_validate({"kind": ""})
    ... except ValidationError as error:
    ...     print(explain(error)[:45])
    tenantId: Field required; repoSlug: Field req
    """
    if not isinstance(error, ValidationError):
        return str(error)
    fields = [
        (".".join(map(str, item["loc"])) or "record", item["msg"].removeprefix("Value error, "))
        for item in error.errors()[:3]
    ]
    return "; ".join(f"{field}: {message}" for field, message in fields)
