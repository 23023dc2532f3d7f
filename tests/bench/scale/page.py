"""The page: figures go in, `tests/bench/README.md` comes out with its tables made again.

A table stands between `<!-- made: NAME -->` and `<!-- end -->`; what is around it is written by
hand, and a test compares the page with the figures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from course_lib.errors import CourseError
from tests.bench.scale.extended import lines
from tests.bench.scale.results import Figures

PAGE = Path(__file__).parents[1] / "README.md"
_MADE = re.compile(r"(<!-- made: ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


ABSENT = "(Not measured on this machine.)"


class PageError(CourseError):
    """The page and the tables do not belong together."""


def write(results: Sequence[Figures], path: Path = PAGE) -> Path:
    """Write the tables of the results into the page, and return its path."""
    if not results:
        raise PageError("there are no results", hint="Run python -m tests.bench.scale first.")
    path.write_text(filled(path.read_text(encoding="utf-8"), newest(results)), encoding="utf-8")
    return path


def newest(results: Sequence[Figures]) -> dict[str, str]:
    """Return the tables of the first results; those that it lacks say where they are from."""
    made = tables(results[0])
    for older in results[1:]:
        for name, table in tables_beside(older).items():
            if made[name] == ABSENT != table:
                made[name] = f"On another machine, {_hardware(older)}\n\n{table}"
    return made


def filled(text: str, made: dict[str, str]) -> str:
    """Return a page with its tables replaced.

    Raises
    ------
    PageError
        If the page asks for a table that there is not.

    Examples
    --------
    >>> print(filled("<!-- made: sums -->\\nold\\n<!-- end -->", {"sums": "new"}))
    <!-- made: sums -->
    new
    <!-- end -->
    """

    def put(found: re.Match[str]) -> str:
        if found[2] not in made:
            raise PageError(f"there is no table {found[2]!r}", hint=f"There are {', '.join(made)}.")
        return f"{found[1]}{made[found[2]]}\n{found[3]}"

    return _MADE.sub(put, text)


def tables(figures: Figures) -> dict[str, str]:
    """Return the tables of the page, by name, in Markdown."""
    sizes = list(figures["sizes"].values())
    made = {
        "hardware": _hardware(figures),
        "bytes": _table(
            "rows|table, bytes a row|vector index|word index|other indexes|server's memory",
            [_bytes(size) for size in sizes],
        ),
        "writing": _table(
            "rows|written a second|CPU ms a row, server + client|10,000 unchanged rows: CPU s|"
            "one document, new: CPU ms (clock's p95)|changed: CPU ms (clock's p95)",
            [_writing(size) for size in sizes],
        ),
        "builds": _table(
            "rows in one graph|CPU s|CPU ms a row|s by the clock",
            [
                [f"{build['rows']:,}", *_cpu(build), f"{build['seconds']:,.1f}"]
                for build in (size["builds"][0] for size in sizes)
            ],
        ),
        "recall": _table(
            "rows|ef_search 40|100|200|400|the library's|filter 1 %|filter 10 %",
            [_recall(size) for size in sizes],
        ),
        "times": _table(
            "rows|dense|hybrid|filter 1 %|filter 10 %|only 80 % partition|only 3 % partition",
            [_times(size) for size in sizes],
        ),
        "clock": _table(
            "rows|load average|dense p50 / p95|hybrid p50 / p95|filter 1 % p50 / p95|"
            "exact p50 / p95",
            [_clock(size) for size in sizes],
        ),
    }  # fmt: skip
    notes = figures.get("notes", {}).values()
    made["notes"] = "\n".join(f"- {note}" for note in notes) or "Nothing."
    made["extended"] = _table("what|sum|result", [list(line) for line in lines(figures)], words=3)
    return made | tables_beside(figures)


def tables_beside(figures: Figures) -> dict[str, str]:
    """Return the tables of what was measured beside the sizes."""
    beside, likeness = figures.get("beside", {}), figures.get("likeness", {})
    return {
        "limits": _limits(beside["limits"]) if "limits" in beside else ABSENT,
        "workers": _workers(beside["workers"]) if "workers" in beside else ABSENT,
        "made vectors": _variants(beside["made"]) if "made" in beside else ABSENT,
        "real vectors": _variants(beside["real"]) if "real" in beside else ABSENT,
        "likeness": _likeness(likeness) if {"made", "real"} <= set(likeness) else ABSENT,
        "choice": _choice(figures["choice"]) if "choice" in figures else ABSENT,
    }


def _table(head: str, rows: list[list[str]], *, words: int = 1) -> str:
    """Return a table whose first columns hold words and the others numbers."""
    names = head.split("|")
    made = [names, [*["---"] * words, *["---:"] * (len(names) - words)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in made)


def _hardware(figures: Figures) -> str:
    versions = figures.get("software", {}).get("versions", {})
    days = sorted({when[:10] for when in figures.get("when", {}).values()})
    parts = [figures["hardware"]]
    if versions:
        parts.append(f"PostgreSQL {versions['postgresql']}, pgvector {versions['pgvector']}")
    return "; ".join([*parts, f"measured {' and '.join(days)}"]) + "."


def _cpu(build: Figures) -> list[str]:
    """Return CPU seconds, and milliseconds a row; a run that was broken off has none."""
    if build["cpu"] is None:
        return ["not kept", ""]
    return [f"{build['cpu']:.1f}", f"{build['cpu'] / build['rows'] * 1000:.2f}"]


def _bytes(size: Figures) -> list[str]:
    rows, held = size["rows"], size["bytes"]
    each = [f"{held[sort] / rows:,.0f}" for sort in ("table", "hnsw", "gin", "btree")]
    return [f"{rows:,}", *each, f"{size['resident_bytes'] / 2**20:,.0f} MiB"]


def _writing(size: Figures) -> list[str]:
    ingest, again, probes = size["ingest"], size["again"], size["probes"]
    cpu = f"{ingest['server_cpu_ms_per_row']:.2f} + {ingest['client_cpu_ms_per_row']:.2f}"
    each = [
        f"{probes[what]['server_cpu_ms']:.1f} ({probes[what]['p95_ms']:.0f})"
        for what in ("insert", "update")
    ]
    rate = f"{ingest['rows_per_second']:,.0f}"
    return [f"{size['rows']:,}", rate, cpu, f"{again['server_cpu']:.1f}", *each]


def _recall(size: Figures) -> list[str]:
    names = [*(f"dense, ef_search {ef}" for ef in (40, 100, 200, 400)), "dense"]
    found = [size["search"][name]["recall"] for name in names]
    filtered = [size["search"][f"dense, filter {share}"]["recall"] for share in ("1 %", "10 %")]
    return [f"{size['rows']:,}", *(f"{share:.3f}" for share in found + filtered)]


def _times(size: Figures) -> list[str]:
    names = (
        "dense", "hybrid", "dense, filter 1 %", "dense, filter 10 %",
        "dense, only documentation", "dense, only code_pipelines",
    )  # fmt: skip
    return [
        f"{size['rows']:,}", *(f"{size['search'][name]['server_cpu_ms']:.1f}" for name in names)
    ]  # fmt: skip


def _clock(size: Figures) -> list[str]:
    names = ("dense", "hybrid", "dense, filter 1 %", "dense, exact")
    found = [size["search"][name] for name in names]
    load = f"{size['load_before']:.0f} … {size['load_after']:.0f}"
    return [
        f"{size['rows']:,}", load, *(f"{one['p50_ms']:.0f} / {one['p95_ms']:.0f}" for one in found)
    ]  # fmt: skip


def _limits(limits: Figures) -> str:
    return _table(
        "limit|most|holds|one more",
        [
            [what, f"{found['most']:,}", "yes" if found["holds"] else "no",
             found["beyond"] or "is accepted too"]
            for what, found in limits.items()
        ],
    )  # fmt: skip


def _workers(builds: list[Figures]) -> str:
    return _table(
        "workers beside the builder|memory, MiB|rows that fitted|CPU s|s by the clock",
        [
            [str(build["workers"]), f"{build['memory'] / 2**20:,.0f}",
             f"{build['rows_in_memory']:,} of {build['rows']:,}", f"{build['cpu']:.1f}",
             f"{build['seconds']:.1f}"]
            for build in builds
        ],
    )  # fmt: skip


def _variants(found: Figures) -> str:
    rows = [
        [kind, how, f"{found[kind]['build']['bytes'] / found['rows']:,.0f}",
         f"{found[kind]['build']['cpu']:.1f}", f"{one['recall']:.3f}",
         f"{one['server_cpu_ms']:.1f}", f"{one['p50_ms']:.0f} / {one['p95_ms']:.0f}"]
        for kind in ("vector", "vector, m 32", "halfvec", "bit")
        for how, one in found[kind]["search"].items()
    ]  # fmt: skip
    head = "index on|search|index, bytes a row|build, CPU s|recall@10|CPU ms|p50 / p95 ms"
    return f"{found['rows']:,} vectors:\n\n{_table(head, rows, words=2)}"


def _likeness(both: Figures) -> str:
    rows = []
    for what in ("of rows", "of questions"):
        for place in ("1", "10", "100", "1000"):
            quartiles = [
                " / ".join(f"{value:.3f}" for value in both[name][what][place])
                for name in ("made", "real")
            ]
            rows.append([f"{place}. nearest {what.removeprefix('of ')}", *quartiles])
    rows.append(
        ["length of the mean", *(f"{both[name]['mean_length']:.3f}" for name in ("made", "real"))]
    )
    return _table("cosine distance, quartiles|made|real", rows)


def _choice(choice: Figures) -> str:
    def searches(one: Figures) -> list[str]:
        both = f"{one['p50'] * 1000:.1f} / {one['p95'] * 1000:.1f}"
        return [f"{one['recall']:.3f}", f"{one['cpu'] * 1000:.1f}", both]

    rows = [
        [
            f"{found['rows']:,}", "the library's" if found["chosen"] else "m 16, ef_search 100",
            f"{found['build_seconds']:.1f}", *searches(found["all"]),
            f"{found['rare']['recall']:.3f}",
        ]
        for found in choice["found"]
    ]  # fmt: skip
    head = "rows|choice|build, s|recall@10|CPU ms|p50 / p95 ms|recall@10, filter 1 %"
    said = "Real vectors" if choice["real"] else "Made vectors: there were no real ones"
    return f"{said}:\n\n{_table(head, rows, words=2)}"
