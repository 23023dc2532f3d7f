"""A run: sizes and a state folder go in, figures come out, written down after every step."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from rich.console import Console

from course_lib.store.schema import table_for
from tests.bench.scale import corpus, loading, outside, results, stage, variants
from tests.bench.scale.cluster import SHARED_BUFFERS, Cluster, refuse_if_short

VARIANTS_AT = 100_000
DATABASE = "scale"
SETTINGS = {"shared_buffers": f"{SHARED_BUFFERS >> 30}GB", "max_wal_size": "4GB"}


def run(sizes: list[int], state: Path, console: Console, *, keep: bool) -> results.Figures:
    """Measure the sizes, smallest first, and what is measured beside them; return the figures.

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
                    if size == VARIANTS_AT:
                        _beside(conn, cluster, size, done, progress)
            with cluster.open(DATABASE) as conn:
                done.put("software", "versions", outside.versions(conn))
            if "encode" not in done.part("outside"):
                progress("encoding")
                done.put("outside", "encode", outside.encode_rate())
    finally:
        cluster.stop()
    if not keep:
        cluster.remove()
    if not keep:
        done.remove()
    return done.everything()


def _beside(
    conn: Any, cluster: Cluster, size: int, done: results.Partial, progress: loading.Progress
) -> None:
    """Measure what changes other than the size: workers, memory, smaller vectors, limits."""
    table = table_for("documentation")
    beside = done.part("beside")
    if "limits" not in beside:
        done.put("beside", "limits", variants.limits(conn))
    if "workers" not in beside:
        done.put("beside", "workers", variants.workers(conn, cluster, table, progress))
    asked = np.stack([question.vector for question in corpus.questions(stage.QUESTIONS)])
    made = np.concatenate([corpus.vectors(at) for at in range(-(-size // corpus.BLOCK))])[:size]
    sorts = {"made": (made, asked)}
    found = outside.real_vectors()
    if found is not None:
        sorts = {"real": outside.real_questions(found, stage.QUESTIONS), **sorts}
    for name, (rows, questions) in sorts.items():
        if name not in done.part("likeness"):
            done.put("likeness", name, outside.likeness(rows, questions))
        if name not in beside:
            figures = variants.measure(conn, cluster, rows, questions, progress)
            done.put("beside", name, figures)


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
