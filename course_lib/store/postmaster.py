"""Whether a server process is alive and really ours, and clearing up after one that was killed.

`postmaster.pid` is only a claim: the process may be gone, a zombie, or an unrelated one that got
its number. A process counts as the server of a data directory when it is a `postgres` that works in
that directory, and nothing is ever signalled that does not.
"""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.errors import ServerError
from course_lib.store.account import Account, run_as

if TYPE_CHECKING:
    import psutil

# Backends notice the postmaster's death when they next wait for something; one that computes is
# told to stop after this many seconds, and one that does not listen is killed after as many again.
PATIENCE = 5.0


@dataclass(frozen=True)
class PidFile:
    """What `postmaster.pid` claims.

    Attributes
    ----------
    pid
        The process number.
    port
        TCP port; 0 where the file does not say yet.
    status
        `starting`, `ready`, `stopping` or empty.
    """

    pid: int
    port: int
    status: str


def read_pid_file(pgdata: Path) -> PidFile | None:
    """Return what `postmaster.pid` in `pgdata` claims; `None` where it claims nothing sensible."""
    try:
        lines = (
            (pgdata / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
        )
        port = int(lines[3]) if len(lines) > 3 else 0
        return PidFile(int(lines[0]), port, lines[7].strip() if len(lines) > 7 else "")
    except (OSError, ValueError, IndexError):
        return None


def is_postmaster_of(pid: int, pgdata: Path) -> bool:
    """Return whether process `pid` lives (a zombie does not) and is a PostgreSQL on `pgdata`."""
    # Here and below: a search whose login succeeds never has to look at processes.
    import psutil

    try:
        process = psutil.Process(pid)
        if not _is_live_postgres(process):
            return False
        try:
            return Path(process.cwd()).resolve() == pgdata.resolve()
        except psutil.AccessDenied:
            # Root without CAP_SYS_PTRACE, as in Docker: the command line can be read, and its
            # owner.
            same_owner = process.uids().effective == pgdata.stat().st_uid
            return same_owner and str(pgdata.resolve()) in process.cmdline()
    except (psutil.Error, OSError, ValueError):
        return False


def accepts(port: int, timeout: float = 2.0) -> bool:
    """Return whether something takes TCP connections on 127.0.0.1:`port`."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=timeout):
            return True
    except OSError:
        return False


def wait_until_settled(pgdata: Path, patience: float) -> PidFile | None:
    """Wait while a server starts, recovers or stops; return its claim once ready, `None` if gone.

    Parameters
    ----------
    pgdata
        The data directory.
    patience
        Seconds to wait at most; recovery after a crash takes as long as there is to replay.

    Raises
    ------
    ServerError
        It is still starting or stopping after that time.
    """
    deadline = time.monotonic() + patience
    while True:
        claim = read_pid_file(pgdata)
        if claim is None or not is_postmaster_of(claim.pid, pgdata):
            return None
        if claim.status == "ready" and accepts(claim.port):
            return claim
        if time.monotonic() > deadline:
            raise ServerError(
                f"PostgreSQL (process {claim.pid}) has been {claim.status or 'starting'!r} for "
                f"{patience:.0f} s",
                hint="Look at .course/server.log, wait, or stop it with `course db stop`.",
            )
        time.sleep(0.02)


def clear_remains(pgdata: Path, socket_dir: Path | None, account: Account | None) -> None:
    """Remove what a killed server left: processes that still use its memory, then its lock files.

    To be called only where no server runs on `pgdata` and nobody else starts one. PostgreSQL itself
    would take a zombie or an unrelated process with the old number for a running server and refuse
    to start.

    Parameters
    ----------
    pgdata
        The data directory, links resolved.
    socket_dir
        Where the killed server had its unix socket, if known.
    account
        Who ran it.

    Raises
    ------
    ServerError
        A process of the killed server cannot be ended.
    """
    sockets = _sockets(socket_dir)
    if not (pgdata / "postmaster.pid").exists() and not sockets:
        return
    _end_leftovers(pgdata, account)
    (pgdata / "postmaster.pid").unlink(missing_ok=True)
    for path in sockets:
        path.unlink(missing_ok=True)


def _end_leftovers(pgdata: Path, account: Account | None) -> None:
    import psutil

    remaining = [p for p in psutil.process_iter() if _is_left_over(p, pgdata, account)]
    for end in ("terminate", "kill", ""):
        _, waited_for = psutil.wait_procs(remaining, timeout=PATIENCE)
        remaining = [p for p in waited_for if _is_left_over(p, pgdata, account)]
        if not remaining:
            return
        for process in remaining:
            with contextlib.suppress(psutil.NoSuchProcess):
                if end:
                    getattr(process, end)()
    pids = ", ".join(str(process.pid) for process in remaining)
    raise ServerError(
        f"Processes of a PostgreSQL that was killed still use {pgdata}: {pids}",
        hint="End them, or restart the machine.",
    )


def _is_left_over(process: psutil.Process, pgdata: Path, account: Account | None) -> bool:
    import psutil

    try:
        return _is_live_postgres(process) and _directory(process, account) == pgdata
    except (psutil.Error, OSError):
        return False


def _is_live_postgres(process: psutil.Process) -> bool:
    import psutil

    if process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}:
        return False
    return process.name().lower() in {"postgres", "postgres.exe"}


def _directory(process: psutil.Process, account: Account | None) -> Path | None:
    """Return a process's working directory; as in Docker, root may have to ask as `account`."""
    import psutil

    try:
        return Path(process.cwd()).resolve()
    except psutil.AccessDenied:
        if account is None or process.uids().effective != account.uid:
            return None
        answer = run_as(account, ["/bin/sh", "-c", f"cd -P /proc/{process.pid}/cwd && pwd -P"])
        return Path(answer.stdout.strip()) if answer.returncode == 0 else None


def _sockets(socket_dir: Path | None) -> list[Path]:
    if socket_dir is None or not socket_dir.is_dir():
        return []
    return list(socket_dir.glob(".s.PGSQL.*"))
