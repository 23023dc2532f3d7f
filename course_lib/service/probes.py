"""What a cluster asks: is the process alive, and can it answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from course_lib.service.access import CurrentContext

router = APIRouter(tags=["operation"])

Checks = Mapping[str, Callable[[], Awaitable[str]]]
"""For the name of each part an async function that says how the part is."""

READY_TIMEOUT_SECONDS = 3.0
"""How long a part may take to say how it is; a cluster waits for 5 seconds (infra/k8s)."""


class Health(BaseModel):
    """The process is alive."""

    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    """What a request needs, and whether it is there."""

    status: Literal["ready", "not ready"]
    database: str
    model: str


async def readiness(checks: Checks, timeout: float = 0.5) -> tuple[int, dict[str, str]]:
    """Ask every part for its state; return the HTTP status and the body of `/ready`.

    `checks` has an async function for the name of each part. It returns `ready`, or a text that
    says what is wrong and that strangers may read.

    - If three parts hang, the answer still comes after one `timeout`, not three: ask all at the
      same time.
    - A part that raises any exception, or takes longer than `timeout` seconds, is `missing`. What
      takes too long is cancelled.
    - The status is 200 if all are ready, otherwise 503.
    - Strangers read the answer, so it never has the text of an exception.

    Examples
    --------
    >>> await readiness({"database": works, "model": works})  # doctest: +SKIP
    (200, {'status': 'ready', 'database': 'ready', 'model': 'ready'})
    >>> await readiness({"database": raises, "model": loads})  # doctest: +SKIP
    (503, {'status': 'not ready', 'database': 'missing', 'model': 'the model is being loaded'})
    """

    async def state(check: Callable[[], Awaitable[str]]) -> str:
        try:
            return await asyncio.wait_for(check(), timeout)
        except Exception:
            return "missing"

    states = await asyncio.gather(*(state(check) for check in checks.values()))
    is_ready = set(states) <= {"ready"}
    parts = dict(zip(checks, states, strict=True))
    return (200 if is_ready else 503), {"status": "ready" if is_ready else "not ready", **parts}


@router.get("/health")
async def health() -> Health:
    """Tell that the process is alive: nothing else is looked at."""
    return Health()


@router.get(
    "/ready",
    response_model=Readiness,
    responses={503: {"model": Readiness, "description": "something is missing"}},
)
async def ready(context: CurrentContext) -> Any:
    """Tell whether a search would be answered: 200, or 503 naming what is missing."""
    checks = {"database": context.database_state, "model": context.model_state}
    status, body = await readiness(checks, READY_TIMEOUT_SECONDS)
    return JSONResponse(body, status)
