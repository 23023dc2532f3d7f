"""What the parts of one running service share."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from course_lib.records import TenantContext
from course_lib.service.config import ServiceConfig
from course_lib.service.database import Database
from course_lib.service.encoding import Encoder
from course_lib.service.metrics import Metrics


@dataclass
class Context:
    """The parts of one service.

    Attributes
    ----------
    writing
        One ingest at a time: encoding is the bottleneck, and two would only slow each other.
    """

    config: ServiceConfig
    encoder: Encoder
    database: Database
    metrics: Metrics
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def write(self, files: Sequence[dict[str, Any]], owner: TenantContext, partition: str) -> Any:
        """Index a tenant's files, as the role that writes; for a thread of its own.

        Raises
        ------
        InputError, DatabaseError
            As `ingest_source_files`.
        """
        from course_lib.embedder import EmbeddingClient
        from course_lib.indexing import ingest_source_files
        from course_lib.store import connect, service_url

        embedder = cast("EmbeddingClient", self.encoder.from_thread())
        url = service_url("writer", url=self.config.database_url)
        with connect(url, autocommit=True) as conn:
            return ingest_source_files(
                files, owner, conn=conn, embedder=embedder, partition=partition
            )
