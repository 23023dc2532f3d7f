"""The FastAPI app: `create_app` puts the parts together, and `serve` runs them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.middleware.trustedhost import TrustedHostMiddleware

from course_lib import __version__
from course_lib.errors import DatabaseError
from course_lib.service import page, probes, routes, xray_routes
from course_lib.service.config import ServiceConfig
from course_lib.service.context import Context
from course_lib.service.database import Database
from course_lib.service.encoding import Encoder
from course_lib.service.metrics import add_metrics, watch
from course_lib.service.middleware import RequestMiddleware
from course_lib.service.problems import add_problem_handlers

if TYPE_CHECKING:
    from course_lib.embedder import EmbeddingClient

OWN_HOSTS = ("localhost", "127.0.0.1", "[::1]")
"""Under these names it is always called."""

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

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        from course_lib.embedder import EmbeddingClient

        encoder = Encoder(embedder or EmbeddingClient())
        database = Database(lambda: _reader_url(config), config.pool_size)
        app.state.context = Context(config, encoder, database)
        watch(registry, encoder, database)
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
    for module in (page, probes, routes, xray_routes):
        app.include_router(module.router)
    add_problem_handlers(app)
    # What is added last is the outermost.
    app.add_middleware(RequestMiddleware, config=config)
    registry = add_metrics(app)
    # A page of a stranger's can have its own name lead to this machine (DNS rebinding).
    app.add_middleware(
        TrustedHostMiddleware, allowed_hosts=[*OWN_HOSTS, *config.hosts], www_redirect=False
    )
    return app


def _reader_url(config: ServiceConfig) -> str:
    """Make what a service needs in the database, and return the URL of the role that reads.

    Parameters
    ----------
    config
        Which database.

    Raises
    ------
    CourseError
        If the database is away or does not allow it.
    """
    from course_lib.settings import settings
    from course_lib.store import connect, create_schema, default_url, service_url
    from course_lib.xray import create_tables

    url = config.database_url or default_url()
    with connect(url, autocommit=True) as conn:
        create_schema(conn, settings().vector_dim)
        reader = service_url("reader", url=url)
        try:
            create_tables(conn)  # once the roles are there: it lets them at the tables
        except DatabaseError as error:
            log.warning("no X-Ray: %s. %s", error.args[0], error.hint)
    return reader
