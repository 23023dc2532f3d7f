"""`python -m tests.bench.scale --rows 1000000`: how the library behaves as its tables grow.

Loads a made corpus through the library into a PostgreSQL server of its own, measures at each size,
and writes `tests/bench/results/scale-….json`. A run that was broken off (Ctrl-C) goes on where it
stopped when the same command is given again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from rich.console import Console

from course_lib.errors import CourseError
from course_lib.settings import state_dir

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)


def main(words: list[str] | None = None) -> int:
    """Measure what was asked for; 130 after Ctrl-C, 1 where it cannot be done."""
    arguments = _parser().parse_args(words)
    # One thread: exact answers are computed beside a server that is being measured. numpy reads
    # this when it is imported.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    from tests.bench.scale import results
    from tests.bench.scale.run import run

    console = Console(width=None if sys.stdout.isatty() else 120)
    state: Path = arguments.state or state_dir() / "scale"
    try:
        state.mkdir(parents=True, exist_ok=True)
        sizes = _sizes(arguments.rows, arguments.sizes)
        figures = run(sizes, state, console, keep=arguments.keep)
        if arguments.no_results:
            console.print_json(json.dumps(figures))
        else:
            console.print(f"results: {results.merge(figures)}", soft_wrap=True, markup=False)
    except CourseError as error:
        console.print("[red]error:[/red]", end=" ")
        console.print(error.args[0], error.hint or "", sep="\n", soft_wrap=True, markup=False)
        return 1
    except KeyboardInterrupt:
        kept = f"stopped; {state} keeps what is done, and the same command goes on with it"
        console.print(kept, soft_wrap=True, markup=False)
        return 130
    return 0


def _sizes(rows: int, named: list[int] | None) -> list[int]:
    return sorted(set(named or [*(size for size in SIZES if size < rows), rows]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--rows", type=_count, default=1_000_000, metavar="N",
        help="largest size; the sizes below it are measured on the way (default: 1000000)",
    )  # fmt: skip
    parser.add_argument(
        "--sizes", type=_count, nargs="+", metavar="N", help="these sizes and no others"
    )
    parser.add_argument(
        "--state", type=Path, metavar="FOLDER", help="where the data is (default: .course/scale)"
    )
    parser.add_argument(
        "--keep", action="store_true", help="leave the data there, for another run or a look"
    )
    parser.add_argument(
        "--no-results", action="store_true", help="print the figures, and write none"
    )
    return parser


def _count(text: str) -> int:
    """Return a number of rows, as `1000000` or `1_000_000`."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows") from None
    if number < 1_000:
        raise argparse.ArgumentTypeError("a size has 1000 rows or more")
    return number


if __name__ == "__main__":
    sys.exit(main())
