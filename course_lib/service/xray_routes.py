"""The X-Ray's endpoints: one takes lock files, the other makes suggestions.

The tenant is always the key's. All tenants share the catalogue of packages, so an answer does not
tell what others use: it names no orphans, and does not count what was described or embedded.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import psycopg
from fastapi import APIRouter

from course_lib.errors import InputError
from course_lib.service.access import SCHEMES, CurrentContext, Reader, Writer
from course_lib.service.problems import UnavailableError, responses
from course_lib.service.xray_models import (
    ScanRequest,
    ScanResponse,
    SuggestRequest,
    SuggestResponse,
)

if TYPE_CHECKING:
    from course_lib.xray import Suggestions

router = APIRouter(
    prefix="/xray",
    tags=["xray"],
    dependencies=SCHEMES,
    responses=responses(400, 401, 413, 422, 503),
)


SCAN_LINKS = {
    "suggest": {
        "operationId": "suggest",
        "requestBody": {"project": "$request.body#/project", "instruction": "Send an e-mail."},
        "description": "Ask which of the project's packages an instruction is about.",
    }
}


@router.post("/scan", response_model=ScanResponse, responses={200: {"links": SCAN_LINKS}})
async def scan(asked: ScanRequest, context: CurrentContext, tenant: Writer) -> Any:
    """Make what is stored of a project's packages say what its lock files say.

    Without a model the packages are stored all the same, and the next scan embeds them.
    """
    from course_lib.xray.lockfiles import lock_format

    if context.encoder.is_loading:
        raise UnavailableError(context.encoder.problem)
    texts = {one.path: one.content for one in asked.files}
    if len(texts) < len(asked.files):
        raise InputError("two files have the same path", hint="Send each lock file once.")
    has_model = context.encoder.is_ready
    async with context.writing:
        done = await asyncio.to_thread(context.scan, asked.project, texts, tenant)
    return {
        "project": done.project,
        "languages": done.languages,
        "ignored": sorted(path for path in texts if lock_format(path) is None),
        "not_read": list(done.not_read),
        "waiting": done.filled.waiting,
        "vectors": has_model and not done.filled.stopped,
    }


@router.post("/suggest", response_model=SuggestResponse)
async def suggest(asked: SuggestRequest, context: CurrentContext, tenant: Reader) -> Any:
    """Return the packages of a project that an instruction is most likely about.

    Without a model, or where it has made no vector yet, these are the first 50 by name, and
    `fallback` says why. A project that was never scanned has no packages.
    """
    from course_lib.xray.suggestions import suggest_near

    encoder = context.encoder
    vector = await encoder.encode_question(asked.instruction) if encoder.is_ready else None

    def work(conn: psycopg.Connection[Any]) -> Suggestions:
        return suggest_near(
            conn,
            vector,
            encoder.embedder.model_name,
            project=asked.project,
            language=asked.language,
            k=asked.k,
            tenant=tenant,
        )

    return await context.database.read(tenant, work)
