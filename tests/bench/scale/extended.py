"""From the measured curves to a hundred million rows: what, the sum written out, its result."""

from __future__ import annotations

from typing import NamedTuple

from tests.bench.scale.arithmetic import (
    Fit,
    fit_n_log_n,
    fit_power,
    replicas_for,
    servers_for,
    shards_for,
)
from tests.bench.scale.results import Figures

ROWS, MANY = 100_000_000, "10⁸"
BUILD_MEMORY = 16 * 2**30
LIBRARY_MEMORY = 512 * 2**20
"""`maintenance_work_mem` in `course_lib.store.vector_indexes.build_vector_indexes`."""
SERVER_MEMORY, SERVER_CORES = 64 * 2**30, 8
TABLE_LIMIT = 32 * 2**40
QUERIES_A_SECOND = 1_000
HOURS, SHARD_CORES = 10, 4
WALKED_FROM = 30_000


OWN_GRAPH_BELOW = 5_000
"""Rows; when the kept figures were measured, the library built pgvector's own graph below that."""


class Line(NamedTuple):
    """One line of the table."""

    what: str
    sum: str
    result: str


def build_fit(figures: Figures) -> Fit:
    """Return the curve of CPU seconds through the builds of the graph."""
    builds = [build for size in figures["sizes"].values() for build in size["builds"]]
    builds = [
        build for build in builds if build["rows"] >= OWN_GRAPH_BELOW and build["cpu"] is not None
    ]
    return fit_n_log_n([build["rows"] for build in builds], [build["cpu"] for build in builds])


def lines(figures: Figures) -> list[Line]:
    """Return what is known about `ROWS` rows."""
    beside = figures.get("beside", {})
    largest = list(figures["sizes"].values())[-1]
    found = [*_disk(largest)]
    graph = _graph_bytes(beside)
    if graph:
        found += [*_graphs(graph, build_fit(figures)), *_on_disk(beside["workers"])]
    found += _smaller(beside, largest)
    found += _searching(figures)
    found += _filling(figures, largest)
    return found


def _disk(size: Figures) -> list[Line]:
    rows, held = size["rows"], size["bytes"]
    names = {"table": "table", "hnsw": "vector index", "gin": "word index", "btree": "B-trees"}
    found = [
        Line(
            f"{name}, on disk",
            f"{held[sort] / rows:,.0f} bytes a row (at {rows:,}) × {MANY}",
            f"{held[sort] / rows * ROWS / 1e9:,.0f} GB",
        )
        for sort, name in names.items()
    ]
    share = held["table"] / rows * ROWS / TABLE_LIMIT
    found.append(
        Line("one table's limit, 32 TB", "the table / (32 × 2⁴⁰ bytes)", f"{share:.1%} of it")
    )
    return found


def _graph_bytes(beside: Figures) -> float | None:
    """Return the memory that a row takes in a graph: measured where a build ran out of it."""
    for build in beside.get("workers", []):
        if build["rows_in_memory"] < build["rows"]:
            return float(build["memory"] / build["rows_in_memory"])
    return None


def _graphs(graph: float, fit: Fit) -> list[Line]:
    fitting = int(BUILD_MEMORY / graph)
    parts = -(-ROWS // fitting)
    whole, split = fit.at(ROWS) / 3600, parts * fit.at(ROWS / parts) / 3600
    curve = f"{fit.factor:.2e} s · n · log₂ n (residual {fit.residual:.0%}, worst {fit.worst:.0%})"
    return [
        Line(
            "memory to build one graph of all",
            f"{graph:,.0f} bytes a row (where a build ran out) × {MANY}",
            f"{graph * ROWS / 1e9:,.0f} GB",
        ),
        Line(
            "rows that the library's own build holds in memory",
            f"512 MiB / {graph:,.0f}", f"{LIBRARY_MEMORY / graph:,.0f} a partition",
        ),
        Line(
            "partitions, with 16 GiB to build one",
            f"{MANY} / (16 GiB / {graph:,.0f} = {fitting:,})", f"{parts}",
        ),
        Line("building one graph", curve, f"{whole:,.0f} core hours"),
        Line(
            f"building {parts} graphs", f"{parts} × the curve at {ROWS // parts:,}",
            f"{split:,.0f} core hours; {split / SERVER_CORES:,.0f} h on {SERVER_CORES} cores",
        ),
    ]  # fmt: skip


def _on_disk(builds: list[Figures]) -> list[Line]:
    """Return what a row costs once the memory is full, against one that is in memory."""
    small = next(build for build in builds if build["rows_in_memory"] < build["rows"])
    enough = next(
        build
        for build in builds
        if build["rows_in_memory"] == build["rows"] and build["workers"] == small["workers"]
    )
    inside, rest = small["rows_in_memory"], small["rows"] - small["rows_in_memory"]
    each = enough["cpu"] / enough["rows"]
    beyond = (small["cpu"] - inside * each) / rest
    return [
        Line(
            "building beyond the memory, a row",
            f"({small['cpu']:.1f} s − {inside:,} × {each * 1000:.2f} ms) / {rest:,} = "
            f"{beyond * 1000:.2f} ms of CPU, against {each * 1000:.2f} ms",
            f"{beyond / each:.1f} times as much",
        )
    ]


def _smaller(beside: Figures, size: Figures) -> list[Line]:
    found: list[Line] = []
    measured = beside.get("real") or beside.get("made")
    if not measured:
        return found
    for kind in ("vector", "halfvec", "bit"):
        each = measured[kind]["build"]["bytes"] / measured["rows"]
        total = each * ROWS
        found.append(
            Line(
                f"servers of 64 GiB that hold the index on {kind}",
                f"{each:,.0f} bytes a row × {MANY} = {total / 1e9:,.0f} GB, "
                "three quarters of the memory for it",
                f"{servers_for(total, SERVER_MEMORY)}",
            )
        )
    return found


def _searching(figures: Figures) -> list[Line]:
    # With fewer rows, every row is read and no graph is walked.
    sizes = [size for size in figures["sizes"].values() if size["rows"] >= WALKED_FROM]
    found: list[Line] = []
    name = "dense"
    cpu = [size["search"][name]["server_cpu_ms"] for size in sizes]
    largest = sizes[-1]
    if len(sizes) > 1:
        factor, exponent = fit_power([size["rows"] for size in sizes], cpu)
        found.append(
            Line(
                "CPU of a dense search, were all rows in five graphs as here",
                f"{factor:.2f} ms · n^{exponent:.2f}, fitted from {sizes[0]['rows']:,} to "
                f"{largest['rows']:,}",
                f"{factor * ROWS**exponent:.0f} ms",
            )
        )
    for kind, label in ((name, "dense"), ("hybrid", "hybrid")):
        each = largest["search"][kind]["server_cpu_ms"]
        found.append(
            Line(
                f"read replicas for {QUERIES_A_SECOND:,} {label} searches a second",
                f"{1000 / each:,.0f} a second and core ({each:.1f} ms of CPU at "
                f"{largest['rows']:,}), {SERVER_CORES} cores, half busy",
                f"{replicas_for(QUERIES_A_SECOND, each, SERVER_CORES)}",
            )
        )
    filtered = largest["search"]["dense, filter 10 %"]
    found.append(
        Line(
            "rows with a filter of 1 %",
            f"{MANY} / 100; the most that were tried are {largest['rows'] // 10:,}, with "
            f"10 % of {largest['rows']:,}: recall {filtered['recall']:.3f}, "
            f"{filtered['server_cpu_ms']:.0f} ms of CPU",
            f"{ROWS // 100:,}",
        )
    )
    return found


def _filling(figures: Figures, size: Figures) -> list[Line]:
    ingest = size["ingest"]
    each = ingest["server_cpu_ms_per_row"] + ingest["client_cpu_ms_per_row"]
    hours = each * ROWS / 3.6e6
    found = [
        Line(
            "writing the rows, without the vector index",
            f"{each:.2f} ms of CPU a row × {MANY}",
            f"{hours:,.0f} core hours; {hours / SERVER_CORES:,.1f} h with {SERVER_CORES} writers "
            "of different sources",
        )
    ]
    encode = figures.get("outside", {}).get("encode")
    if encode:
        rate = encode["per_core_second"]
        shards = shards_for(ROWS, rate * SHARD_CORES, HOURS)
        found.append(
            Line(
                f"KFP shards that encode all in {HOURS} hours, {SHARD_CORES} cores each",
                f"{MANY} / ({rate:,.0f} chunks a core second × {SHARD_CORES} × {HOURS} h)",
                f"{shards} shards of {ROWS / shards:,.0f} chunks",
            )
        )
    return found
