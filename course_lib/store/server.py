"""The embedded PostgreSQL: started once on demand and shared by every process of this checkout.

Takes the state folder (`.course` unless COURSE_STATE says otherwise) and gives a `Server` that is
ready for connections. The server belongs to no process: it outlives whoever started it, and whoever
asks next finds it by logging in. Where that fails, `_start` waits for it, or clears up after it and
starts it again, under a lock. `pg_ctl` does the work, under the account that `accounts.py` finds
for it; `data_directory.py` makes what it starts on.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from course_lib.errors import ServerError
from course_lib.files import write_atomically
from course_lib.settings import settings, state_dir
from course_lib.store.accounts import (
    give,
    reachable_binaries,
    reachable_place,
    remove_place,
    run,
    works_in,
)
from course_lib.store.binaries import Binaries, find_binaries
from course_lib.store.data_directory import (
    LEFTOVER_PATIENCE,
    clear_half_made,
    holds_data,
    make_data,
    set_password,
    write_configuration,
)
from course_lib.store.libpq import forget_libpq_variables, without_libpq_variables
from course_lib.store.server_errors import explained_files, program_error

if TYPE_CHECKING:
    import psutil

# Seconds. Recovery after a crash replays at most max_wal_size, which a slow disk takes minutes for.
START_PATIENCE = 600.0
STOP_PATIENCE = 60.0

WILL_CHANGE = (
    "the database system is|[Cc]onnection (refused|reset|timeout)|closed the connection|"
    "could not (receive|send|fork)|[Tt]imed out"
)
"""What is said by a server that starts or recovers, or for it. Other refusals stay as they are."""

LARGEST_LOG = 10 * 1024**2


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server, as it is written down in `server.json` in its state folder.

    Attributes
    ----------
    port
        Where it listens, on 127.0.0.1 only.
    password
        Its superuser's, whom only the course itself uses.
    state
        The state folder that it was started for.
    pgdata
        The data directory (links resolved).
    version
        Such as `"18.4"`.
    bin_dir
        Folder of its programs, `psql` among them.
    """

    port: int
    password: str = field(repr=False)
    state: Path
    pgdata: Path
    version: str
    bin_dir: Path
    host: str = "127.0.0.1"
    superuser: str = "postgres"

    def url(
        self, dbname: str = "postgres", user: str | None = None, password: str | None = None
    ) -> str:
        """Return a connection URL, the superuser's unless `user` and `password` are given.

        Examples
        --------
        >>> server = Server(5433, "s", Path(".course"), Path("pgdata"), "18.4", Path("bin"))
        >>> server.url("course", "ada", "p@ss")
        'postgresql://ada:p%40ss@127.0.0.1:5433/course'
        """
        name = quote(user or self.superuser, safe="")
        secret = quote(self.password if user is None else password or "", safe="")
        return f"postgresql://{name}:{secret}@{self.host}:{self.port}/{quote(dbname, safe='')}"


def ensure_server(state: Path | None = None, *, sockets: Path | None = None) -> Server:
    """Return the embedded server, started where it is not running yet.

    Parameters
    ----------
    state
        The state folder; `None` is `state_dir()`. Its data is in `pgdata`, what the server says in
        `server.log`.
    sockets
        A folder of ours for a unix socket, which a server that is started here has besides its
        port; the server's account becomes its owner.

    Raises
    ------
    ServerError
        It cannot be started; the message says why and the hint what to do.

    Examples
    --------
    >>> ensure_server().host  # doctest: +SKIP
    '127.0.0.1'
    """
    if not settings().database_url:
        forget_libpq_variables()
    running = server_status(state)
    if running is not None:
        return running
    state = _resolved(state)
    if not str(state).isprintable():
        # PostgreSQL keeps its place in a file of lines, which it would read wrongly and wait for.
        raise ServerError(
            f"The path {str(state)!r} holds a line break or another control character",
            hint="Set COURSE_STATE to a folder without one.",
        )
    with explained_files(state):
        if not state.is_dir():
            state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _lock(state):
            return server_status(state) or _start(state, sockets)


def server_status(state: Path | None = None) -> Server | None:
    """Return the embedded server if it runs and lets us in, else `None`; starts nothing."""
    server = known_server(state)
    if server is None or not server.bin_dir.is_dir():
        return None
    return None if _refusal(server, seconds=2) else server


def check_server(state: Path | None = None) -> Server | None:
    """Return what `server_status` does, and tell apart where it does not run and where it refuses.

    Raises
    ------
    ServerError
        It runs, and does not let us in.
    """
    running, server = server_status(state), known_server(state)
    if server and not running and _postmaster(server.pgdata):
        said = _refusal(server, seconds=2)
        if said and not re.search(WILL_CHANGE, said):
            raise _shut_out(server, said)
    return running


def known_server(state: Path | None = None) -> Server | None:
    """Return the embedded server as last started in this folder, running or not.

    `None` before the first start, and in a folder that was moved or copied since.
    """
    state = _resolved(state)
    with explained_files(state):
        server = _read_facts(state)
    return server if server and server.state == state else None


def stop_server(state: Path | None = None) -> bool:
    """Stop the embedded server and return whether one was running.

    Open connections are ended; every committed row is kept.

    Parameters
    ----------
    state
        The state folder; `None` is `state_dir()`.

    Raises
    ------
    ServerError
        It does not stop.
    """
    state = _resolved(state)
    if not (state / "pgdata").exists():
        return False
    with explained_files(state), _lock(state):
        return _stop(_data_directory(state))


def remove_server(state: Path | None = None) -> None:
    """Stop the embedded server and delete its data, wherever it is."""
    state = _resolved(state)
    if not state.is_dir():
        return
    with explained_files(state), _lock(state):
        pgdata = _data_directory(state)
        _stop(pgdata, at_once=True)
        if (pgdata / "PG_VERSION").is_file():
            shutil.rmtree(pgdata)
        clear_half_made(pgdata)
        remove_place(state, pgdata)
        for name in ("server.json", "server.log", "server.log.1"):
            (state / name).unlink(missing_ok=True)


def _start(state: Path, sockets: Path | None) -> Server:
    """Wait for a server that starts up or recovers; or clear up after a dead one and start it."""
    before, found = _read_facts(state), find_binaries()
    ports = _ports(before)
    pgdata = _data_directory(state)
    if _postmaster(pgdata):
        as_known = before and before.state == state and before.bin_dir.is_dir()
        if before and as_known and _wait_for(before):
            return before
        # Its password, its programs or its place are no longer those that we know.
        _stop(pgdata)
    _clear_remains(pgdata)
    pgdata = reachable_place(state)
    clear_half_made(pgdata)
    binaries = reachable_binaries(found, pgdata.parent)
    password = before.password if before else secrets.token_urlsafe(32)
    if not holds_data(pgdata, binaries):
        make_data(pgdata, binaries, password)
    elif before is None:
        set_password(pgdata, binaries, password)
    if sockets:
        give([sockets])
    for port in ports:
        server = Server(port, password, state, pgdata, binaries.version, binaries.bin_dir)
        facts = json.dumps(asdict(server), default=str, indent=1)
        write_atomically(state / "server.json", facts, mode=0o600)
        write_configuration(pgdata, port, sockets)
        if _pg_ctl_start(server, binaries):
            _wait_for(server)
            return server
    raise ServerError(
        f"Another program took port {ports[-1]} on 127.0.0.1, which was free", hint="Try again."
    )


def _pg_ctl_start(server: Server, binaries: Binaries) -> bool:
    """Run `pg_ctl start` until connections are taken; `False` where the port is taken."""
    log = server.state / "server.log"
    if log.exists() and log.stat().st_size > LARGEST_LOG:
        os.replace(log, log.with_name("server.log.1"))
    command = (binaries.program("pg_ctl"), "start", "-w", "-s", "-t", f"{START_PATIENCE:.0f}")
    # The server inherits the open log, so that it need not be able to reach the state folder.
    with os.fdopen(os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "rb") as opened:
        begin = opened.seek(0, os.SEEK_END)
        patience = START_PATIENCE + 30
        started = run(*command, pgdata=server.pgdata, log=opened, timeout=patience)
        opened.seek(begin)
        said = opened.read().decode("utf-8", "replace")
    if started.returncode and "could not bind" not in said:
        raise program_error("PostgreSQL did not start on", server.pgdata, said)
    return started.returncode == 0


def _stop(pgdata: Path, *, at_once: bool = False) -> bool:
    """Stop the server of a data directory and return whether one was running.

    At once, it leaves a recovery to the next start, if there is one.

    `pg_ctl stop` would signal whatever process has the number in `postmaster.pid` by now.
    """
    import psutil

    postmaster = _postmaster(pgdata)
    if postmaster is None:
        return False
    name = "QUIT" if at_once else "INT"
    if sys.platform == "win32":
        run(find_binaries().program("pg_ctl"), "kill", name, str(postmaster.pid))
    else:
        with contextlib.suppress(psutil.Error):  # it may end by itself meanwhile
            postmaster.send_signal(signal.Signals[f"SIG{name}"])
    if not _until(lambda: not works_in(postmaster, pgdata), STOP_PATIENCE):
        raise ServerError(
            f"PostgreSQL on {pgdata} did not stop within {STOP_PATIENCE:.0f} seconds",
            hint="Close what is connected to it, and try again.",
        )
    return True


def _wait_for(server: Server) -> bool:
    """Wait while a server starts up or recovers; `False` where it ends instead.

    Raises
    ------
    ServerError
        It refuses us for a reason that stays, such as a wrong password, or does not come up.
    """
    deadline = time.monotonic() + START_PATIENCE
    while said := _refusal(server):
        if not _postmaster(server.pgdata):
            return False
        if not re.search(WILL_CHANGE, said) or time.monotonic() > deadline:
            raise _shut_out(server, said)
        time.sleep(0.05)
    return True


def _shut_out(server: Server, said: str) -> ServerError:
    return ServerError(
        f"PostgreSQL on {server.pgdata} runs, but does not let us in: {said}",
        hint="Look at server.log in the state folder (.course), or delete server.json "
        "there: the next start sets a new password.",
    )


def _refusal(server: Server, seconds: int = 10) -> str | None:
    """Log in, which proves that a server is ours and well; return what is said where that fails."""
    import psycopg

    try:
        with without_libpq_variables():
            url = server.url()
            psycopg.connect(url, connect_timeout=seconds, application_name="course").close()
    except psycopg.OperationalError as error:
        said = str(error).strip()
        return None if "too many clients" in said else said
    return None


def _clear_remains(pgdata: Path) -> None:
    """End what a killed server left running, and remove the number of its process.

    PostgreSQL itself would take a zombie, or an innocent process that has that number by now, for a
    server that runs.
    """
    import psutil

    def nothing_left() -> bool:
        left = [p for p in psutil.process_iter() if works_in(p, pgdata)]
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()  # what it wrote is as safe as after a power cut
        return not left

    if (pgdata / "postmaster.pid").exists():
        if not _until(nothing_left, LEFTOVER_PATIENCE):
            raise ServerError(
                f"Processes of a PostgreSQL that was killed still use {pgdata}",
                hint="End them, or restart the machine.",
            )
        (pgdata / "postmaster.pid").unlink(missing_ok=True)


def _postmaster(pgdata: Path) -> psutil.Process | None:
    """Return the process that `postmaster.pid` names, if it lives and is this data's server."""
    import psutil

    try:
        process = psutil.Process(int((pgdata / "postmaster.pid").read_bytes().split()[0]))
    except (OSError, ValueError, IndexError, OverflowError, psutil.Error):
        return None
    return process if works_in(process, pgdata) else None


def _until(holds: Callable[[], bool], seconds: float) -> bool:
    """Wait until something holds, and return whether it came to within this time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.03)
    return True


def _ports(before: Server | None) -> list[int]:
    """Return the ports to try: the last one, with which URLs stay valid, and then a free one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = int(probe.getsockname()[1])
    return [before.port, free] if before else [free]


def _data_directory(state: Path) -> Path:
    """Return where the data of a state folder is or will be; links are resolved."""
    return (state / "pgdata").resolve()


def _read_facts(state: Path) -> Server | None:
    """Return what the last start wrote down; `None` where nothing can be understood."""
    try:
        facts = json.loads((state / "server.json").read_text(encoding="utf-8"))
        folders = {name: Path(facts[name]) for name in ("state", "pgdata", "bin_dir")}
        return Server(**facts | folders)
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        return None


def _resolved(state: Path | None) -> Path:
    return (state or state_dir()).resolve()


@contextlib.contextmanager
def _lock(state: Path) -> Iterator[None]:
    """Hold the lock under which the server is started and stopped; it dies with its process."""
    from filelock import FileLock, Timeout

    try:
        with FileLock(state / "server.lock", timeout=START_PATIENCE + 60):
            yield
    except Timeout as error:
        raise ServerError(
            f"Another process has been starting or stopping the server in {state} for over ten "
            "minutes",
            hint="End that process and try again.",
        ) from error
