"""The service's way to PostgreSQL: an async pool that reads, as a role that cannot do more.

The service starts while the database is away and says so. Once the database was found, psycopg_pool
keeps the connections and makes new ones after a restart. As long as the database is away, every
request fails quickly with the same answer, and none hangs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg_pool import AsyncConnectionPool

from course_lib.errors import CourseError, DatabaseError, SchemaMismatchError
from course_lib.service.problems import UnavailableError

Found = TypeVar("Found")

CONNECTION_TIMEOUT = 2.0
"""Seconds that a request waits for a connection; `/ready` gives its answer within three."""

READ_SECONDS = 35.0
"""Seconds that a request may read: the server ends a statement after 30, unless it is silent."""

RETRY_SECONDS = 1.0
"""Seconds between two attempts to find the database at the start."""

log = logging.getLogger("course.service")


class Database:
    """A database, as the service reads it.

    Parameters
    ----------
    find_url
        Gives the URL of a role that can only read; called until it succeeds.
    pool_size
        Connections, at most.
    """

    def __init__(self, find_url: Callable[[], str], pool_size: int) -> None:
        self._find_url, self._pool_size = find_url, pool_size
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[Any]] | None = None
        self._search: asyncio.Task[None] | None = None
        self.problem = "the database has not been found yet"

    def start(self) -> None:
        """Begin to look for the database in the background."""
        self._search = asyncio.create_task(self._open())

    async def stop(self) -> None:
        """Give all connections back; those at work end their statement first."""
        if self._search:
            self._search.cancel()
            with suppress(asyncio.CancelledError):
                await self._search
        if self._pool:
            await self._pool.close()

    async def state(self) -> str:
        """Return ``ready``, or what is the matter with the database."""

        async def look(conn: psycopg.AsyncConnection[Any]) -> str:
            cursor = await conn.execute("SELECT to_regclass('document_chunks') IS NOT NULL")
            row = await cursor.fetchone()
            return "ready" if row and row[0] else "there is no index in the database yet"

        try:
            return await self.read("no-tenant", look)
        except UnavailableError as error:
            return error.detail

    async def read(
        self, tenant: str, work: Callable[[psycopg.AsyncConnection[Any]], Awaitable[Found]]
    ) -> Found:
        """Run `work` in a read-only transaction of one tenant and return what it gives.

        Raises
        ------
        UnavailableError
            If the database is busy or away.
        """
        if self._pool is None:
            raise UnavailableError(self.problem)
        try:
            async with (
                asyncio.timeout(READ_SECONDS),
                self._pool.connection() as conn,
                conn.transaction(),
            ):
                # Both hold until the transaction ends: the next request starts without them.
                await conn.execute(
                    "SELECT set_config('course.tenant', %s, true), "
                    "set_config('transaction_read_only', 'on', true)",
                    [tenant],
                )
                return await work(conn)
        except (TimeoutError, psycopg.Error, DatabaseError) as error:
            log.warning("a request could not read: %s", str(error).strip() or type(error).__name__)
            raise UnavailableError("the database is busy or away; try again soon") from error

    def figure(self, name: str) -> int:
        """Return one of the pool's figures, 0 for what was not counted yet."""
        return self._pool.get_stats().get(name, 0) if self._pool else 0

    async def _open(self) -> None:
        pool = AsyncConnectionPool(
            await self._find(),
            min_size=min(2, self._pool_size),
            max_size=self._pool_size,
            open=False,
            timeout=CONNECTION_TIMEOUT,
            kwargs={"application_name": "course-service", "connect_timeout": 5},
            configure=_configure,
            # A connection that died since it was last used is replaced before a request gets it.
            check=AsyncConnectionPool.check_connection,
            max_waiting=500,
            # After that the next request tries again.
            reconnect_timeout=4,
            name="reader",
        )
        await pool.open(wait=False)
        self._pool = pool

    async def _find(self) -> str:
        while True:
            try:
                return await asyncio.to_thread(self._find_url)
            except (CourseError, psycopg.Error) as error:
                said = str(error.args[0] if error.args else error).strip()
                log.warning("the database was not found, and is tried again: %s", said)
                self.problem = "the database cannot be reached"
                if isinstance(error, SchemaMismatchError):
                    self.problem = f"{said}. {error.hint}"
                await asyncio.sleep(RETRY_SECONDS)


async def _configure(conn: psycopg.AsyncConnection[Any]) -> None:
    from pgvector.psycopg import register_vector_async

    await register_vector_async(conn)
    await conn.execute("SET statement_timeout = '30s'")
    await conn.commit()
    # Both rankings of a hybrid search see the same rows, whatever is written in between.
    await conn.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
