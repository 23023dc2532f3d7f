"""`python -m tests.bench.scale --rows 1000000`: how the library behaves as its tables grow.

Loads a made corpus through the library into a PostgreSQL server of its own, and measures at each
size. The figures of a size go to `tests/bench/results/scale-….json` once they are there.
"""

from __future__ import annotations

import argparse
import json
import sys

from rich.console import Console

from course_lib.errors import CourseError
from course_lib.settings import state_dir
from course_lib.store import connect, fresh_database
from tests.bench.scale.cluster import own_cluster, refuse_if_short
from tests.bench.scale.results import keep
from tests.bench.scale.stage import measure

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)


def main(words: list[str] | None = None) -> int:
    """Measure what was asked for; 1 where it cannot be done."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--rows", type=int, default=SIZES[-1], metavar="N",
        help="largest size; the sizes below it are measured on the way (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--no-results", action="store_true", help="print the figures, and write none"
    )
    given = parser.parse_args(words)
    if given.rows < 1_000:
        parser.error("a size has 1000 rows or more")
    console = Console(width=None if sys.stdout.isatty() else 120)
    state = state_dir() / "scale"
    written = 0
    try:
        state.mkdir(parents=True, exist_ok=True)
        refuse_if_short(given.rows, state)
        with (
            own_cluster(state) as cluster,
            fresh_database("scale", url=cluster.url) as database,
            connect(database.url, autocommit=True) as conn,
        ):
            for size in [*(size for size in SIZES if size < given.rows), given.rows]:
                console.print(f"{size:,} rows")
                figures = measure(conn, cluster, written, size)
                written = size
                if given.no_results:
                    console.print_json(json.dumps(figures))
                else:
                    path = keep("sizes", str(size), figures)
                    console.print(f"results: {path}", soft_wrap=True, markup=False)
    except CourseError as error:
        console.print("[red]error:[/red]", end=" ")
        console.print(error.args[0], error.hint or "", sep="\n", soft_wrap=True, markup=False)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
