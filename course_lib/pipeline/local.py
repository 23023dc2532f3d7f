"""Running a pipeline on this machine: each step is a process, as on a cluster it is a pod.

A pipeline and its arguments go in; the run's folder with its artifacts, its log and what became of
each step come out. Steps whose inputs were seen before are not run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_lib import __version__
from course_lib.loader import default_registry
from course_lib.pipeline.catalogue import (
    PipelineError,
    check_arguments,
    find_pipeline,
    parameters_of,
)
from course_lib.pipeline.corpus import FORMAT
from course_lib.pipeline.faults import check_pipeline
from course_lib.pipeline.steps import (
    STOPPING,
    Attempt,
    Journal,
    Told,
    as_processes,
    kill_processes,
    watching,
)
from course_lib.pipeline.storing import URL
from course_lib.settings import make_folder, state_dir, with_variables


@dataclass(frozen=True, slots=True)
class LocalRun:
    """A run that is over.

    Attributes
    ----------
    folder
        Holds a folder for each step that ran, with what it gave.
    log
        Everything that was said, also by the steps.
    attempts
        In the order in which they began.
    outputs
        Those of the pipeline by name; empty where it failed.
    error
        Why it failed; empty where it did not.
    seconds
        Wall-clock time.
    """

    folder: Path
    log: Path
    attempts: tuple[Attempt, ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    seconds: float = 0.0

    def check(self) -> None:
        """Do nothing after a good run.

        Raises
        ------
        PipelineError
            If a step failed for good; the message says which, and why.
        """
        if not self.error:
            return
        message = self.error
        last = {one.task: one for one in self.attempts}
        if failed := [one for one in last.values() if one.outcome == "failed"]:
            kind, _, reason = failed[0].error.partition(": ")
            step = failed[0].task.partition("[")[0]
            message = f"the step {step} failed: {reason or kind}"
        raise PipelineError(
            message,
            hint=f"What was written stays: run it again to complete it. The log is {self.log}.",
        )

    def __str__(self) -> str:
        """Return a line for each attempt, ordered by step, and what became of the pipeline."""
        ordered = sorted(self.attempts, key=lambda one: one.task)
        wide = max([len(one.task) for one in ordered], default=0)
        lines = [f"{one.task:{wide}}  {one.outcome:9}  {one.error}".rstrip() for one in ordered]
        return "\n".join(
            [*lines, f"the pipeline failed: {self.error}" if self.error else "finished"]
        )

    def artifacts(self, task: str, name: str) -> list[Path]:
        """Return the files of an output that a step gave in this run, one a shard.

        There is none where the step was cached.
        """
        return sorted(self.folder.rglob(f"{task}/{name}"))

    def metadata(self, task: str, name: str) -> list[dict[str, Any]]:
        """Return the metadata of an output that a step gave in this run; its numbers are floats."""
        found = []
        for file in sorted(self.folder.rglob(f"{task}/executor_output.json")):
            outputs = json.loads(file.read_text(encoding="utf-8"))
            listed = outputs.get("artifacts", {}).get(name, {}).get("artifacts", [])
            found += [artifact.get("metadata", {}) for artifact in listed]
        return found


def run_locally(
    pipeline: Any,
    arguments: Mapping[str, Any] | None = None,
    *,
    root: str | os.PathLike[str] | None = None,
    caching: bool = True,
    url: str | None = None,
    on_event: Told = lambda what, task, seconds: None,
) -> LocalRun:
    """Run a pipeline, or a component alone, on this machine.

    A run that fails is a result, too; `LocalRun.check` makes an exception of it.

    Parameters
    ----------
    pipeline
        A name, such as ``"docs_pipeline"``; or what `kfp.dsl.pipeline`, `kfp.dsl.component` or
        `kfp.components.load_component_from_file` gave.
    arguments
        Parameters that are not to have their defaults.
    root
        Where runs and cached results are kept; by default below the course's own folder.
    caching
        Whether a step may be left out whose inputs were seen before.
    url
        The steps' database; None leaves the environment, which the steps inherit, as it is.
    on_event
        Called while it happens, from several threads; see `Told`. What it prints to `sys.stdout`
        goes into the log.

    Returns
    -------
    LocalRun

    Raises
    ------
    InputError
        If there is no such pipeline, or an argument cannot be used.
    PipelineError
        If a pipeline of that name has a fault, the run's files cannot be written, or there is no
        shell that could start a step.

    Examples
    --------
    >>> run = run_locally("docs_pipeline", {"shards": 2})  # doctest: +SKIP
    >>> run.error, run.outputs  # doctest: +SKIP
    ('', {})
    """
    from kfp import local

    given = dict(arguments or {})
    if isinstance(pipeline, str):
        check_arguments(parameters_of(pipeline) | given)
        pipeline = find_pipeline(pipeline)
        check_pipeline(pipeline)
    if shutil.which("sh") is None:
        raise PipelineError(
            "steps are started by a shell, and there is no sh on PATH",
            hint="On Windows, run it in WSL, or with the sh of Git for Windows on PATH.",
        )
    begin = time.time()
    home = Path(root) if root is not None else state_dir() / "pipelines"
    folder = home / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
    log = folder / "log.txt"
    outputs, failure = {}, ""
    try:
        make_folder(folder)
        local.init(
            local.SubprocessRunner(use_venv=False),
            pipeline_root=os.fspath(folder),
            enable_caching=caching,
            cache_root=os.fspath(home / "cache" / _parsers()),
        )
        with (
            log.open("w", encoding="utf-8") as file,
            # The steps inherit the database: a parameter would be in the compiled pipeline.
            with_variables({} if url is None else {URL: url}),
            ended_with_us(),
            watching(file, begin, on_event) as journal,
            as_processes(journal),
        ):
            try:
                outputs = dict(pipeline(**given).outputs)
            except OSError:
                raise
            except Exception as error:
                failure = f"{type(error).__name__}: {error}"
                _tell_skipped(pipeline, journal)
    except OSError as error:
        raise PipelineError(
            f"the run cannot be kept in {home}: {error.strerror or error}",
            hint="Free some space there, or set COURSE_STATE to a folder on another disk, and run "
            "it again: what was written to the index stays.",
        ) from error
    return LocalRun(
        folder, log, tuple(journal.attempts), outputs, failure, round(time.time() - begin, 3)
    )


def _tell_skipped(pipeline: Any, journal: Journal) -> None:
    """Say of each step that did not begin that it was left out."""
    begun = {one.task.partition("[")[0] for one in journal.attempts}
    for name, component in pipeline.pipeline_spec.components.items():
        step = name.removeprefix("comp-")
        if component.executor_label and step not in begun:
            journal.tell("skipped", step)


def _parsers() -> str:
    """Return a hash of the parsers and of the sizes that they use.

    With others, earlier results are not used. On a cluster, the tag of the image says as much.
    """
    parsers = default_registry().parsers()
    states = sorted(f"{one.id} {one.state} {one.settings(0, 0)}" for one in parsers)
    text = "\n".join([__version__, FORMAT, *states])
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


@contextmanager
def ended_with_us() -> Iterator[None]:
    """End the steps with whoever started them, on Ctrl-C and on SIGTERM.

    kfp takes a step that was interrupted for one that failed, and starts it again; and what is
    ended from outside would leave steps that go on writing. Signals reach the main thread alone,
    so nothing is done where a run is started from another one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        STOPPING.set()
        kill_processes()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        STOPPING.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
