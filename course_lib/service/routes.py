"""The endpoints: each turns a request into a call of the stages, and what comes back into JSON."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, replace
from typing import Any

import psycopg
from fastapi import APIRouter

from course_lib.records import FILTERS, Query, Scope, SearchResult
from course_lib.retriever.question import look_up
from course_lib.retriever.versions import Found
from course_lib.service.access import SCHEMES, CurrentContext, Reader, Writer
from course_lib.service.context import Context
from course_lib.service.models import (
    EmbeddingsRequest,
    EmbeddingsResponse,
    IngestRequest,
    IngestResponse,
    PartitionStats,
    SearchRequest,
    SearchResponse,
    StatsResponse,
    search_response,
)
from course_lib.service.problems import UnavailableError, responses

router = APIRouter(dependencies=SCHEMES)

INGEST_LINKS = {
    "search": {
        "operationId": "search",
        "requestBody": {"query": "What is new?", "repo": "$request.body#/repo"},
        "description": "Search what was sent, with the same key.",
    }
}


@router.post(
    "/search",
    tags=["search"],
    response_model=SearchResponse,
    responses=responses(400, 401, 413, 422, 503),
)
async def search(asked: SearchRequest, context: CurrentContext, tenant: Reader) -> Any:
    """Return the chunks that answer a question best.

    A passage that is the same in several branches comes once; `also_in` in its metadata names the
    other branches.
    """
    found, embedding_seconds, search_seconds = await find(context, asked, tenant)
    results = [_with_other_branches(one) for one in found]
    return search_response(asked.query, results, embedding_seconds, search_seconds)


async def find(
    context: Context, asked: SearchRequest, tenant: str
) -> tuple[list[Found], float, float]:
    """Return what a request finds, and the seconds of encoding and of searching."""
    begin = time.perf_counter()
    query = Query(
        asked.query,
        top_k=asked.top_k,
        threshold=asked.similarity_threshold,
        mode=asked.mode,
        partitions=asked.partitions,
        **{name: getattr(asked, name) for name in FILTERS},
    )
    vector = await context.encoder.encode_question(asked.query)
    encoded = time.perf_counter()

    def work(conn: psycopg.Connection[Any]) -> list[Found]:
        context.check_model(conn, tenant, asked.repo)
        return look_up(conn, vector, query)

    found = await context.database.read(tenant, work)
    done = time.perf_counter()
    return found, encoded - begin, done - encoded


@router.get(
    "/documents/stats",
    tags=["search"],
    responses=responses(401, 503),
)
async def stats(context: CurrentContext, tenant: Reader) -> StatsResponse:
    """Return how much the caller can search, in all and by partition."""

    def work(conn: psycopg.Connection[Any]) -> list[tuple[str, int, int]]:
        return conn.execute(
            "SELECT partition, sum(documents)::bigint, sum(chunks)::bigint FROM ("
            " SELECT partition, count(*) AS documents, 0 AS chunks FROM documents"
            " GROUP BY partition UNION ALL"
            " SELECT partition, 0, count(*) FROM document_chunks GROUP BY partition"
            ") AS counts GROUP BY partition ORDER BY partition"
        ).fetchall()

    rows = await context.database.read(tenant, work)
    partitions = {name: PartitionStats(documents=d, chunks=c) for name, d, c in rows}
    if not context.encoder.is_ready:
        raise UnavailableError(context.encoder.problem)
    return StatsResponse(
        total_documents=sum(one.documents for one in partitions.values()),
        total_chunks=sum(one.chunks for one in partitions.values()),
        embedding_dimension=context.encoder.embedder.dimension,
        model_name=context.encoder.embedder.model_name,
        partitions=partitions,
    )


@router.post(
    "/embeddings",
    tags=["model"],
    responses=responses(400, 401, 413, 422, 503),
)
async def embeddings(
    asked: EmbeddingsRequest, context: CurrentContext, tenant: Reader
) -> EmbeddingsResponse:
    """Encode texts; a text beyond what the model reads is cut there."""
    vectors = await context.encoder.encode(asked.texts)
    return EmbeddingsResponse(
        model_name=context.encoder.embedder.model_name,
        dimension=vectors.shape[1],
        embeddings=vectors.tolist(),
    )


@router.post(
    "/ingest/source-files",
    tags=["ingest"],
    response_model=IngestResponse,
    responses=responses(400, 401, 413, 422, 503) | {200: {"links": INGEST_LINKS}},
)
async def ingest(asked: IngestRequest, context: CurrentContext, tenant: Writer) -> Any:
    """Index files or records of the key's tenant; what is refused is told one by one."""
    if not context.encoder.is_ready:
        raise UnavailableError(context.encoder.problem)
    scope = Scope(
        tenant=tenant,
        repo=asked.repo,
        branch=asked.branch,
        partition=asked.partition,
        visibility=asked.visibility,
    )
    async with context.writing:
        done = await asyncio.to_thread(context.write, asked.files, scope)
    return {**asdict(done.report), "rejections": [one.to_dict() for one in done.rejections]}


def _with_other_branches(one: Found) -> SearchResult:
    """Return a result, with the branches in its metadata that hold the same passage."""
    return replace(one.result, metadata={**one.result.metadata, "also_in": list(one.also_in)})
