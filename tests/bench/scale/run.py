"""A run: sizes and a state folder go in, figures come out, written down after every step."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import psutil
import psycopg
from rich.console import Console

from tests.bench.scale import loading, results, stage
from tests.bench.scale.cluster import SHARED_BUFFERS, Cluster, refuse_if_short

DATABASE = "scale"
SETTINGS = {"shared_buffers": f"{SHARED_BUFFERS >> 30}GB", "max_wal_size": "4GB"}


def run(sizes: list[int], state: Path, console: Console, *, keep: bool) -> results.Figures:
    """Measure the sizes, smallest first, and return the figures.

    Parameters
    ----------
    sizes
        Numbers of rows, rising.
    state
        The folder of the server and of what was measured so far.
    console
        Where progress is shown.
    keep
        Whether the data stays when all is done.
    """
    done = results.Partial(state / "partial.json")
    missing = [size for size in sizes if str(size) not in done.part("sizes")]
    _refuse_if_short(max(sizes), state)
    cluster = Cluster.start(state, SETTINGS)
    try:
        with console.status("starting") as status:

            def progress(what: str) -> None:
                status.update(what)
                if not console.is_terminal:
                    console.print(f"{datetime.datetime.now():%H:%M:%S} {what}")

            if missing:
                _restart_if_larger(cluster, missing[0])
            for size in sizes:
                with cluster.open(DATABASE) as conn:
                    if size in missing:
                        done.put("sizes", str(size), stage.measure(conn, cluster, size, progress))
            with cluster.open(DATABASE) as conn:
                done.put("software", "versions", _versions(conn))
    finally:
        cluster.stop()
    if not keep:
        cluster.remove()
        done.remove()
    return done.everything()


def _versions(conn: psycopg.Connection[Any]) -> dict[str, str]:
    row = conn.execute(
        "SELECT current_setting('server_version'), "
        "(SELECT extversion FROM pg_extension WHERE extname = 'vector')"
    ).fetchone()
    return {"postgresql": row[0], "pgvector": row[1]} if row else {}


def _restart_if_larger(cluster: Cluster, size: int) -> None:
    """Drop what was loaded if it is more than the next size to measure."""
    with cluster.open(DATABASE) as conn:
        larger = loading.stored(conn) > size
    if larger:
        cluster.drop(DATABASE)


def _refuse_if_short(rows: int, state: Path) -> None:
    folder = state / "pgdata" if (state / "pgdata").exists() else state
    there = sum(path.stat().st_size for path in folder.resolve().rglob("*") if path.is_file())
    free = psutil.disk_usage(str(folder.resolve())).free
    refuse_if_short(rows, free + there, psutil.virtual_memory().available, state)
