"""Run notebook jobs, each in a Python process of its own, a few at a time, and leave none behind.

A job is a module that calls `serve` when it is run; it hears what to do and tells how it went
through files in a folder of its own. Pipes will not do: a database server that a notebook starts
inherits them and keeps them open when the notebook is long finished.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.teaching.build.project import BuildError

CELL_TIMEOUT = 900
"""Seconds that one cell may take."""

_ENVIRONMENT = {
    # one thread a notebook: two run side by side, and on two cores more only get in each other's
    # way
    **dict.fromkeys(
        (
            "OMP_NUM_THREADS",
            "MKL_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "NUMEXPR_NUM_THREADS",
            "VECLIB_MAXIMUM_THREADS",
            "RAG_THREADS",
        ),
        "1",
    ),
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",  # a progress bar is not an output to keep
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # or the debugger warns on stderr of every kernel
    "PYTHONHASHSEED": "0",
    "PYTHONIOENCODING": "utf-8",
}


@dataclass(frozen=True)
class Job:
    """One notebook to be worked on by ``python -m module``; `task` must be JSON."""

    key: str
    module: str
    task: Mapping[str, Any]


@dataclass(frozen=True)
class Ended:
    """How a job ended: what it returned, or `result` None and the end of what it printed."""

    job: Job
    result: Mapping[str, Any] | None
    log: str
    seconds: float


@dataclass
class _Running:
    job: Job
    process: subprocess.Popen[bytes]
    folder: Path
    started: float


def run_jobs(
    jobs: Sequence[Job],
    *,
    at_once: int,
    root: Path,
    title: str,
    environment: Mapping[str, str] | None = None,
) -> Generator[Ended, None, None]:
    """Run jobs and yield each as it ends; a progress bar shows on a terminal.

    Whatever ends this generator early (Ctrl-C, an error of the caller's) ends the processes too,
    kernels included.

    Parameters
    ----------
    jobs
        What to do, started in this order.
    at_once
        How many processes at a time.
    root
        The project's root; its package is importable in the jobs and in their kernels.
    title
        What the progress bar says.
    environment
        Variables on top of this process's.
    """
    variables = {**os.environ, **_ENVIRONMENT, **(environment or {})}
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables["PYTHONPATH"] = os.pathsep.join(paths)
    waiting, running = list(jobs), list[_Running]()
    with tempfile.TemporaryDirectory(prefix="course-jobs-") as base, _bar(jobs, title) as show:
        try:
            while waiting or running:
                while waiting and len(running) < max(1, at_once):
                    folder = Path(base) / str(len(jobs) - len(waiting))
                    running.append(_start(waiting.pop(0), folder, variables))
                time.sleep(0.05)
                for one in list(running):
                    if one.process.poll() is None:
                        show(one.job.key, _progress(one.folder))
                    else:
                        running.remove(one)
                        show(one.job.key, None)
                        yield _ended(one)
        finally:
            for one in running:
                _stop(one.process.pid)
                one.process.wait()


def serve(work: Callable[[Mapping[str, Any], Callable[..., None]], Mapping[str, Any]]) -> None:
    """Do one job in a worker process: read the task, call `work`, write what it returns.

    `on_cell(cell=…, cell_index=…)` is an nbclient hook; it reports progress, and gives up when the
    process that ordered the job is gone.
    """
    folder = Path(sys.argv[1])
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    ordered_by = os.getppid()

    def on_cell(cell_index: int = 0, **_: object) -> None:
        if os.getppid() != ordered_by:
            raise SystemExit("the process that ordered this job is gone")
        (folder / "progress").write_text(str(cell_index), encoding="utf-8")

    result = work(task, on_cell)
    (folder / "result.tmp").write_text(json.dumps(result), encoding="utf-8")
    (folder / "result.tmp").replace(folder / "result.json")


def require_result(ended: Ended) -> Mapping[str, Any]:
    """Return what a job returned, or raise `BuildError` with the end of what it printed."""
    if ended.result is None:
        raise BuildError(
            f"the process that ran lab {ended.job.key} died",
            hint=f"The last it printed:\n{ended.log}",
        )
    return ended.result


def _start(job: Job, folder: Path, variables: Mapping[str, str]) -> _Running:
    folder.mkdir()
    (folder / "task.json").write_text(json.dumps(job.task), encoding="utf-8")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", job.module, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=dict(variables),
            start_new_session=os.name == "posix",  # Ctrl-C is ours to pass on
        )
    return _Running(job, process, folder, time.monotonic())


def _ended(one: _Running) -> Ended:
    result = one.folder / "result.json"
    log = (one.folder / "log").read_text(encoding="utf-8", errors="replace")
    return Ended(
        one.job,
        json.loads(result.read_text(encoding="utf-8")) if result.is_file() else None,
        "\n".join(log.strip().splitlines()[-15:]),
        time.monotonic() - one.started,
    )


def _progress(folder: Path) -> int:
    try:
        return int((folder / "progress").read_text(encoding="utf-8") or 0)
    except (OSError, ValueError):  # not there yet, or being written
        return 0


def _stop(pid: int) -> None:
    """End a process and its descendants: politely, then not."""
    import psutil

    try:
        family = [*psutil.Process(pid).children(recursive=True), psutil.Process(pid)]
    except psutil.NoSuchProcess:
        return
    for stop in ("terminate", "kill"):
        for process in family:
            try:
                getattr(process, stop)()
            except psutil.NoSuchProcess:
                continue
        _, family = psutil.wait_procs(family, timeout=5)


@contextmanager
def _bar(jobs: Sequence[Job], title: str) -> Iterator[Callable[[str, int | None], None]]:
    """Show a bar of cells; yield what to call with a job's cell, or None when it has ended."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    sizes = {job.key: int(job.task.get("cells", 1)) for job in jobs}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} cells"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        total = progress.add_task(title, total=sum(sizes.values()))
        reached: dict[str, int] = {}
        at_work: set[str] = set()

        def show(key: str, cell: int | None) -> None:
            reached[key] = sizes[key] if cell is None else cell
            (at_work.discard if cell is None else at_work.add)(key)
            progress.update(
                total,
                completed=sum(reached.values()),
                description=f"{title} {' '.join(sorted(at_work))}",
            )

        yield show
