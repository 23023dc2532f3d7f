"""The FastAPI app: `create_app` puts the parts together, and `serve` runs them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from course_lib import __version__
from course_lib.errors import DatabaseError
from course_lib.service import page, probes, routes, xray_routes
from course_lib.service.access import needs_key
from course_lib.service.config import ServiceConfig
from course_lib.service.context import Context
from course_lib.service.database import Database
from course_lib.service.encoding import Encoder
from course_lib.service.metrics import Metrics
from course_lib.service.middleware import BodyLimitMiddleware, RequestMiddleware
from course_lib.service.problems import Problem, add_problem_handlers, responses
from course_lib.service.rates import RateLimiter

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

MODULES = (page, probes, routes, xray_routes)
"""Those with a router."""

log = logging.getLogger("course.service")


def create_app(
    config: ServiceConfig | None = None, *, embedder: EmbeddingClient | None = None
) -> FastAPI:
    """Return the retrieval API as an ASGI app.

    It starts whether or not the database is there: `/ready` says what is missing, and requests
    that need it are answered with 503 until it is back.

    Parameters
    ----------
    config
        None takes the environment's and `.env`'s settings.
    embedder
        The model; None is `EmbeddingClient()`.

    Raises
    ------
    InputError
        If a setting cannot be used.

    Examples
    --------
    >>> from fastapi.testclient import TestClient
    >>> TestClient(create_app(), "http://localhost").get("/health").json()
    {'status': 'ok'}
    """
    config = config or ServiceConfig.from_settings()
    metrics = Metrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        from course_lib.embedder import EmbeddingClient

        encoder = Encoder(embedder or EmbeddingClient())
        database = Database(lambda again: _reader_url(config, again=again), config.pool_size)
        texts = RateLimiter(config.limits()[1], "texts ")
        app.state.context = Context(config, encoder, database, metrics, texts)
        metrics.watch(encoder, database)
        encoder.start()
        database.start()
        try:
            yield
        finally:
            await encoder.stop()
            await database.stop()

    app = FastAPI(
        title="Retrieval API of the course",
        description="Search documents and code by meaning and by words.",
        version=__version__,
        lifespan=lifespan,
        generate_unique_id_function=lambda route: route.name,
        # The usual pages load their scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
    )
    for module in MODULES:
        app.include_router(module.router)
    add_problem_handlers(app)
    _describe(app, config)
    # What is added last is the outermost.
    app.add_middleware(BodyLimitMiddleware, config=config)
    app.add_middleware(RequestMiddleware, config=config, metrics=metrics)
    return app


def _reader_url(config: ServiceConfig, *, again: bool) -> str:
    """Make what a service needs in the database, and return the URL of the role that reads.

    Parameters
    ----------
    config
        Which database.
    again
        Whether it was found before; an embedded server that was stopped since stays stopped.

    Raises
    ------
    CourseError
        If the database is away or does not allow it.
    """
    from course_lib.settings import settings
    from course_lib.store import connect, create_schema, default_url, server_status, service_url
    from course_lib.xray import create_tables

    if again and config.database_url is None and server_status() is None:
        raise DatabaseError("the embedded server was stopped", hint="course db start")
    url = config.database_url or default_url()
    with connect(url, autocommit=True) as conn:
        create_schema(conn, settings().vector_dim)
        reader = service_url("reader", url=url)
        try:
            create_tables(conn)  # once the roles are there: it lets them at the tables
        except DatabaseError as error:
            log.warning("no X-Ray: %s. %s", error.args[0], error.hint)
    return reader


def _describe(app: FastAPI, config: ServiceConfig) -> None:
    """Make the OpenAPI description say what is, where the framework does not know it.

    Errors are problem documents; every request can be refused for its host, and one with a body for
    bytes that are not JSON; reading needs a key only where the configuration says so.
    """
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        found = describe()
        schemas = found.setdefault("components", {}).setdefault("schemas", {})
        if "Problem" in schemas:
            return found  # it is made once
        schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas.update(schema.pop("$defs", {}))
        schemas["Problem"] = schema
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        writing = {
            route.path
            for module in MODULES
            for route in module.router.routes
            if isinstance(route, APIRoute) and needs_key(route.dependant)
        }
        for path, operations in found["paths"].items():
            for operation in operations.values():
                refused = responses(*([400, 421] if "requestBody" in operation else [421]))
                operation["responses"] |= {str(status): one for status, one in refused.items()}
                if "security" in operation and path not in writing and not config.key_required:
                    operation["security"].append({})
        return found

    app.openapi = openapi  # type: ignore[method-assign]
