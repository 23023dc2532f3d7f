"""All faults in one session: `python -m tests.faults --kills 50 --seconds 120 --inputs 2000`.

A bar shows how far it is. The figures are printed at the end. A part that fails says why, with the
seed that brings it about again; the others go on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from random import SystemRandom
from typing import Any

from rich.console import Console
from rich.progress import Progress

from tests.faults.bad_inputs import feed
from tests.faults.crowd import STEPS as CROWD_STEPS
from tests.faults.crowd import ask_much
from tests.faults.disks import DISKS, fill_disks
from tests.faults.ground import Tell, own_place
from tests.faults.kills import kill_often
from tests.faults.small_disks import NoSmallDiskError
from tests.faults.traffic import write_and_read

Work = Callable[[Tell], dict[str, Any]]


def main() -> int:
    """Do to the system what life does; 1 if something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=50, help="of ingest, shards and server")
    parser.add_argument("--seconds", type=int, default=120, help="of writers and readers")
    parser.add_argument("--inputs", type=int, default=2_000, help="that are bad")
    parser.add_argument("--seed", type=int, help="to have the same again; drawn by lot otherwise")
    given = parser.parse_args()
    seed = SystemRandom().randrange(10**6) if given.seed is None else given.seed
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(f"seed {seed}")
    works: dict[str, tuple[int, Work]] = {
        "kills": (given.kills, lambda tell: kill_often(given.kills, seed, tell)),
        "full disks": (DISKS, lambda tell: fill_disks(seed, tell)),
        "writers and readers": (
            given.seconds,
            lambda tell: _in_own_place(lambda: write_and_read(given.seconds, seed, tell)),
        ),
        "crowd": (
            CROWD_STEPS * bool(given.seconds),
            lambda tell: _in_own_place(lambda: ask_much(given.seconds / 2, tell)),
        ),
        "bad inputs": (
            given.inputs,
            lambda tell: _in_own_place(lambda: feed(given.inputs, seed, tell)),
        ),
    }
    figures: dict[str, Any] = {"seed": seed}
    failed: list[str] = []
    with Progress(console=console, disable=not console.is_terminal) as progress:
        for name, (steps, work) in works.items():
            if not steps:
                continue
            bar = progress.add_task(name, total=steps)
            begin = time.perf_counter()
            try:
                figures[name] = work(lambda done, bar=bar: progress.advance(bar, done))  # type: ignore[misc]
            except NoSmallDiskError as error:
                figures[name] = {"left out": f"no small disk can be mounted here: {error}"}
            except AssertionError as error:
                failed.append(name)
                figures[name] = {"failed": str(error)}
            figures[name]["took, seconds"] = round(time.perf_counter() - begin, 1)
    console.print_json(json.dumps(figures, ensure_ascii=False))
    for name in failed:
        console.print(f"[red]{name} failed[/red]; again: python -m tests.faults --seed {seed}")
    return 1 if failed else 0


def _in_own_place(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    with own_place():
        return work()


if __name__ == "__main__":
    sys.exit(main())
