"""The embedded PostgreSQL: started once on demand and shared by every process of this checkout.

Takes the state folder (`.course` unless COURSE_STATE says otherwise) and gives a `Server` that is
ready for connections. The server belongs to no process: it outlives whoever started it, and whoever
asks next finds it, waits for its recovery, or starts it anew.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from course_lib.errors import ServerError
from course_lib.settings import state_dir
from course_lib.store import launch, postmaster
from course_lib.store.account import is_root, server_account
from course_lib.store.facts import Server, read_facts
from course_lib.store.faults import as_server_errors
from course_lib.store.place import house_of, is_at_home, is_far_socket_folder

__all__ = [
    "Server",
    "claimed_server",
    "ensure_server",
    "known_server",
    "remove_server",
    "server_status",
    "stop_server",
]


def ensure_server(state: Path | None = None) -> Server:
    """Return the embedded server, started where it is not running yet.

    Parameters
    ----------
    state
        The state folder; `None` is `state_dir()`. Its data is in `pgdata`, what the server says in
        `server.log`.

    Raises
    ------
    ServerError
        It cannot be started; the message says why and the hint what to do.
    """
    running = server_status(state)
    if running is not None:
        return running
    state = _resolved(state)
    with as_server_errors(state):
        _make_state(state)
        with _lock(state):
            return server_status(state) or launch.start(state)


def server_status(state: Path | None = None) -> Server | None:
    """Return the embedded server if it runs and takes connections, else `None`; starts nothing."""
    state = _resolved(state)
    facts = claimed_server(state)
    if facts is None:
        return None
    with as_server_errors(state):
        claim = postmaster.read_pid_file(facts.pgdata)
        if claim is None or not postmaster.is_postmaster_of(claim.pid, facts.pgdata):
            return None
        return facts if postmaster.accepts(claim.port) else None


def claimed_server(state: Path | None = None) -> Server | None:
    """Return the embedded server if its files say that it runs, which a login then proves."""
    state = _resolved(state)
    with as_server_errors(state):
        facts = read_facts(state)
        if facts is None or not facts.bin_dir.is_dir():
            return None
        if (state / "pgdata").resolve() != facts.pgdata or not is_at_home(state):
            return None
        claim = postmaster.read_pid_file(facts.pgdata)
        if claim is None or (claim.status, claim.port) != ("ready", facts.port):
            return None
        return facts


def known_server(state: Path | None = None) -> Server | None:
    """Return the embedded server as last started, running or not; `None` before the first start."""
    state = _resolved(state)
    with as_server_errors(state):
        return read_facts(state)


def stop_server(
    state: Path | None = None, mode: Literal["smart", "fast", "immediate"] = "fast"
) -> bool:
    """Stop the embedded server and return whether one was running.

    Parameters
    ----------
    state
        The state folder; `None` is `state_dir()`.
    mode
        `fast` ends open connections and keeps every committed row; `smart` waits for them to close;
        `immediate` leaves a recovery to the next start.

    Raises
    ------
    ServerError
        It does not stop.
    """
    state = _resolved(state)
    if not (state / "pgdata").exists():
        return False
    with as_server_errors(state), _lock(state):
        return launch.stop(state, mode)


def remove_server(state: Path | None = None) -> None:
    """Stop the embedded server and delete its data, wherever it lies."""
    state = _resolved(state)
    if not state.is_dir():
        return
    with as_server_errors(state), _lock(state):
        launch.stop(state, "immediate")
        facts, link = read_facts(state), state / "pgdata"
        house = house_of(state)
        data = link.resolve()
        if (data / "PG_VERSION").is_file():
            shutil.rmtree(data)
        for folder in (house, state / "postgres", state / "socket", *state.glob("postgres-*")):
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
        far = facts.socket_dir if facts else None
        if far is not None and is_far_socket_folder(far, server_account(state)):
            shutil.rmtree(far, ignore_errors=True)
        if link.is_symlink():
            link.unlink()
        for rest in ("server.json", "server.log", "server.log.1"):
            (state / rest).unlink(missing_ok=True)


def _resolved(state: Path | None) -> Path:
    return state_dir() if state is None else state.resolve()


def _make_state(state: Path) -> None:
    """Make the state folder; root makes it for the person to whom the checkout belongs."""
    if state.is_dir():
        return
    state.mkdir(parents=True, exist_ok=True)
    if is_root() and sys.platform != "win32":
        parent = state.parent.stat()
        if not parent.st_mode & 0o022:  # a folder of somebody's own, not /tmp
            os.chown(state, parent.st_uid, parent.st_gid)


@contextlib.contextmanager
def _lock(state: Path) -> Iterator[None]:
    """Hold the lock under which the server is started and stopped; it dies with its process."""
    from filelock import FileLock, Timeout

    lock = FileLock(state / "server.lock", timeout=launch.START_PATIENCE + 60)
    try:
        lock.acquire()
    except Timeout as error:
        raise ServerError(
            f"Another process has been starting or stopping the server in {state} for over ten "
            "minutes",
            hint="End that process and try again.",
        ) from error
    try:
        yield
    finally:
        lock.release()
