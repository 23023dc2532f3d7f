"""The page: figures go in, `tests/bench/README.md` comes out with its tables made again.

A table stands between `<!-- made: NAME -->` and `<!-- end -->`; what is around it is written by
hand, and a test compares the page with the figures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from course_lib.errors import CourseError
from tests.bench.scale.results import Figures

PAGE = Path(__file__).parents[1] / "README.md"
_MADE = re.compile(r"(<!-- made: ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


class PageError(CourseError):
    """The page and the tables do not belong together."""


def write(results: Sequence[Figures], path: Path = PAGE) -> Path:
    """Write the tables of the results into the page, and return its path."""
    if not results:
        raise PageError("there are no results", hint="Run python -m tests.bench.scale first.")
    path.write_text(filled(path.read_text(encoding="utf-8"), tables(results[0])), encoding="utf-8")
    return path


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
    return made


def _table(head: str, rows: list[list[str]]) -> str:
    """Return a table whose first column holds words and the others numbers."""
    names = head.split("|")
    made = [names, ["---", *["---:"] * (len(names) - 1)], *rows]
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
