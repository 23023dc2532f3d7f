"""All faults in one session: `python -m tests.faults --kills 50 --seconds 120 --inputs 2000`.

The figures are printed at the end. A part that fails says why, with the seed that brings it about
again; the others go on.
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

from tests.faults.bad_inputs import feed
from tests.faults.disks import fill_disks
from tests.faults.ground import own_place
from tests.faults.kills import kill_often
from tests.faults.small_disks import NoSmallDiskError
from tests.faults.traffic import write_and_read


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
    works: dict[str, tuple[int, Callable[[], dict[str, Any]]]] = {
        "kills": (given.kills, lambda: kill_often(given.kills, seed)),
        "full disks": (1, lambda: fill_disks(seed)),
        "writers and readers": (given.seconds, lambda: write_and_read(given.seconds, seed)),
        "bad inputs": (given.inputs, lambda: feed(given.inputs, seed)),
    }
    figures: dict[str, Any] = {"seed": seed}
    failed: list[str] = []
    for name, work in ((name, work) for name, (size, work) in works.items() if size):
        print(f"{name} …", file=sys.stderr, flush=True)
        begin = time.perf_counter()
        try:
            with own_place():
                figures[name] = work()
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


if __name__ == "__main__":
    sys.exit(main())
