"""What requests and answers look like; the OpenAPI description is made of these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    create_model,
    field_validator,
    model_validator,
)

from course_lib.addresses import is_link
from course_lib.records import FILTERS, MOST_NAME_BYTES, SearchResult


def readable(text: str) -> str:
    """Refuse what PostgreSQL cannot store and no encoder can read."""
    if "\0" in text:
        raise ValueError("holds a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("holds half of a surrogate pair, which is not a character")
    return text


def not_blank(text: str) -> str:
    """Refuse white space alone."""
    if not text.strip():
        raise ValueError("is blank")
    return text


# In each of these types the limits come first: after a validator pydantic counts "items" of a text.
# For the description alone: `readable` and `not_blank` refuse the same, and say why.
_READABLE = Field(json_schema_extra={"pattern": r"^[^\u0000]*$"})
_QUESTION = {"pattern": r"^[^\u0000]*[^\u0000\s][^\u0000]*$"}

Question = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1000),
    AfterValidator(readable),
    AfterValidator(not_blank),
    Field(json_schema_extra=_QUESTION),
]


def short(text: str) -> str:
    """Refuse a name that is too long for an index of the database."""
    size = len(text.encode("utf-8"))
    if size > MOST_NAME_BYTES:
        raise ValueError(f"has {size} bytes; the limit is {MOST_NAME_BYTES}")
    return text


Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MOST_NAME_BYTES),
    AfterValidator(readable),
    AfterValidator(short),
    _READABLE,
]
NameOrNone = Annotated[
    str,
    StringConstraints(max_length=MOST_NAME_BYTES),
    AfterValidator(readable),
    AfterValidator(short),
    _READABLE,
]
Filter = Annotated[
    str, StringConstraints(min_length=1, max_length=500), AfterValidator(readable), _READABLE
]
ToEncode = Annotated[
    str, StringConstraints(max_length=100_000), AfterValidator(readable), _READABLE
]
LockText = Annotated[
    str, StringConstraints(max_length=8_000_000), AfterValidator(readable), _READABLE
]


MOST_FIELDS = 50
"""More than any request has: each unknown field is an error of its own, and has to be told."""


def few_fields(given: Any) -> Any:
    """Refuse more fields than any request has, before each is looked at."""
    if isinstance(given, dict) and len(given) > MOST_FIELDS:
        raise ValueError(f"has {len(given)} fields")
    return given


def whole(number: Any) -> Any:
    """Return 5 for 5.0: JSON knows one kind of numbers, and its schema calls both an integer."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


class StrictModel(BaseModel):
    """An unknown field is an error, and a number in quotes is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True)

    _has_few_fields = model_validator(mode="before")(few_fields)


def request_model() -> type[BaseModel]:
    """Return the model `SearchRequest`, which says what `POST /search` accepts.

    - `query`: a text of 1 to 1,000 characters, with at least one that is not white space
    - `top_k`: a whole number from 1 to 50; 5 if it is missing
    - `similarity_threshold`: a number from 0 to 1, both included; 0.0 if it is missing
    - `partitions`: 1 to 20 names (`Filter`), or None; None if it is missing. An empty list would
      mean "in no partition", but its sender probably means "in all"

    Refuse an unknown field. Refuse a value of another type, such as `"5"` instead of 5.

    Examples
    --------
    >>> SearchRequest = request_model()
    >>> SearchRequest.model_validate({"query": "What is drift?"})
    SearchRequest(query='What is drift?', top_k=5, similarity_threshold=0.0, partitions=None)
    """

    class SearchRequest(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)

        query: Annotated[str, AfterValidator(not_blank)] = Field(min_length=1, max_length=1000)
        top_k: int = Field(default=5, ge=1, le=50)
        similarity_threshold: float = Field(default=0.0, ge=0, le=1)
        partitions: list[Filter] | None = Field(default=None, min_length=1, max_length=20)

    return SearchRequest


_DESCRIPTIONS: dict[str, dict[str, Any]] = {
    "query": {"description": "the question", "examples": ["How is drift measured?"], **_QUESTION},
    "top_k": {"description": "results, at most"},
    "similarity_threshold": {"description": "smallest cosine similarity"},
    "partitions": {"description": "only in these"},
}
"""What people who use the API read about the four fields of the lab."""


def _described(schema: dict[str, Any]) -> None:
    for name, description in _DESCRIPTIONS.items():
        schema["properties"][name].update(description)


_FIELDS: dict[str, Any] = {
    name: (Filter | None, Field(default=None, description=about)) for name, about in FILTERS.items()
}


class SearchRequest(create_model("_Filters", **_FIELDS), request_model()):  # type: ignore[misc]
    """A question, how much of an answer is wanted, and where to look."""

    model_config = ConfigDict(allow_inf_nan=False, json_schema_extra=_described)

    mode: Literal["hybrid", "dense"] = Field(
        default="hybrid", description="words and meaning, or meaning alone"
    )

    _has_few_fields = model_validator(mode="before")(few_fields)
    _is_whole = field_validator("top_k", mode="before")(whole)
    _is_readable = field_validator("query")(readable)


def search_response(
    query: str, results: list[SearchResult], embedding_seconds: float, search_seconds: float
) -> dict[str, object]:
    """Return the answer of `POST /search`: text, numbers, lists, dictionaries and None.

    The answer holds six fields of each result: `chunk_id`, `document_name`, `content`,
    `similarity_score`, `citation_url` and `metadata`. Both scores may be NumPy numbers. Times are
    milliseconds, rounded to two decimals.

    The sender of a chunk wrote its metadata and its address, and is not trusted:

    - `metadata` holds the entries of the result's own `metadata` (a dictionary), and the result's
      `partition`, `repo` (its `repo_slug`), `branch`, `kind`, `name`, `namespace`, `chunk_index`
      and `score`. If both have an entry of the same name, the result's is used.
    - `citation_url` is the result's if it begins with `https://` or `http://`, in capital or small
      letters. Every other address is replaced by None, because a page makes a link of it, and a
      browser runs `javascript:…`.

    Examples
    --------
    >>> found = SearchResult("c7", "a.md", 3, "Roll back.", 0.5, 0.25, "documentation", "docs", "",
    ...                      "doc-section", "Rollback", metadata={"lineStart": 4})
    >>> search_response("How?", [found], 0.0123456, 0.0021)
    {'query': 'How?',
     'results': [{'chunk_id': 'c7', 'document_name': 'a.md', 'content': 'Roll back.',
                  'similarity_score': 0.5,
                  'metadata': {'lineStart': 4, 'partition': 'documentation', 'repo': 'docs',
                               'branch': '', 'kind': 'doc-section', 'name': 'Rollback',
                               'namespace': None, 'chunk_index': 3, 'score': 0.25},
                  'citation_url': None}],
     'total_results': 1, 'embedding_time_ms': 12.35, 'search_time_ms': 2.1}
    """
    found = [
        {
            "chunk_id": one.chunk_id,
            "document_name": one.document_name,
            "content": one.content,
            "similarity_score": float(one.similarity_score),
            "metadata": {
                **one.metadata,
                "partition": one.partition,
                "repo": one.repo_slug,
                "branch": one.branch,
                "kind": one.kind,
                "name": one.name,
                "namespace": one.namespace,
                "chunk_index": one.chunk_index,
                "score": float(one.score),
            },
            "citation_url": one.citation_url if is_link(one.citation_url) else None,
        }
        for one in results
    ]
    return {
        "query": query,
        "results": found,
        "total_results": len(found),
        "embedding_time_ms": round(embedding_seconds * 1000, 2),
        "search_time_ms": round(search_seconds * 1000, 2),
    }


class Result(BaseModel):
    """A chunk that was found."""

    chunk_id: str
    document_name: str
    content: str
    similarity_score: float = Field(description="cosine similarity to the question")
    metadata: dict[str, Any]
    citation_url: str | None


class SearchResponse(BaseModel):
    """What was found, best first, and how long it took."""

    query: str
    results: list[Result]
    total_results: int
    embedding_time_ms: float
    search_time_ms: float


class PartitionStats(BaseModel):
    """How much a partition holds."""

    documents: int
    chunks: int


class StatsResponse(BaseModel):
    """How much of the index the caller can see."""

    total_documents: int
    total_chunks: int
    embedding_dimension: int
    model_name: str
    partitions: dict[str, PartitionStats]


class EmbeddingsRequest(StrictModel):
    """Texts to encode."""

    texts: list[ToEncode] = Field(min_length=1, max_length=256, description="1 to 256 texts")


class EmbeddingsResponse(BaseModel):
    """A unit vector for each text, in the order of the texts."""

    model_name: str
    dimension: int
    embeddings: list[list[float]]


class IngestRequest(StrictModel):
    """Files or parsed-chunk-v1 records of one repository."""

    repo: Name = Field(description="the repository or corpus that they belong to")
    branch: NameOrNone = Field(default="", description="the version of it")
    visibility: Literal["private", "public"] = Field(
        default="private", description="who can read it: the key's tenant, or all"
    )
    partition: Name = Field(default="documentation", description="where in the index")
    files: list[dict[str, Any]] = Field(
        min_length=1,
        max_length=1000,
        description="raw files {sourcePath, content, parserId?}, parsed files {sourcePath, "
        "parsedChunks}, or bare parsed-chunk-v1 records",
    )


class IngestProblem(BaseModel):
    """What is wrong with one field of a record."""

    field: str
    message: str


class IngestRejection(BaseModel):
    """A file or record that was refused; the others went through."""

    code: str
    record: str
    problems: list[IngestProblem]


class IngestResponse(BaseModel):
    """What an ingest did."""

    documents: int
    chunks: int
    inserted: int
    updated: int
    unchanged: int
    deleted: int
    rejections: list[IngestRejection]
