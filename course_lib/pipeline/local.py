"""Running a pipeline on this machine: each step is a process of its own, as on a cluster a pod.

A pipeline and its arguments go in; the run's folder with its artifacts, its log and what became of
each step come out. Steps whose inputs were seen before are not run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from course_lib import __version__
from course_lib.loader import default_registry
from course_lib.pipeline.catalogue import PipelineError, find_pipeline
from course_lib.pipeline.runner import subprocess_runner
from course_lib.pipeline.storing import URL
from course_lib.pipeline.watching import COLOURS, Listener, What, watching
from course_lib.settings import state_dir
from course_lib.store import default_url


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
    log = folder / "log.txt"
    with _writable(home), _environment(url or default_url()), _opened(log) as file:
        heard = _Heard(file, on_event)
        local.init(
            subprocess_runner(),
            pipeline_root=os.fspath(folder),
            enable_caching=caching,
            cache_root=os.fspath(home / "cache" / _parsers()),
        )
        try:
            with watching(heard):
                made(**dict(arguments or {}))
        except RuntimeError as error:
            heard.flush()
            raise _explained(log, heard.events, str(error)) from None
        finally:
            heard.flush()
    return LocalRun(folder, log, tuple(heard.events), time.perf_counter() - begin)


@contextmanager
def _writable(home: Path) -> Iterator[None]:
    """Say so where runs cannot be kept."""
    try:
        yield
    except OSError as error:
        raise PipelineError(
            f"the run cannot be kept in {home}: {error.strerror or error}",
            hint="Free some space there, or set COURSE_STATE to a folder on another disk, and run "
            "it again: what was written to the index stays.",
        ) from error


def _opened(log: Path) -> IO[str]:
    log.parent.mkdir(parents=True)
    return log.open("w", encoding="utf-8")


def _parsers() -> str:
    """Return a hash of the parsers and of the sizes that they use.

    With others, earlier results are no results of these.

    On a cluster, the tag of the image says as much.
    """
    states = sorted(
        f"{one.id} {one.state} {one.settings(0, 0)}" for one in default_registry().parsers()
    )
    return hashlib.sha256("\n".join([__version__, *states]).encode("utf-8")).hexdigest()[:16]


class _Heard(Listener):
    """What kfp says: to a file, and what it tells of steps to whoever wants to know."""

    def __init__(self, file: IO[str], on_event: Callable[[Event], None]) -> None:
        self.events: list[Event] = []
        self._file = file
        self._begin = time.time()
        self._on_event = on_event
        self._lock = threading.Lock()
        self._mine = threading.local()

    def happened(self, what: What, task: str, at: float) -> None:
        event = Event(what, task, round(max(0.0, at - self._begin), 3))
        self.events.append(event)
        self._on_event(event)

    def printed(self, text: str) -> None:
        # Threads write parts of lines; each thread's own parts belong together.
        *lines, self._mine.rest = (getattr(self._mine, "rest", "") + text).split("\n")
        for line in lines:
            self.logged(line)

    def logged(self, line: str) -> None:
        with self._lock:
            self._file.write(line + "\n")

    def flush(self) -> None:
        with self._lock:
            if not self._file.closed:
                self._file.flush()


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
        f"the step {failed[-1]} failed{reason}" if failed else COLOURS.sub("", message),
        hint=f"What was written stays: run it again to complete it. The log is {log}.",
    )
