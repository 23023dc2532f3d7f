"""`course xray scan` whose describer takes its time: COURSE_TEST_PAUSE seconds a package."""

import os
import sys
import time
from collections.abc import Iterator, Sequence

from course_lib.store import connect
from course_lib.xray import Package, find_lock_files, sync_project


class SlowDescriber:
    """Knows everything, one package at a time."""

    def describe(self, packages: Sequence[Package]) -> Iterator[dict[Package, str]]:
        """Yield one description after the other."""
        for package in packages:
            time.sleep(float(os.environ["COURSE_TEST_PAUSE"]))
            yield {package: f"What {package.name} does"}


if __name__ == "__main__":
    with connect(autocommit=True) as conn:
        sync_project(conn, sys.argv[2], find_lock_files(sys.argv[1]), describer=SlowDescriber())
