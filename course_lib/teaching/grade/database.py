"""An empty database for each submission, in a cluster that its grader has for itself.

The submission reaches it, as a role that reaches no other, through the cluster's unix socket, whose
folder is bound within the fence. What it fills is a file system of limited size, and what it takes
of the server no other grader's submission needs.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from course_lib.errors import DatabaseError
from course_lib.teaching.grade.cluster import grading_cluster
from course_lib.teaching.grade.fence import Fence

if TYPE_CHECKING:
    from course_lib.store.databases import FreshDatabase

WITHIN = "/postgres"
"""Where the socket's folder is within the fence."""

CONNECTIONS = 12


class Databases:
    """Gives each process of a submission an empty database, one at a time.

    Parameters
    ----------
    fence
        Whose bubblewrap limits the size of the cluster.

    Attributes
    ----------
    folder
        Holds the socket.
    admin_url
        Of a role that may make databases and roles; empty until the first database is given.
    url
        Of the present database, for whoever is outside of the fence.
    """

    def __init__(self, fence: Fence) -> None:
        self.fence = fence
        self.folder = Path(tempfile.mkdtemp(prefix="course-pg-"))
        self.folder.chmod(0o755)
        self.admin_url = self.url = ""
        self._cluster = contextlib.ExitStack()
        self._fresh: FreshDatabase | None = None

    def give(self) -> str:
        """Make an empty database, drop the one before, and return the URL within the fence.

        Where a submission has left no server that can do that, another cluster is started.
        """
        import psycopg

        from course_lib.store.libpq import forget_libpq_variables

        forget_libpq_variables()  # they are for other servers
        if self.admin_url:
            with contextlib.suppress(DatabaseError, psycopg.Error):
                return self._given()
            self._stop()
        self.admin_url = self._cluster.enter_context(grading_cluster(self.fence, self.folder))
        return self._given()

    def take_back(self) -> None:
        """Drop the database that was given last, and end what is connected to it."""
        fresh, self._fresh = self._fresh, None
        if fresh is not None:
            fresh.drop()

    def close(self) -> None:
        """End the cluster, with all that is in it."""
        self._stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _given(self) -> str:
        import psycopg
        from psycopg import sql

        from course_lib.store import fresh_database

        self.take_back()
        self._fresh = fresh = fresh_database("grade", url=self.admin_url)
        role = sql.Identifier(fresh.name)
        with psycopg.connect(self.admin_url, autocommit=True) as conn:
            left = "SELECT FROM pg_database WHERE datname LIKE '%%grade%%' AND datname <> %s"
            if conn.execute(left, [fresh.name]).fetchone():
                raise DatabaseError("the last database could not be dropped")
            limit = sql.Literal(CONNECTIONS)
            conn.execute(sql.SQL("ALTER ROLE {} CONNECTION LIMIT {}").format(role, limit))
        self.url = fresh.url
        parts = urlsplit(fresh.url)
        host = quote(str(self.folder) if self.fence.kind == "none" else WITHIN, safe="")
        secret = quote(unquote(parts.password or ""), safe="")
        return f"postgresql://{parts.username}:{secret}@/{fresh.name}?host={host}&port={parts.port}"

    def _stop(self) -> None:
        self.admin_url = ""
        self._cluster.close()
        self._fresh = None  # which finds no server any more
