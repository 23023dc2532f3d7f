"""Execute notebooks, a few at a time, and leave no kernel running.

Each notebook is executed in a thread of this process, and its code runs in a kernel, which is a
process of its own.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import psutil

from course_lib.progress import progress_bar
from course_lib.settings import with_variables

T = TypeVar("T")

CELL_TIMEOUT = 900
"""Seconds that one cell may take."""

KERNEL: dict[str, Any] = {
    "kernel_name": "python3",
    # Whoever waits for a notebook has no use for its warnings about sockets, nor for its complaint
    # that it was interrupted: Jupyter does that to every kernel that it ends.
    "extra_arguments": ["--IPKernelApp.log_level=CRITICAL"],
    "store_widget_state": False,
    "coalesce_streams": True,
}
"""How nbclient, and papermill with it, start a kernel and keep what it puts out."""

OnCell = Callable[..., object]
"""A hook of nbclient, which calls it with `cell` and `cell_index` as a cell starts."""

ENVIRONMENT = {
    # one thread a notebook: two run side by side, and on two cores more only get in each other's
    # way
    **dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
    ),
    **dict.fromkeys(("VECLIB_MAXIMUM_THREADS", "RAYON_NUM_THREADS", "RAG_THREADS"), "1"),
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",  # a progress bar is not an output to keep
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # or the debugger warns on stderr of every kernel
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8",
}
"""Of a process that runs a notebook."""


@dataclass(frozen=True)
class Job(Generic[T]):
    """What executes the notebook of one lab, and how many cells it has."""

    lab: str
    cells: int
    execute: Callable[[OnCell], T]


def run_jobs(
    jobs: Sequence[Job[T]],
    *,
    at_once: int,
    root: Path,
    title: str,
    environment: Mapping[str, str] | None = None,
) -> Iterator[tuple[str, T]]:
    """Execute notebooks and yield each lab with its result as it ends.

    A progress bar shows on a terminal. Whatever ends this generator early (Ctrl-C, an error of the
    caller's) ends the kernels too.

    Parameters
    ----------
    jobs
        What to do, started in this order.
    at_once
        How many notebooks at a time.
    root
        The project's root; its package is importable in the kernels.
    title
        What the progress bar says.
    environment
        Variables for the kernels on top of this process's.
    """
    path = os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = {**ENVIRONMENT, "PYTHONPATH": path, **(environment or {})}
    me = psutil.Process()
    others = me.children(recursive=True)
    cells = sum(job.cells for job in jobs)
    with progress_bar(cells, title, "cell") as advance, with_variables(variables):
        pool = ThreadPoolExecutor(max(1, at_once))
        futures = {pool.submit(job.execute, lambda **_: advance(1)): job.lab for job in jobs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            while any(future.running() for future in futures):
                for kernel in set(me.children(recursive=True)).difference(others):
                    with suppress(psutil.NoSuchProcess):
                        kernel.kill()
                time.sleep(0.1)
