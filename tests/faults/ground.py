"""Where faults are done: a cluster of its own, and a model that gives a vector for every text."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from course_lib.loader import default_registry
from course_lib.settings import settings
from course_lib.store import connections
from course_lib.store.server import Server, remove_server
from tests.faults.hash_course import HashClient

DIMENSION = 32
PATIENCE = 300
"""Seconds for what takes a few on an idle machine."""


class Hashed(HashClient):
    """Encodes by a hash: every process gives a text the same vector, to the last bit.

    No number is negative, so that no similarity is, which a search would leave out.
    """

    dimension = DIMENSION

    def encode(
        self, texts: Sequence[str], batch_size: int = 32, progress: bool = False
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return one vector a text."""
        rows: np.ndarray[Any, np.dtype[np.float32]] = super().encode(texts, batch_size, progress)
        np.abs(rows, out=rows)
        return rows


def forks() -> Any:
    """Return a context of multiprocessing whose processes have all modules from the start."""
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.faults.victim", "tests.faults.crew"])
    return context


@contextlib.contextmanager
def own_place(folder: Path | None = None) -> Iterator[Path]:
    """Let the embedded server of this process and its children be one in a folder of its own.

    The folder is made where none is given; server and folder are gone at the end.
    """
    with own_folder() if folder is None else contextlib.nullcontext(folder) as place:
        state = place / "state"
        unset = {"DATABASE_URL": None, "RAG_COLLECTION": None}
        with environment(unset | {"COURSE_STATE": str(state), "RAG_THREADS": "1"}):
            try:
                yield state
            finally:
                remove_server(state)


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """Make a folder that the server's account can enter, too."""
    folder = Path(tempfile.mkdtemp(prefix="course-faults-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def environment(values: dict[str, str | None]) -> Iterator[None]:
    """Set variables for this process and its children, None unsets; settings are read again."""
    before = {name: os.environ.get(name) for name in values}
    set_environment(values)
    try:
        yield
    finally:
        set_environment(before)


def set_environment(values: dict[str, str | None]) -> None:
    """Set variables, None unsets, and forget what was read of them before."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    settings.cache_clear()
    default_registry.cache_clear()
    connections._checked.clear()


def server_processes(server: Server) -> list[psutil.Process]:
    """Return the postmaster, and all that it has started."""
    text = (server.pgdata / "postmaster.pid").read_text(encoding="utf-8")
    try:
        postmaster = psutil.Process(int(text.split()[0]))
        return [postmaster, *postmaster.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def peak_memory() -> float:
    """Return the most memory that this process has had so far, in MB."""
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset / 1e6
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1e6 if sys.platform == "darwin" else most / 1e3
