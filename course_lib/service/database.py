"""The service's way to PostgreSQL: an async pool that reads, as a role that cannot do more.

The service starts while the database is away, says so, and finds it again by itself. As long as the
database is away, every request fails quickly with the same answer, and none hangs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from course_lib.errors import CourseError, DatabaseError, SchemaMismatchError
from course_lib.service.problems import UnavailableError

Found = TypeVar("Found")

CONNECTION_TIMEOUT = 10.0
"""Seconds that a request waits for a connection while others have them all."""

CONNECTION_TIMEOUT_AWAY = 0.5
"""Seconds that it waits while the database is away: long enough to notice that it is back."""

READ_SECONDS = 35.0
"""Seconds that a request may read: the server ends a statement after 30, unless it is silent."""

RETRY_SECONDS = 1.0
"""Seconds between two attempts to find a database that is away."""

FIND_AGAIN_SECONDS = 3.0
"""Seconds that it may be away before it is looked for as at the start."""

POOL_STATS = (
    *("pool_min", "pool_max", "pool_size", "pool_available"),
    *("requests_num", "requests_waiting", "requests_queued", "requests_wait_ms", "requests_errors"),
    *("connections_num", "connections_ms", "connections_errors", "connections_lost"),
    *("usage_ms", "returns_bad"),
)
"""Figures of psycopg_pool's, all of them: it names one only when it has first counted something."""

_REPLACED = (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege)

log = logging.getLogger("course.service")


class Database:
    """A database, as the service reads it.

    Parameters
    ----------
    find_url
        Gives the URL of a role that can only read; called until it succeeds. It is told whether the
        database was found before: a server that was stopped since is not started again.
    pool_size
        Connections, at most.
    """

    def __init__(self, find_url: Callable[[bool], str], pool_size: int) -> None:
        self._find_url, self._pool_size = find_url, pool_size
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[Any]] | None = None
        self._search: asyncio.Task[None] | None = None
        self._is_away = False
        self._last_read = 0.0
        self.problem = "the database has not been found yet"

    def start(self) -> None:
        """Begin to look for the database in the background."""
        self._search = asyncio.create_task(self._keep())

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
            state = await self.read("no-tenant", look)
        except UnavailableError as error:
            return error.detail
        self._is_away = state != "ready"  # then it is looked for again, and what is missing made
        return state

    async def read(
        self, tenant: str, work: Callable[[psycopg.AsyncConnection[Any]], Awaitable[Found]]
    ) -> Found:
        """Run `work` in a read-only transaction of one tenant and return what it gives.

        A connection that died since it was last used is replaced and the work done once more:
        reading twice does no harm.

        Raises
        ------
        UnavailableError
            If the database is away.
        """
        pool = self._pool
        if pool is None:
            raise UnavailableError(self.problem)
        for attempt in (1, 2):
            try:
                timeout = CONNECTION_TIMEOUT_AWAY if self._is_away else CONNECTION_TIMEOUT
                async with (
                    asyncio.timeout(READ_SECONDS),
                    pool.connection(timeout=timeout) as conn,
                    conn.transaction(),
                ):
                    # Both hold until the transaction ends: the next request starts without them.
                    await conn.execute(
                        "SELECT set_config('course.tenant', %s, true), "
                        "set_config('transaction_read_only', 'on', true)",
                        [tenant],
                    )
                    found = await work(conn)
                self._is_away, self._last_read = False, time.monotonic()
                return found
            except (PoolTimeout, TimeoutError) as error:
                # Where others were read for just now, it is busy: those that wait go on waiting.
                waited = time.monotonic() - self._last_read
                if isinstance(error, TimeoutError) or waited > 2 * CONNECTION_TIMEOUT:
                    self._is_away = True
                raise UnavailableError("the database is busy or away; try again soon") from error
            except (psycopg.Error, DatabaseError) as error:
                cause = error.__cause__ if isinstance(error, DatabaseError) else error
                if isinstance(cause, _REPLACED):
                    self._is_away = True
                    raise UnavailableError("the database was replaced; try again soon") from error
                if not _is_lost(cause):
                    raise
                log.warning("the database went away: %s", str(cause).strip())
                self._is_away = True
                if attempt == 2:
                    raise UnavailableError("the database went away; try again soon") from error
                # A server that was restarted has cut all connections, not only this one.
                with suppress(psycopg.Error, TimeoutError):
                    await asyncio.wait_for(pool.check(), CONNECTION_TIMEOUT_AWAY)
        raise AssertionError("unreachable")

    def figure(self, name: str) -> int:
        """Return one of the pool's figures, 0 for what was not counted yet."""
        return self._pool.get_stats().get(name, 0) if self._pool else 0

    async def _keep(self) -> None:
        """Find the database, and find it again when it stays away: another one may have its place.

        With a new one comes a new password, and often another port.
        """
        again = False
        while True:
            url = await self._find(again=again)
            pool = AsyncConnectionPool(
                url,
                min_size=min(2, self._pool_size),
                max_size=self._pool_size,
                open=False,
                timeout=CONNECTION_TIMEOUT,
                kwargs={"application_name": "course-service", "connect_timeout": 5},
                configure=_configure,
                max_waiting=500,
                # It never gives up, and tries at least this often.
                reconnect_timeout=10,
                name="reader",
            )
            await pool.open(wait=False)
            before, self._pool = self._pool, pool
            self.problem, self._is_away, again = "", False, True
            if before:
                await before.close()
            seconds_away = 0.0
            while seconds_away < FIND_AGAIN_SECONDS:
                await asyncio.sleep(RETRY_SECONDS)
                seconds_away = seconds_away + RETRY_SECONDS if self._is_away else 0.0

    async def _find(self, *, again: bool) -> str:
        while True:
            try:
                return await asyncio.to_thread(self._find_url, again)
            except (CourseError, psycopg.Error) as error:
                said = str(error.args[0] if error.args else error).strip()
                log.warning("the database was not found, and is tried again: %s", said)
                self.problem = "the database cannot be reached"
                if isinstance(error, SchemaMismatchError):
                    self.problem = f"{said}. {error.hint}"
                await asyncio.sleep(RETRY_SECONDS)


def _is_lost(error: BaseException | None) -> bool:
    """Tell whether an error means that the connection is gone, and not that a statement is bad."""
    if isinstance(error, psycopg.errors.QueryCanceled):
        return False
    return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))


async def _configure(conn: psycopg.AsyncConnection[Any]) -> None:
    from pgvector.psycopg import register_vector_async

    await register_vector_async(conn)
    await conn.execute("SET statement_timeout = '30s'")
    await conn.commit()
    # Both rankings of a hybrid search see the same rows, whatever is written in between.
    await conn.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
