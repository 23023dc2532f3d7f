"""The X-Ray's endpoints: lock files come in by the one, suggestions go out by the other.

The tenant is always the key's. The catalogue of packages is shared by all tenants, so that an
answer says nothing about it that would tell what others use: no orphans, and no counts of what was
described or embedded.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import psycopg
from fastapi import APIRouter

from course_lib.errors import InputError
from course_lib.service.problems import UnavailableError, responses
from course_lib.service.routes import SCHEMES, Here, Reader, Writer
from course_lib.service.xray_models import (
    ScannedLanguage,
    ScanRequest,
    ScanResponse,
    SuggestedPackage,
    SuggestRequest,
    SuggestResponse,
)

if TYPE_CHECKING:
    from course_lib.xray import Suggestions

router = APIRouter(prefix="/xray", tags=["xray"])


@router.post("/scan", dependencies=SCHEMES, responses=responses(401, 413, 422, 429, 503))
async def scan(asked: ScanRequest, here: Here, tenant: Writer) -> ScanResponse:
    """Make what is stored of a project's packages say what its lock files say.

    Without a model the packages are stored all the same, and `course xray backfill` embeds them.
    """
    from course_lib.xray.lockfiles import lock_format

    if here.encoder.is_loading:
        raise UnavailableError(here.encoder.problem)
    texts = {one.path: one.content for one in asked.files}
    if len(texts) < len(asked.files):
        raise InputError("two files have the same path", hint="Send each lock file once.")
    has_model = here.encoder.is_ready
    async with here.writing:
        done = await asyncio.to_thread(here.scan, asked.project, texts, tenant)
    names = ScannedLanguage.model_fields
    return ScanResponse(
        project=done.project,
        languages=[
            ScannedLanguage(**{name: getattr(one, name) for name in names})
            for one in done.languages
        ],
        ignored=sorted(path for path in texts if lock_format(path) is None),
        not_read=list(done.not_read),
        waiting=done.filled.waiting,
        vectors=has_model and not done.filled.stopped,
    )


@router.post("/suggest", dependencies=SCHEMES, responses=responses(401, 413, 422, 429, 503))
async def suggest(asked: SuggestRequest, here: Here, tenant: Reader) -> SuggestResponse:
    """Return the packages of a project that an instruction is most likely about.

    Without a model, or where it has made no vector yet, these are the first 50 by name, and
    `fallback` says why. A project that was never scanned has no packages.
    """
    from course_lib.xray.suggestions import suggest_async

    encoder = here.encoder
    vector = (await encoder.encode([asked.instruction]))[0] if encoder.is_ready else None

    async def work(conn: psycopg.AsyncConnection[Any]) -> Suggestions:
        return await suggest_async(
            conn,
            vector,
            project=asked.project,
            language=asked.language,
            model=encoder.embedder.model_name,
            k=asked.k,
            tenant=tenant,
        )

    found = await here.database.read(tenant, work)
    return SuggestResponse(
        packages=[
            SuggestedPackage(
                name=one.name,
                version=one.version,
                description=one.description,
                similarity=one.similarity,
            )
            for one in found.packages
        ],
        fallback=found.fallback,
    )
