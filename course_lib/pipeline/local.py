"""Running a pipeline on this machine: each step is a process or a container, as on a cluster a pod.

A pipeline and its arguments go in; the run's folder with its artifacts, its log and what became of
each step come out. Steps whose inputs were seen before are not run again.

What becomes of a step is read in what `kfp.local` logs, which it does from several threads: that a
step was retried, skipped or found in the cache, no step could write down itself.
"""

from __future__ import annotations

import builtins
import hashlib
import io
import json
import logging
import os
import re
import secrets
import shlex
import shutil
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import psutil

from course_lib import __version__
from course_lib.loader import default_registry
from course_lib.pipeline.catalogue import PipelineError, find_pipeline
from course_lib.pipeline.containers import (
    STOPPING,
    docker_runner,
    hash_of,
    image_ids,
    is_of_engine,
    stop_containers,
)
from course_lib.pipeline.corpus import FORMAT
from course_lib.pipeline.storing import URL
from course_lib.settings import make_folder, state_dir, with_variables

if TYPE_CHECKING:
    from kfp.local import SubprocessRunner

EXECUTOR = "kfp.dsl.executor_main"
"""Is in the command of every step."""

Runner = Literal["subprocess", "docker"]
"""What a step is: a process of this machine, or a container of its image."""

What = Literal["started", "succeeded", "cached", "failed", "retried", "skipped"]
Told = Callable[[What, str, float], None]
"""Called with what happened to a step, the step's name, and the seconds since the run began."""

COLOURS = re.compile("\x1b\\[[0-9;]*m")
"""What makes a terminal change its colours."""

_SAID: tuple[tuple[What, str], ...] = (
    ("started", r"Executing task '([\w-]+)'"),
    ("succeeded", r"Task '([\w-]+)' finished with status SUCCESS"),
    ("failed", r"Task '([\w-]+)' finished with status FAILURE"),
    ("cached", r"Task ([\w-]+) cache hit"),
    ("retried", r"Task ([\w-]+) failed \(attempt .*Retrying"),
    ("skipped", r"Skipping task ([\w-]+):"),
)
_ITERATION = re.compile(r"for-loop-\d+-iteration-(\d+)[^\"\n]*executor_output\.json")
_RAISED = re.compile(r"^\s*((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)\b.*)$", re.MULTILINE)


@dataclass(slots=True)
class Attempt:
    """One try at a step.

    Attributes
    ----------
    task
        The step's name, with the number of the item where it is in a loop: ``split[1]``.
    outcome
        ``"succeeded"``, ``"failed"`` or ``"cached"``.
    at, seconds
        When it began, since the run's beginning, and how long it took.
    log
        What it printed.
    """

    task: str
    outcome: What = "failed"
    at: float = 0.0
    seconds: float = 0.0
    log: str = ""

    @property
    def error(self) -> str:
        """The last line of its traceback, if it failed; empty if not."""
        if self.outcome != "failed":
            return ""
        return ["ended without a word", *map(str, _RAISED.findall(self.log))][-1]


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

    def count(self, outcome: What) -> int:
        """Return how many attempts ended in this way."""
        return sum(one.outcome == outcome for one in self.attempts)

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
    runner: Runner = "subprocess",
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
    runner
        ``"subprocess"`` makes each step a process in this environment, ``"docker"`` a container of
        the step's image.
    on_event
        Called while it happens, from several threads; see `Told`. What it prints to `sys.stdout`
        goes into the log.

    Returns
    -------
    LocalRun

    Raises
    ------
    InputError
        If there is no such pipeline.
    PipelineError
        If the run's files cannot be written, or nothing can start a step: there is no shell, no
        Docker engine, or an image is missing.

    Examples
    --------
    >>> run = run_locally("docs_pipeline", {"shards": 2})  # doctest: +SKIP
    >>> run.count("failed"), run.outputs  # doctest: +SKIP
    (0, {})
    """
    if runner == "subprocess" and shutil.which("sh") is None:
        raise PipelineError(
            "steps are started by a shell, and there is no sh on PATH",
            hint="On Windows, run it in WSL, or with the sh of Git for Windows on PATH.",
        )
    from kfp import local

    begin = time.time()
    made = find_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    home = Path(root) if root is not None else state_dir() / "pipelines"
    folder = home / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
    log = folder / "log.txt"
    outputs, failure = {}, ""
    in_docker = runner == "docker"
    cache = hash_of(image_ids(made)) if in_docker else _parsers()
    try:
        make_folder(folder)
        local.init(
            docker_runner(folder.name, url, arguments or {}) if in_docker else subprocess_runner(),
            pipeline_root=os.fspath(folder),
            enable_caching=caching,
            cache_root=os.fspath(home / "cache" / cache),
        )
        with (
            log.open("w", encoding="utf-8") as file,
            # The steps inherit the database: a parameter would be in the compiled pipeline.
            with_variables({} if url is None else {URL: url}),
            ended_with_us(partial(stop_containers, folder.name) if in_docker else _kill_steps),
            watching(file, begin, on_event) as attempts,
        ):
            try:
                outputs = dict(made(**dict(arguments or {})).outputs)
            except Exception as error:
                # What docker raises is an OSError, too.
                if isinstance(error, OSError) and not is_of_engine(error):
                    raise
                failure = COLOURS.sub("", f"{type(error).__name__}: {error}")
    except OSError as error:
        raise PipelineError(
            f"the run cannot be kept in {home}: {error.strerror or error}",
            hint="Free some space there, or set COURSE_STATE to a folder on another disk, and run "
            "it again: what was written to the index stays.",
        ) from error
    return LocalRun(folder, log, tuple(attempts), outputs, failure, round(time.time() - begin, 3))


def _parsers() -> str:
    """Return a hash of the parsers and of the sizes that they use.

    With others, earlier results are not used.

    On a cluster, the tag of the image says as much.
    """
    states = sorted(
        f"{one.id} {one.state} {one.settings(0, 0)}" for one in default_registry().parsers()
    )
    return hashlib.sha256("\n".join([__version__, FORMAT, *states]).encode("utf-8")).hexdigest()[
        :16
    ]


def subprocess_runner() -> SubprocessRunner:
    """Return kfp's runner whose steps are processes of this machine, in this environment.

    kfp (2.17) writes the path of the interpreter into the steps' shell scripts as it is. In a
    folder with a space in its name the shell takes it for two words, and every step ends with
    ``not found``; so the path is quoted here on its way into the script. No step is started while
    a run is being stopped.
    """
    from kfp.local import SubprocessRunner, subprocess_task_handler

    into_script = subprocess_task_handler.replace_python_executable
    if into_script.__module__ == subprocess_task_handler.__name__:

        def quoted(full_command: list[str], new_executable: str) -> list[str]:
            if STOPPING.is_set():
                raise KeyboardInterrupt
            parts: list[str] = into_script(full_command, shlex.quote(new_executable))
            return parts

        subprocess_task_handler.replace_python_executable = quoted
    return SubprocessRunner(use_venv=False)


@contextmanager
def ended_with_us(end_steps: Callable[[], None]) -> Iterator[None]:
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
        end_steps()
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


def _kill_steps() -> None:
    """End the steps that are processes."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if EXECUTOR in " ".join(process.cmdline()):
                process.kill()


@contextmanager
def watching(log: IO[str], begin: float, on_event: Told) -> Iterator[list[Attempt]]:
    """Hear what kfp does meanwhile, and leave everything as it was found.

    kfp's threads replace `print` and the root logger's handlers, and restore what each found: after
    a fan-out, that can be another thread's. So all of it is put back here, and records are read by
    a filter, which kfp leaves alone: handlers are away for moments, and what is said then is lost.

    Parameters
    ----------
    log
        Where all goes that is printed and logged.
    begin
        When the run began, in seconds since 1970.
    on_event
        May be called from several threads at once.

    Yields
    ------
    list of Attempt
        It grows while the run goes on.
    """
    ear = _Ear(log, begin, on_event)
    logger = logging.getLogger()
    kept = builtins.print, logger.level, logger.handlers[:]
    logger.addFilter(ear.hear)
    logger.setLevel(logging.INFO)
    try:
        with redirect_stdout(ear), redirect_stderr(ear), warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="kfp")
            yield ear.attempts
    finally:
        logger.removeFilter(ear.hear)
        logger.setLevel(kept[1])
        builtins.print, _, logger.handlers[:] = kept


class _Ear(io.TextIOBase):
    """Takes the place of standard output; a thread carries out one attempt at a time."""

    def __init__(self, log: IO[str], begin: float, on_event: Told) -> None:
        self.attempts: list[Attempt] = []
        self._log, self._begin, self._on_event = log, begin, on_event
        self._open: dict[int, Attempt] = {}
        self._killed: dict[int, list[Attempt]] = {}

    def write(self, text: str) -> int:
        plain = COLOURS.sub("", text)
        if plain.strip(" "):  # kfp indents by a `print` of its own, from several threads at once
            self._log.write(plain)
            if attempt := self._open.get(threading.get_ident()):
                attempt.log += plain
        return len(text)

    def hear(self, record: logging.LogRecord) -> bool:
        """Take a record that was logged, and let none through to a handler."""
        message = COLOURS.sub("", record.getMessage())
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        self._log.write(f"{clock} - {record.levelname} - {message}\n")
        for what, pattern in _SAID:
            if found := re.match(pattern, message):
                at = round(max(0.0, record.created - self._begin), 3)
                self._happened(what, found[1], at)
                self._on_event(what, found[1], at)
        return False

    def _happened(self, what: What, task: str, at: float) -> None:
        thread = threading.get_ident()
        if what == "started":
            self._open[thread] = Attempt(task, at=at)
            self.attempts.append(self._open[thread])
        elif what == "cached":
            self.attempts.append(Attempt(task, what, at))
        elif what in ("succeeded", "failed") and thread in self._open:
            attempt = self._open.pop(thread)
            attempt.outcome, attempt.seconds = what, at - attempt.at
            tries = [*self._killed.pop(thread, []), attempt]
            if items := _ITERATION.findall(attempt.log):
                for one in tries:  # what was killed at once never said which item it had
                    if one.task == task:
                        one.task += f"[{items[-1]}]"
            elif what == "failed":
                self._killed[thread] = tries
