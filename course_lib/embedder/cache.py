"""Vectors on disk: what was encoded once is not encoded again.

One SQLite file, shared by labs, tests and benches; SQLite's own locking lets any number of
processes use it at once. When it passes its size limit, the rows written first make room.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from course_lib.embedder.vectors import Vectors
from course_lib.settings import make_folder

log = logging.getLogger(__name__)


class VectorCache:
    """A disk cache of vectors.

    A file that cannot be opened, read or written is left alone: the cache then says so once and
    stores nothing, and every vector is encoded afresh.

    Parameters
    ----------
    path
        The SQLite file; made when missing.
    limit_bytes
        How much the vectors may take together.

    Examples
    --------
    >>> import tempfile
    >>> cache = VectorCache(Path(tempfile.mkdtemp()) / "vectors.sqlite")
    >>> cache.put("model", ["a"], np.ones((1, 3), dtype=np.float32))
    >>> cache.get("model", ["a", "b"])
    {0: array([1., 1., 1.], dtype=float32)}
    """

    def __init__(self, path: Path, limit_bytes: int = 500_000_000) -> None:
        self.path = path
        self.limit_bytes = limit_bytes
        self._connection: sqlite3.Connection | None = None
        self._is_off = False

    def get(self, model: str, texts: Sequence[str]) -> dict[int, Vectors]:
        """Return place in `texts` → vector, for those that are there."""
        keys = [_key(model, text) for text in texts]
        found: dict[bytes, Vectors] = {}
        try:
            connection = self._open()
            for at in range(0, len(keys) if connection else 0, 500):
                assert connection is not None
                some = keys[at : at + 500]
                marks = ",".join("?" * len(some))
                rows = connection.execute(
                    f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some
                )
                found |= {key: np.frombuffer(raw, dtype="<f4") for key, raw in rows}
        except sqlite3.Error as error:
            self._give_up(error)
        return {place: found[key] for place, key in enumerate(keys) if key in found}

    def put(self, model: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Keep the vectors of some texts."""
        try:
            connection = self._open()
            if connection is None:
                return
            with connection:
                connection.executemany(
                    "INSERT OR IGNORE INTO vectors (key, vector) VALUES (?, ?)",
                    (
                        (_key(model, text), np.asarray(vector, dtype="<f4").tobytes())
                        for text, vector in zip(texts, vectors, strict=True)
                    ),
                )
                self._make_room(connection)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _make_room(self, connection: sqlite3.Connection) -> None:
        size, rows = connection.execute(
            "SELECT coalesce(sum(length(vector)), 0), count(*) FROM vectors"
        ).fetchone()
        if size > self.limit_bytes:
            # Down to nine tenths, so that not every write has to make room again.
            surplus = int(rows * (1 - 0.9 * self.limit_bytes / size)) + 1
            connection.execute(
                "DELETE FROM vectors WHERE rowid IN "
                "(SELECT rowid FROM vectors ORDER BY rowid LIMIT ?)",
                [surplus],
            )

    def _open(self) -> sqlite3.Connection | None:
        if self._connection is None and not self._is_off:
            try:
                make_folder(self.path.parent)
                connection = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
                # Who is late while another process makes the file is refused at once, without
                # the timeout; it goes on in the mode of that one.
                with suppress(sqlite3.OperationalError):
                    connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS vectors (key BLOB UNIQUE, vector BLOB)"
                )
                self._connection = connection
            except (sqlite3.Error, OSError) as error:
                self._give_up(error)
        return self._connection

    def _give_up(self, error: Exception) -> None:
        self._is_off = True
        self._connection = None
        log.warning("the vector cache %s is not used: %s", self.path, error)


def _key(model: str, text: str) -> bytes:
    raw = f"{model}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(raw).digest()
