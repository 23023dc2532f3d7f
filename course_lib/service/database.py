"""The service's way to PostgreSQL: threads and a pool that read, as a role that cannot do more.

A request borrows a thread and a connection, and what runs there is what a command runs, too. The
service starts while the database is away and says so. Once the database was found, psycopg_pool
keeps the connections and makes new ones after a restart. As long as the database is away, every
request fails quickly with the same answer, and none hangs.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg_pool import ConnectionPool

from course_lib.errors import CourseError, DatabaseError, SchemaMismatchError
from course_lib.service.problems import UnavailableError
from course_lib.store.logins import LOGIN
from course_lib.store.urls import split_settings

Result = TypeVar("Result")
RV = TypeVar("RV")

CONNECTION_TIMEOUT = 2.0
"""Seconds that a request waits for a thread and a connection; `/ready` answers within three."""

READ_SECONDS = 35.0
"""Seconds that a request may read: the server ends a statement after 30, unless it is silent."""

WAITING_LIMIT = 500
"""Requests that may wait for a thread."""

RETRY_SECONDS = 1.0
"""Seconds between two attempts to find the database at the start."""

LIMITS = {"transaction_read_only": "on", "statement_timeout": "30s"}

log = logging.getLogger("course.service")


class ReadConnection(psycopg.Connection[Any]):
    """A connection that waits for its server until a moment, and no longer: it may be silent."""

    _end = math.inf

    def allow(self, seconds: float) -> None:
        """Let what follows take so many seconds, all in all."""
        self._end = time.monotonic() + seconds

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Wait for the server; psycopg calls this for each statement."""
        left = max(0.0, self._end - time.monotonic())
        return super().wait(gen, interval, left if timeout is None else min(left, timeout))


class Database:
    """A database, as the service reads it.

    Parameters
    ----------
    find_url
        Gives the URL of a role that can only read; called until it succeeds.
    pool_size
        Threads and connections, at most.

    Attributes
    ----------
    problem
        Why there is no database yet.
    waiting
        Requests that wait for a thread.
    """

    def __init__(self, find_url: Callable[[], str], pool_size: int) -> None:
        self._find_url, self._pool_size = find_url, pool_size
        self._chosen: dict[str, str] = {}
        self._pool: ConnectionPool[ReadConnection] | None = None
        self._threads = ThreadPoolExecutor(pool_size, thread_name_prefix="reader")
        self._free = asyncio.Semaphore(pool_size)
        self._search: asyncio.Task[None] | None = None
        self.problem = "the database has not been found yet"
        self.waiting = 0

    def start(self) -> None:
        """Begin to look for the database in the background."""
        self._search = asyncio.create_task(self._open())

    async def stop(self) -> None:
        """Give all connections back; those at work end their statement first."""
        if self._search:
            self._search.cancel()
            with suppress(asyncio.CancelledError):
                await self._search
        await asyncio.to_thread(self._threads.shutdown)
        if self._pool:
            await asyncio.to_thread(self._pool.close)

    async def state(self) -> str:
        """Return ``ready``, or what is the matter with the database."""

        def look(conn: psycopg.Connection[Any]) -> str:
            row = conn.execute("SELECT to_regclass('document_chunks') IS NOT NULL").fetchone()
            return "ready" if row and row[0] else "there is no index in the database yet"

        try:
            return await self.read("no-tenant", look)
        except UnavailableError as error:
            return error.detail

    async def read(self, tenant: str, work: Callable[[psycopg.Connection[Any]], Result]) -> Result:
        """Run `work` in a read-only transaction of one tenant, in a thread; return what it gives.

        Raises
        ------
        UnavailableError
            If the database is busy or away.
        """
        if self._pool is None:
            raise UnavailableError(self.problem)
        end = time.monotonic() + CONNECTION_TIMEOUT
        try:
            async with self._thread():
                run = asyncio.get_running_loop().run_in_executor
                return await run(self._threads, self._read, self._pool, end, tenant, work)
        except (TimeoutError, psycopg.Error, DatabaseError) as error:
            log.warning("a request could not read: %s", str(error).strip() or type(error).__name__)
            raise UnavailableError("the database is busy or away; try again soon") from error

    def figure(self, name: str) -> int:
        """Return one of the pool's figures, 0 for what was not counted yet."""
        return self._pool.get_stats().get(name, 0) if self._pool else 0

    @asynccontextmanager
    async def _thread(self) -> AsyncIterator[None]:
        """Wait until a thread is free, and keep it for the block."""
        if self.waiting >= WAITING_LIMIT:
            raise TimeoutError("too many requests wait for a connection")
        self.waiting += 1
        try:
            async with asyncio.timeout(CONNECTION_TIMEOUT):
                await self._free.acquire()
        finally:
            self.waiting -= 1
        try:
            yield
        finally:
            self._free.release()

    def _read(
        self,
        pool: ConnectionPool[ReadConnection],
        end: float,
        tenant: str,
        work: Callable[[psycopg.Connection[Any]], Result],
    ) -> Result:
        with pool.connection(max(0.0, end - time.monotonic())) as conn, conn.transaction():
            conn.allow(READ_SECONDS)
            _set(conn, {**self._chosen, **LIMITS, "course.tenant": tenant})
            return work(conn)

    async def _open(self) -> None:
        login, self._chosen = split_settings(await self._find())
        pool = ConnectionPool(
            login,
            connection_class=ReadConnection,
            min_size=min(2, self._pool_size),
            max_size=self._pool_size,
            open=False,
            timeout=CONNECTION_TIMEOUT,
            # Prepared statements could be another client's with a pooler, and gain nothing here.
            kwargs={**LOGIN, "application_name": "course-service", "connect_timeout": 5}
            | {"prepare_threshold": None},
            configure=self._configure,
            # A connection that died since it was last used is replaced before a request gets it.
            check=self._check,
            # After that the next request tries again.
            reconnect_timeout=4,
            name="reader",
        )
        pool.open()
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

    def _configure(self, conn: ReadConnection) -> None:
        from pgvector.psycopg import register_vector

        conn.allow(CONNECTION_TIMEOUT)
        with conn.transaction():
            _set(conn, self._chosen)
            register_vector(conn)
        # Both rankings of a hybrid search see the same rows, whatever is written in between.
        conn.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ

    def _check(self, conn: ReadConnection) -> None:
        conn.allow(CONNECTION_TIMEOUT)
        ConnectionPool.check_connection(conn)


def _set(conn: psycopg.Connection[Any], values: dict[str, str]) -> None:
    """Set what holds until the transaction ends: whoever has the session next is without it."""
    calls = ", ".join(["set_config(%s, %s, true)"] * len(values))
    conn.execute(f"SELECT {calls}", [part for pair in values.items() for part in pair])
