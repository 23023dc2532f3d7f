"""Starting and stopping the embedded server's process, under the lock of its state folder."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from course_lib.errors import ServerError
from course_lib.store import cluster, postmaster
from course_lib.store.account import Account, hand_over, run_as, server_account
from course_lib.store.binaries import Binaries, find_binaries, reachable_binaries
from course_lib.store.facts import Server, read_facts, write_facts
from course_lib.store.faults import start_error, will_pass
from course_lib.store.place import find_home, is_at_home, socket_folder

# Recovery after a crash replays at most max_wal_size; a slow disk may take minutes over it.
START_PATIENCE = 600.0
LARGEST_LOG = 10 * 1024**2


@dataclass(frozen=True)
class _Installation:
    """What a start and a stop work on."""

    state: Path
    home: Path
    pgdata: Path
    binaries: Binaries
    account: Account | None


def start(state: Path) -> Server:
    """Bring the server up: wait for one that recovers, or clear up after a dead one and start it.

    Raises
    ------
    ServerError
        It cannot be started.
    """
    here = _installation(state)
    before = read_facts(state)
    claim = postmaster.wait_until_settled(here.pgdata, START_PATIENCE)
    if claim is not None:
        same = before and (before.port, before.pgdata) == (claim.port, here.pgdata)
        if before and same and before.bin_dir.is_dir():
            return _checked(before)
        # It runs, but its password, its programs or its place are no longer those that we know.
        _pg_ctl_stop(here, "fast")
    cluster.remove_unfinished(here.pgdata)
    known_socket = before.socket_dir if before else None
    postmaster.clear_remains(here.pgdata, known_socket, here.account)
    password = before.password if before else secrets.token_urlsafe(32)
    exists = cluster.check_cluster(here.pgdata, here.binaries)
    if not exists:
        cluster.make_cluster(here.pgdata, here.binaries, here.account, password)
    socket_dir = socket_folder(here.home, here.account, known_socket)
    for port in _ports(before.port if before else None):
        config = cluster.write_configuration(here.home, port, socket_dir)
        if exists and before is None:
            cluster.set_password(here.pgdata, here.binaries, here.account, password, config)
        server = Server(
            port=port,
            socket_dir=socket_dir,
            password=password,
            pgdata=here.pgdata,
            version=here.binaries.version,
            bin_dir=here.binaries.bin_dir,
        )
        write_facts(state, server)
        if _pg_ctl_start(here, config):
            _hand_back(here)
            return _checked(server)
        if _pinned_port():
            raise _port_taken(port)
    raise ServerError(
        "No free port was found on 127.0.0.1", hint="Set COURSE_DB_PORT to a free one."
    )


def stop(state: Path, mode: str) -> bool:
    """Stop the server and return whether one was running.

    Raises
    ------
    ServerError
        It does not stop.
    """
    if not (state / "pgdata").exists():
        return False
    if is_at_home(state) and not _runs((state / "pgdata").resolve()):
        return False
    here = _installation(state)
    if not _runs(here.pgdata):
        return False
    _pg_ctl_stop(here, mode)
    return True


def _runs(pgdata: Path) -> bool:
    claim = postmaster.read_pid_file(pgdata)
    return claim is not None and postmaster.is_postmaster_of(claim.pid, pgdata)


def _installation(state: Path) -> _Installation:
    account = server_account(state)
    home = find_home(state, account)
    binaries = reachable_binaries(find_binaries(), home, account)
    return _Installation(state, home, (home / "pgdata").resolve(), binaries, account)


def _pg_ctl_start(here: _Installation, config: Path) -> bool:
    """Run `pg_ctl start` until connections are taken; `False` where the port is taken."""
    log = here.state / "server.log"
    if log.exists() and log.stat().st_size > LARGEST_LOG:
        os.replace(log, here.state / "server.log.1")
    # The path goes through a shell that pg_ctl starts; its own -D would not survive a `$` there.
    options = f"-D {_shell_quoted(here.pgdata)} -c {_shell_quoted(f'config_file={config}')}"
    patience = f"{START_PATIENCE:.0f}"
    pg_ctl = str(here.binaries.program("pg_ctl"))
    command = [pg_ctl, "start", "-w", "-s", "-t", patience, "-o", options]
    deadline = time.monotonic() + 2 * postmaster.PATIENCE
    while True:
        # The server inherits the open log, so that it need not be able to reach the state folder.
        handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            begin = os.fstat(handle).st_size
            result = run_as(
                here.account, command, log=handle, pgdata=here.pgdata, timeout=START_PATIENCE + 30
            )
        finally:
            os.close(handle)
        if result.returncode == 0:
            return True
        output = log.read_bytes()[begin:].decode("utf-8", "replace")
        if "could not bind" in output or "could not create any TCP/IP sockets" in output:
            return False
        # Backends of a killed server that this process may not look at (no CAP_SYS_PTRACE) end by
        # themselves.
        if "is still in use" not in output or time.monotonic() > deadline:
            raise start_error("PostgreSQL did not start on", here.pgdata, output)
        time.sleep(0.5)


def _pg_ctl_stop(here: _Installation, mode: str) -> None:
    pg_ctl = str(here.binaries.program("pg_ctl"))
    command = [pg_ctl, "stop", "-w", "-s", "-t", "60", "-m", mode]
    result = run_as(here.account, command, pgdata=here.pgdata)
    if _runs(here.pgdata):
        raise ServerError(
            f"PostgreSQL on {here.pgdata} did not stop: {result.stdout.strip()}",
            hint="Close what is connected to it, or use the mode `immediate`.",
        )


def _checked(server: Server) -> Server:
    """Log in once, so that a server that is handed out is one that answers."""
    import psycopg

    begin = time.monotonic()
    while True:
        try:
            psycopg.connect(server.url(), connect_timeout=10, application_name="course").close()
            return server
        except psycopg.OperationalError as error:
            if will_pass(error, time.monotonic() - begin, START_PATIENCE):
                time.sleep(0.05)
                continue
            raise ServerError(
                f"PostgreSQL on {server.pgdata} runs, but does not let us in: {str(error).strip()}",
                hint="Delete server.json in the state folder (.course): the next start sets a new "
                "password.",
            ) from error


def _hand_back(here: _Installation) -> None:
    """As root in somebody's folder, give them the files that they will need."""
    account = here.account
    if account is None or here.state.stat().st_uid != account.uid:
        return
    for path in [*here.state.glob("server.*"), here.state / "postgres"]:
        hand_over(path, account)
    for path in (here.state / "postgres").glob("*.conf"):
        hand_over(path, account)


def _ports(previous: int | None) -> Iterator[int]:
    """Yield the ports to try: the pinned one alone, or the last one (URLs stay valid), then new."""
    pinned = _pinned_port()
    if pinned:
        if not _is_free(pinned):
            raise _port_taken(pinned)
        yield pinned
        return
    if previous and _is_free(previous):
        yield previous
    for _ in range(5):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        yield port


def _pinned_port() -> int | None:
    given = os.environ.get("COURSE_DB_PORT", "").strip()
    if not given:
        return None
    if not re.fullmatch("[0-9]{1,5}", given) or not 1 <= int(given) <= 65535:
        raise ServerError(
            f"COURSE_DB_PORT is {given!r}, which is no port",
            hint="Use a number from 1024 to 65535, or unset it.",
        )
    return int(given)


def _port_taken(port: int) -> ServerError:
    return ServerError(
        f"Port {port} on 127.0.0.1 (COURSE_DB_PORT) is taken by another program",
        hint="Stop that program, set COURSE_DB_PORT to another port, or unset it: then a free one "
        "is chosen.",
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        if sys.platform != "win32":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return error.errno == errno.EACCES  # below 1024: let the server say it
        return True


def _shell_quoted(text: Path | str) -> str:
    return f'"{text}"' if sys.platform == "win32" else shlex.quote(str(text))
