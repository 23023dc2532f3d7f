"""What the parts of one running service share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import psycopg

from course_lib.errors import InputError, SchemaMismatchError
from course_lib.records import Scope
from course_lib.service.config import ServiceConfig
from course_lib.service.database import Database
from course_lib.service.encoding import Encoder
from course_lib.service.problems import ProblemError

if TYPE_CHECKING:
    from course_lib.xray import LockFiles, SyncReport

MODEL_CHECKED_SECONDS = 10.0
"""For how long the index of a tenant is known to be the model's own."""

MOST_PACKAGES = 20_000
"""Packages in one scan: each name that is new goes through the model before the answer is sent."""


@dataclass
class Context:
    """The parts of one service.

    Attributes
    ----------
    writing
        One ingest or scan at a time: encoding is the bottleneck, two would only slow each other.
    """

    config: ServiceConfig
    encoder: Encoder
    database: Database
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _model_checked_until: dict[str, float] = field(default_factory=dict)
    _look: asyncio.Task[str] | None = None

    def check_model(
        self, conn: psycopg.Connection[Any], tenant: str, repo: str | None = None
    ) -> None:
        """Refuse to search what another model has encoded: its vectors say nothing to this one.

        Parameters
        ----------
        conn
            A connection in a transaction of the tenant's.
        tenant, repo
            Whose documents are searched, and which; None means all of them.

        Raises
        ------
        ProblemError
            503, with the names of both models, and what the operator can do.
        """
        if time.monotonic() < self._model_checked_until.get(tenant, 0):
            return
        from course_lib.store.models import check_model

        name, dimension = self.encoder.embedder.model_name, self.encoder.embedder.dimension
        try:
            check_model(conn, name, dimension, tenant=tenant, repo=repo)
        except SchemaMismatchError as error:
            # Without Retry-After: it stays so until the index or the setting is changed.
            raise ProblemError(503, f"{error.args[0]}. {error.hint}") from error
        if repo is None:
            self._model_checked_until[tenant] = time.monotonic() + MODEL_CHECKED_SECONDS

    async def model_state(self) -> str:
        """Return ``ready``, or what is the matter with the model."""
        return self.encoder.problem or "ready"

    async def database_state(self) -> str:
        """Return ``ready``, or why a search without a key would be refused.

        Whoever asks meanwhile gets the same answer. Whoever does not wait for it leaves the look
        going on: to cancel a statement, psycopg waits 10 s for a server that is silent.
        """
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._database_state())
        return await asyncio.shield(self._look)

    async def _database_state(self) -> str:
        state, tenant = await self.database.state(), self.config.tenant
        if state == "ready" and self.encoder.is_ready:
            try:
                await self.database.read(tenant, lambda conn: self.check_model(conn, tenant))
            except ProblemError as problem:
                return problem.detail
        return state

    def write(self, files: Sequence[dict[str, Any]], scope: Scope) -> Any:
        """Index a tenant's files, as the role that writes; for a thread of its own.

        Raises
        ------
        InputError, DatabaseError
            As `ingest_source_files`.
        """
        from course_lib.indexing import ingest_source_files
        from course_lib.store import connect, service_url

        embedder = self.encoder.from_thread()
        url = service_url("writer", url=self.config.database_url)
        with connect(url, autocommit=True) as conn:
            return ingest_source_files(files, scope, conn=conn, embedder=embedder)

    def scan(self, project: str, texts: Mapping[str, str], tenant: str) -> SyncReport:
        """Sync a tenant's project with its lock files, as the role that writes; for a thread.

        Raises
        ------
        InputError
            If none of them is a lock file, or they name too many packages.
        DatabaseError
            As `sync_project`.
        """
        from course_lib.store import connect, service_url
        from course_lib.xray import LockFiles, offline_describer, sync_project

        files = LockFiles(texts)
        count = sum(_count(files, language) for language in files.languages())
        if count > MOST_PACKAGES:
            raise InputError(
                f"the lock files name {count} packages, and {MOST_PACKAGES} are the most",
                hint="Scan them where the database is: course xray scan.",
            )
        embedder = self.encoder.from_thread() if self.encoder.is_ready else None
        url = service_url("writer", url=self.config.database_url)
        with connect(url, autocommit=True) as conn:
            return sync_project(
                conn,
                project,
                files,
                tenant=tenant,
                embedder=embedder,
                describer=offline_describer(),
            )


def _count(files: LockFiles, language: str) -> int:
    """Return how many packages the files of a language name; none where one of them is broken."""
    try:
        return len(files.packages(language))
    except InputError:
        return 0
