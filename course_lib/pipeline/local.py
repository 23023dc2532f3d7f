"""Running a pipeline on this machine: each step is a process of its own, as on a cluster a pod.

A pipeline and its arguments go in; the run's folder with its artifacts, its log and what became of
each step come out. Steps whose inputs were seen before are not run again.
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
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from course_lib import __version__
from course_lib.loader import default_registry
from course_lib.pipeline.catalogue import PipelineError, find_pipeline
from course_lib.pipeline.storing import URL
from course_lib.settings import state_dir
from course_lib.store import default_url

What = Literal["started", "succeeded", "cached", "failed", "retried", "skipped"]


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to a step, and when, in seconds since the run began."""

    what: What
    task: str
    seconds: float


@dataclass(frozen=True, slots=True)
class LocalRun:
    """A run that is over.

    Attributes
    ----------
    folder
        Holds a folder for each step that ran, with what it gave.
    log
        Everything that was said, also by the steps.
    events
        In the order in which they happened.
    seconds
        Wall-clock time.
    """

    folder: Path
    log: Path
    events: tuple[Event, ...]
    seconds: float

    def count(self, what: What) -> int:
        """Return how often something happened."""
        return sum(event.what == what for event in self.events)

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
    on_event: Callable[[Event], None] = lambda event: None,
) -> LocalRun:
    """Run a pipeline on this machine, a process a step.

    Parameters
    ----------
    pipeline
        A name, such as ``"docs_pipeline"``; or what `kfp.dsl.pipeline` or
        `kfp.components.load_component_from_file` gave.
    arguments
        Parameters that are not to have their defaults.
    root
        Where runs and cached results are kept; by default below the course's own folder.
    caching
        Whether a step may be left out whose inputs were seen before.
    url
        The database of the steps; None is `default_url()`.
    on_event
        Called with what happens while it happens, from several threads.

    Returns
    -------
    LocalRun

    Raises
    ------
    InputError
        If there is no such pipeline.
    PipelineError
        If a step failed for good; the message says which, and why.
    DatabaseError, ServerError
        If there is no database.
    """
    if shutil.which("sh") is None:
        raise PipelineError(
            "steps are started by a shell, and there is no sh on PATH",
            hint="On Windows, run it in WSL, or with the sh of Git for Windows on PATH.",
        )
    from kfp import local

    begin = time.perf_counter()
    made = find_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    home = Path(root) if root is not None else state_dir() / "pipelines"
    folder = home / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
    folder.mkdir(parents=True)
    log = folder / "log.txt"
    with _environment(url or default_url()), log.open("w", encoding="utf-8") as file:
        heard = _Heard(file, begin, on_event)
        local.init(
            local.SubprocessRunner(use_venv=False),
            pipeline_root=os.fspath(folder),
            enable_caching=caching,
            cache_root=os.fspath(home / "cache" / _parsers()),
        )
        try:
            with _quiet(heard):
                made(**dict(arguments or {}))
        except RuntimeError as error:
            heard.flush()
            raise _explained(log, heard.events, str(error)) from None
        finally:
            heard.flush()
    return LocalRun(folder, log, tuple(heard.events), time.perf_counter() - begin)


def _parsers() -> str:
    """Return a hash of the parsers: with others, earlier results are no results of these.

    On a cluster, the tag of the image says as much.
    """
    states = sorted(f"{one.id} {one.state}" for one in default_registry().parsers())
    return hashlib.sha256("\n".join([__version__, *states]).encode("utf-8")).hexdigest()[:16]


_COLOUR = re.compile("\x1b\\[[0-9;]*m")
_SAID: tuple[tuple[What, re.Pattern[str]], ...] = (
    ("started", re.compile(r"INFO - Executing task '([\w-]+)'")),
    ("succeeded", re.compile(r"INFO - Task '([\w-]+)' finished with status SUCCESS")),
    ("failed", re.compile(r"ERROR - Task '([\w-]+)' finished with status FAILURE")),
    ("cached", re.compile(r"INFO - Task ([\w-]+) cache hit")),
    ("retried", re.compile(r"INFO - Task ([\w-]+) failed \(attempt .*Retrying")),
    ("skipped", re.compile(r"INFO - Skipping task ([\w-]+):")),
)


class _Heard(io.TextIOBase):
    """What kfp says on stdout: to a file, and what it tells of steps to whoever wants to know.

    What the listener prints goes where it would go without this.
    """

    def __init__(self, file: IO[str], begin: float, on_event: Callable[[Event], None]) -> None:
        self.events: list[Event] = []
        self._file = file
        self._begin = begin
        self._on_event = on_event
        self._stdout = sys.stdout
        self._lock = threading.Lock()
        self._mine = threading.local()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if getattr(self._mine, "telling", False):
            # kfp has replaced `print` by one that indents.
            return self._stdout.write(text) if text.strip(" ") else len(text)
        # Threads write parts of lines; each thread's own parts belong together.
        *lines, self._mine.rest = (getattr(self._mine, "rest", "") + text).split("\n")
        for line in lines:
            self._hear(_COLOUR.sub("", line))
        return len(text)

    def filter(self, record: logging.LogRecord) -> bool:
        """Take a record that was logged, so that no handler shows it."""
        clock = time.strftime("%H:%M:%S", time.localtime(record.created))
        self.write(f"{clock} - {record.levelname} - {record.getMessage()}\n")
        return False

    def flush(self) -> None:
        with self._lock:
            if not self._file.closed:
                self._file.flush()

    def _hear(self, line: str) -> None:
        with self._lock:
            self._file.write(line + "\n")
        for what, pattern in _SAID:
            if found := pattern.search(line):
                event = Event(what, found[1], round(time.perf_counter() - self._begin, 3))
                self.events.append(event)
                self._mine.telling = True
                try:
                    self._on_event(event)
                finally:
                    self._mine.telling = False


@contextmanager
def _environment(url: str) -> Iterator[None]:
    """Let the steps inherit the database: a parameter would stand in the compiled pipeline."""
    before = os.environ.get(URL)
    os.environ[URL] = url
    try:
        yield
    finally:
        if before is None:
            del os.environ[URL]
        else:
            os.environ[URL] = before


@contextmanager
def _quiet(heard: _Heard) -> Iterator[None]:
    """Take what kfp prints and logs, and undo what it leaves behind.

    Its threads replace `print` and the root logger's handlers, and restore what each found: after a
    fan-out, that can be another thread's.
    """
    logger = logging.getLogger()
    kept = builtins.print, logger.level, logger.handlers[:]
    try:
        with redirect_stdout(heard), warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=RuntimeWarning, module="kfp")
            warnings.filterwarnings("ignore", category=UserWarning, module="kfp")
            # No handler: kfp's threads take those away for moments, and what is said then is lost.
            logger.addFilter(heard)
            logger.setLevel(logging.INFO)
            yield
    finally:
        builtins.print = kept[0]
        logger.removeFilter(heard)
        logger.setLevel(kept[1])
        logger.handlers[:] = kept[2]


def _explained(log: Path, events: list[Event], message: str) -> PipelineError:
    """Return the error of a run: the step that failed last, and its own words."""
    failed = [event.task for event in events if event.what == "failed"]
    words = re.findall(
        r"^\s+(?:course_lib\.[\w.]+|\w*(?:Error|Exception)): (.+)$",
        log.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    reason = f": {words[-1]}" if words else ""
    return PipelineError(
        f"the step {failed[-1]} failed{reason}" if failed else _COLOUR.sub("", message),
        hint=f"What was written stays: run it again to complete it. The log is {log}.",
    )
