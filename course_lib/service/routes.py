"""The endpoints: each turns a request into a call of the stages, and what comes back into JSON."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, replace
from typing import Annotated, Any

import psycopg
from fastapi import APIRouter, Depends, Request, Response
from fastapi.security import APIKeyHeader, HTTPBearer

from course_lib.records import Query, Scope, SearchResult
from course_lib.retriever.versions import Found, find_versions_async, reordered
from course_lib.service.context import Context
from course_lib.service.middleware import presented_key
from course_lib.service.models import (
    EmbeddingsRequest,
    EmbeddingsResponse,
    Health,
    IngestRequest,
    IngestResponse,
    PartitionStats,
    Readiness,
    Result,
    SearchRequest,
    SearchResponse,
    StatsResponse,
)
from course_lib.service.problems import ProblemError, UnavailableError, responses

router = APIRouter()

RERANKED = 20
"""Results that a reranker gets to order, at least."""

SCHEMES = [
    Depends(HTTPBearer(auto_error=False, description="an API key, as Authorization: Bearer KEY")),
    Depends(APIKeyHeader(name="X-API-Key", auto_error=False, description="an API key")),
]


def context(request: Request) -> Context:
    """Return what the running service works with."""
    found: Context = request.app.state.context
    return found


Here = Annotated[Context, Depends(context)]


def reading_tenant(request: Request, here: Here) -> str:
    """Return whose documents the caller may read.

    Raises
    ------
    ProblemError
        401 without a key where one is needed, and with one that is nobody's.
    """
    key = presented_key(request.headers)
    if key is None:
        if here.config.key_required:
            raise _unauthorised("this service needs an API key")
        tenant: str | None = here.config.tenant
    else:
        tenant = here.config.tenant_of(key)
    if tenant is None:
        raise _unauthorised("the API key is not known")
    request.state.tenant = tenant
    return tenant


def writing_tenant(request: Request, here: Here) -> str:
    """Return to whom what the caller writes belongs: the key decides, and there must be one."""
    if presented_key(request.headers) is None:
        raise _unauthorised("writing needs an API key")
    return reading_tenant(request, here)


Reader = Annotated[str, Depends(reading_tenant)]
Writer = Annotated[str, Depends(writing_tenant)]


@router.get("/health", tags=["operation"])
async def health() -> Health:
    """Tell that the process is alive: nothing else is looked at."""
    return Health()


@router.get(
    "/ready",
    tags=["operation"],
    responses={503: {"model": Readiness, "description": "something is missing"}},
)
async def ready(here: Here, response: Response) -> Readiness:
    """Tell whether a search would be answered: 200, or 503 naming what is missing."""
    database = await here.database.state()
    model = here.encoder.problem or "ready"
    if database == model == "ready":
        database = await here.index_state()
    is_ready = database == model == "ready"
    if not is_ready:
        response.status_code = 503
    return Readiness(status="ready" if is_ready else "not ready", database=database, model=model)


@router.get("/metrics", tags=["operation"], response_class=Response)
async def metrics(here: Here) -> Response:
    """Return counters and times in Prometheus' text format."""
    return Response(here.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.post(
    "/search",
    tags=["search"],
    dependencies=SCHEMES,
    responses=responses(401, 413, 422, 429, 503),
)
async def search(asked: SearchRequest, here: Here, tenant: Reader) -> SearchResponse:
    """Return the chunks that answer a question best.

    A passage that is the same in several branches comes once; `also_in` in its metadata names the
    other branches.
    """
    found, embedding_ms, search_ms = await find(here, asked, tenant)
    return SearchResponse(
        query=asked.query,
        results=[
            Result(
                chunk_id=one.result.chunk_id,
                document_name=one.result.document_name,
                content=one.result.content,
                similarity_score=one.result.similarity_score,
                metadata=_metadata(one),
                citation_url=one.result.citation_url,
            )
            for one in found
        ],
        total_results=len(found),
        embedding_time_ms=embedding_ms,
        search_time_ms=search_ms,
    )


async def find(
    here: Context, asked: SearchRequest, tenant: str
) -> tuple[list[Found], float, float]:
    """Return what a request finds, and the milliseconds of encoding and of searching."""
    from course_lib.retriever import search_async

    begin = time.perf_counter()
    query = Query(
        asked.query,
        threshold=asked.similarity_threshold,
        mode=asked.mode,
        partitions=asked.partitions,
        kind=asked.kind,
        repo=asked.repo,
        branch=asked.branch,
        namespace=asked.namespace,
    )
    [vector] = await here.encoder.encode([asked.query])
    encoded = time.perf_counter()

    async def work(conn: psycopg.AsyncConnection[Any]) -> list[Found]:
        await here.check_model(conn, tenant, asked.repo)

        async def look(count: int) -> list[SearchResult]:
            return await search_async(conn, vector, replace(query, top_k=count))

        wanted = asked.top_k if asked.rerank is None else max(asked.top_k, RERANKED)
        return await find_versions_async(look, wanted)

    found = await here.database.read(tenant, work)
    if asked.rerank:
        found = reordered(
            found, await here.encoder.rerank(asked.query, [one.result for one in found])
        )
    done = time.perf_counter()
    return found[: asked.top_k], _ms(encoded - begin), _ms(done - encoded)


@router.get(
    "/documents/stats",
    tags=["search"],
    dependencies=SCHEMES,
    responses=responses(401, 429, 503),
)
async def stats(here: Here, tenant: Reader) -> StatsResponse:
    """Return how much the caller can search, in all and by partition."""

    async def work(conn: psycopg.AsyncConnection[Any]) -> list[tuple[str, int, int]]:
        cursor = await conn.execute(
            "SELECT partition, sum(documents)::bigint, sum(chunks)::bigint FROM ("
            " SELECT partition, count(*) AS documents, 0 AS chunks FROM documents"
            " GROUP BY partition UNION ALL"
            " SELECT partition, 0, count(*) FROM document_chunks GROUP BY partition"
            ") AS counts GROUP BY partition ORDER BY partition"
        )
        return await cursor.fetchall()

    rows = await here.database.read(tenant, work)
    partitions = {name: PartitionStats(documents=d, chunks=c) for name, d, c in rows}
    if not here.encoder.is_ready:
        raise UnavailableError(here.encoder.problem)
    return StatsResponse(
        total_documents=sum(one.documents for one in partitions.values()),
        total_chunks=sum(one.chunks for one in partitions.values()),
        embedding_dimension=here.encoder.embedder.dimension,
        model_name=here.encoder.embedder.model_name,
        partitions=partitions,
    )


@router.post(
    "/embeddings",
    tags=["model"],
    dependencies=SCHEMES,
    responses=responses(401, 413, 422, 429, 503),
)
async def embeddings(asked: EmbeddingsRequest, here: Here, tenant: Reader) -> EmbeddingsResponse:
    """Encode texts; a text beyond what the model reads is cut there."""
    vectors = await here.encoder.encode(asked.texts)
    return EmbeddingsResponse(
        model_name=here.encoder.embedder.model_name,
        dimension=vectors.shape[1],
        embeddings=vectors.tolist(),
    )


@router.post(
    "/ingest/source-files",
    tags=["ingest"],
    dependencies=SCHEMES,
    responses=responses(401, 413, 422, 429, 503),
)
async def ingest(asked: IngestRequest, here: Here, tenant: Writer) -> IngestResponse:
    """Index files or records of the key's tenant; what is refused is told one by one."""
    if not here.encoder.is_ready:
        raise UnavailableError(here.encoder.problem)
    scope = Scope(
        tenant=tenant,
        repo=asked.repo,
        branch=asked.branch,
        partition=asked.partition,
        visibility=asked.visibility,
    )
    async with here.writing:
        done = await asyncio.to_thread(here.write, asked.files, scope)
    report = asdict(done.report)
    counts = {name: report[name] for name in IngestResponse.model_fields if name in report}
    return IngestResponse(**counts, rejections=[one.to_dict() for one in done.rejections])


def _metadata(one: Found) -> dict[str, Any]:
    found = one.result
    also_in = {"also_in": list(one.also_in)} if one.also_in else {}
    return {
        **also_in,
        "partition": found.partition,
        "repo": found.repo_slug,
        "branch": found.branch,
        "kind": found.kind,
        "name": found.name,
        "namespace": found.namespace,
        "chunk_index": found.chunk_index,
        "score": found.score,
        **found.metadata,
    }


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


def _unauthorised(detail: str) -> ProblemError:
    return ProblemError(401, detail, {"WWW-Authenticate": "Bearer"})
