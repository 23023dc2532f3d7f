"""What requests and answers look like; the OpenAPI description is made of these."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints


def _readable(text: str) -> str:
    """Refuse what PostgreSQL cannot store and no encoder can read."""
    if "\0" in text:
        raise ValueError("holds a NUL character")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("holds half of a surrogate pair, which is no character")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank")
    return text


Text = Annotated[str, AfterValidator(_readable)]
Query = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1000),
    AfterValidator(_readable),
    AfterValidator(_not_blank),
]
Filter = Annotated[str, StringConstraints(min_length=1, max_length=500), AfterValidator(_readable)]
Mode = Literal["hybrid", "dense"]


class Model(BaseModel):
    """Strict: an unknown field is an error, and a number in quotes is no number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SearchRequest(Model):
    """A question, how much of an answer is wanted, and where to look."""

    query: Query = Field(description="the question", examples=["How is drift measured?"])
    top_k: int = Field(default=5, ge=1, le=50, description="results, at most")
    similarity_threshold: float = Field(
        default=0.0, ge=0, le=1, allow_inf_nan=False, description="smallest cosine similarity"
    )
    partitions: list[Filter] | None = Field(
        default=None, min_length=1, max_length=20, description="only in these"
    )
    repo: Filter | None = Field(default=None, description="only this repository or corpus")
    branch: Filter | None = Field(default=None, description="only this version")
    kind: Filter | None = Field(default=None, description="only this kind, such as Deployment")
    namespace: Filter | None = Field(default=None, description="only this Kubernetes namespace")
    mode: Mode = Field(default="hybrid", description="words and meaning, or meaning alone")
    rerank: Literal["maxsim"] | None = Field(
        default=None, description="reorder the first results by late interaction"
    )


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


class EmbeddingsRequest(Model):
    """Texts to encode."""

    texts: list[Annotated[Text, StringConstraints(max_length=100_000)]] = Field(
        min_length=1, max_length=256, description="1 to 256 texts"
    )


class EmbeddingsResponse(BaseModel):
    """A unit vector for each text, in the order of the texts."""

    model_name: str
    dimension: int
    embeddings: list[list[float]]


class IngestRequest(Model):
    """Files or parsed-chunk-v1 records of one repository."""

    repo: Filter = Field(description="the repository or corpus that they belong to")
    branch: Annotated[str, StringConstraints(max_length=500), AfterValidator(_readable)] = Field(
        default="", description="the version of it"
    )
    visibility: Literal["private", "public"] = Field(
        default="private", description="who can read it: the key's tenant, or all"
    )
    partition: Filter = Field(default="documentation", description="where in the index")
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


class Health(BaseModel):
    """The process is alive."""

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """What a request needs, and whether it is there."""

    status: Literal["ready", "not ready"]
    database: str
    model: str
