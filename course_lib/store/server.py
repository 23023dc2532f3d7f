"""The embedded PostgreSQL: started once on demand and shared by every process of this checkout.

Takes the state folder (`.course` unless COURSE_STATE says otherwise) and gives a `Server` that is
ready for connections. The server belongs to no process: it outlives whoever started it, and whoever
asks next finds it by logging in. Where that fails, `_start` waits for it, or clears up after it and
starts it again, under a lock. `initdb` and `pg_ctl` do the work.

PostgreSQL does not run as root. For root, an account without rights runs it, and what that account
cannot reach in the checkout (the data, the programs) is in a folder of /var/lib.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from urllib.parse import quote

from course_lib.errors import ServerError
from course_lib.settings import state_dir
from course_lib.store.binaries import COPIES, WAYS_OUT, Binaries, copy_of_the_wheel, find_binaries

if TYPE_CHECKING:
    import psutil

# Seconds. Recovery after a crash replays at most max_wal_size, which a slow disk takes minutes for.
START_PATIENCE = 600.0
STOP_PATIENCE = 60.0
LEFTOVER_PATIENCE = 10.0

# PostgreSQL refuses to run as root, which is what containers are: one of these runs it there.
ACCOUNTS = ("nobody", "daemon", "postgres")
ROOTS_DATA = Path("/var/lib/course-")
HALF_MADE = "pgdata-new-"

LARGEST_LOG = 10 * 1024**2
ROOMY_SHARED_MEMORY = 2 * 1024**3


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


class Account(NamedTuple):
    """An account of the operating system: its numbers, and its name for messages."""

    uid: int
    gid: int
    name: str


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
    with _clear_errors(state):
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


def known_server(state: Path | None = None) -> Server | None:
    """Return the embedded server as last started in this folder, running or not.

    `None` before the first start, and in a folder that was moved or copied since.
    """
    state = _resolved(state)
    with _clear_errors(state):
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
    with _clear_errors(state), _lock(state):
        return _stop(_data_directory(state), _server_account())


def remove_server(state: Path | None = None) -> None:
    """Stop the embedded server and delete its data, wherever it is."""
    state = _resolved(state)
    if not state.is_dir():
        return
    with _clear_errors(state), _lock(state):
        pgdata = _data_directory(state)
        _stop(pgdata, _server_account(), at_once=True)
        if (pgdata / "PG_VERSION").is_file():
            shutil.rmtree(pgdata)
        for rest in (*pgdata.parent.glob(f"{COPIES}*"), *pgdata.parent.glob(f"{HALF_MADE}*")):
            shutil.rmtree(rest, ignore_errors=True)
        if (state / "pgdata").is_symlink():
            (state / "pgdata").unlink()
            if pgdata.parent.match(f"{ROOTS_DATA}*"):
                shutil.rmtree(pgdata.parent)
        for name in ("server.json", "server.log", "server.log.1"):
            (state / name).unlink(missing_ok=True)


def _start(state: Path, sockets: Path | None) -> Server:
    """Wait for a server that starts up or recovers; or clear up after a dead one and start it."""
    before, account, found = _read_facts(state), _server_account(), find_binaries()
    ports = _ports(before)
    pgdata = _data_directory(state)
    if _postmaster(pgdata, account):
        as_known = before and before.state == state and before.bin_dir.is_dir()
        if before and as_known and _wait_for(before, account):
            return before
        # Its password, its programs or its place are no longer those that we know.
        _stop(pgdata, account)
    _clear_remains(pgdata, account)
    pgdata = _reachable_place(state, account)
    binaries = _reachable_binaries(found, pgdata.parent, account)
    password = before.password if before else secrets.token_urlsafe(32)
    if not _holds_data(pgdata, binaries):
        _make_data(pgdata, binaries, account, password)
    elif before is None:
        _set_password(pgdata, binaries, account, password)
    if account and sockets:
        _give(account, [sockets])
    for port in ports:
        server = Server(port, password, state, pgdata, binaries.version, binaries.bin_dir)
        write_private(state / "server.json", json.dumps(asdict(server), default=str, indent=1))
        _write_configuration(pgdata, port, sockets)
        if _pg_ctl_start(server, binaries, account):
            _wait_for(server, account)
            return server
    raise ServerError(
        f"Another program took port {ports[-1]} on 127.0.0.1, which was free", hint="Try again."
    )


def _pg_ctl_start(server: Server, binaries: Binaries, account: Account | None) -> bool:
    """Run `pg_ctl start` until connections are taken; `False` where the port is taken."""
    log = server.state / "server.log"
    if log.exists() and log.stat().st_size > LARGEST_LOG:
        os.replace(log, log.with_name("server.log.1"))
    command = (binaries.program("pg_ctl"), "start", "-w", "-s", "-t", f"{START_PATIENCE:.0f}")
    # The server inherits the open log, so that it need not be able to reach the state folder.
    with os.fdopen(os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "rb") as opened:
        begin = opened.seek(0, os.SEEK_END)
        patience = START_PATIENCE + 30
        started = _run(account, *command, pgdata=server.pgdata, log=opened, timeout=patience)
        opened.seek(begin)
        said = opened.read().decode("utf-8", "replace")
    if started.returncode and "could not bind" not in said:
        raise _program_error("PostgreSQL did not start on", server.pgdata, said)
    return started.returncode == 0


def _stop(pgdata: Path, account: Account | None, *, at_once: bool = False) -> bool:
    """Stop the server of a data directory and return whether one was running.

    At once, it leaves a recovery to the next start, if there is one.

    `pg_ctl stop` would signal whatever process has the number in `postmaster.pid` by now.
    """
    import psutil

    postmaster = _postmaster(pgdata, account)
    if postmaster is None:
        return False
    name = "QUIT" if at_once else "INT"
    if sys.platform == "win32":
        _run(None, find_binaries().program("pg_ctl"), "kill", name, str(postmaster.pid))
    else:
        with contextlib.suppress(psutil.Error):  # it may end by itself meanwhile
            postmaster.send_signal(signal.Signals[f"SIG{name}"])
    if not _until(lambda: not _works_in(postmaster, pgdata, account), STOP_PATIENCE):
        raise ServerError(
            f"PostgreSQL on {pgdata} did not stop within {STOP_PATIENCE:.0f} seconds",
            hint="Close what is connected to it, and try again.",
        )
    return True


def _wait_for(server: Server, account: Account | None) -> bool:
    """Wait while a server starts up or recovers; `False` where it ends instead.

    Raises
    ------
    ServerError
        It refuses our password, or does not come up.
    """
    deadline = time.monotonic() + START_PATIENCE
    while said := _refusal(server):
        if not _postmaster(server.pgdata, account):
            return False
        if "password authentication failed" in said or time.monotonic() > deadline:
            raise ServerError(
                f"PostgreSQL on {server.pgdata} runs, but does not let us in: {said}",
                hint="Look at server.log in the state folder (.course), or delete server.json "
                "there: the next start sets a new password.",
            )
        time.sleep(0.05)
    return True


def _refusal(server: Server, seconds: int = 10) -> str | None:
    """Log in, which proves that a server is ours and well; return what is said where that fails."""
    import psycopg

    try:
        psycopg.connect(server.url(), connect_timeout=seconds, application_name="course").close()
    except psycopg.OperationalError as error:
        said = str(error).strip()
        return None if "too many clients" in said else said
    return None


def _clear_remains(pgdata: Path, account: Account | None) -> None:
    """End what a killed server left running, and remove the number of its process.

    PostgreSQL itself would take a zombie, or an innocent process that has that number by now, for a
    server that runs.
    """
    import psutil

    def nothing_left() -> bool:
        left = [p for p in psutil.process_iter() if _works_in(p, pgdata, account)]
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


def _postmaster(pgdata: Path, account: Account | None) -> psutil.Process | None:
    """Return the process that `postmaster.pid` names, if it lives and is this data's server."""
    import psutil

    try:
        process = psutil.Process(int((pgdata / "postmaster.pid").read_bytes().split()[0]))
    except (OSError, ValueError, IndexError, OverflowError, psutil.Error):
        return None
    return process if _works_in(process, pgdata, account) else None


def _works_in(process: psutil.Process, pgdata: Path, account: Account | None) -> bool:
    """Return whether a process lives (a zombie does not) and is a PostgreSQL on this data."""
    import psutil

    try:
        return process.name() in {"postgres", "postgres.exe"} and Path(process.cwd()) == pgdata
    except psutil.AccessDenied:  # root in a container may not look; the server's account may
        if account is None:
            return False
        answer = _run(account, "readlink", f"/proc/{process.pid}/cwd")
        return Path(answer.stdout.strip()) == pgdata
    except (psutil.Error, OSError):
        return False


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


def _holds_data(pgdata: Path, binaries: Binaries) -> bool:
    """Return whether there is a data directory for these programs; `False` where there is none.

    Raises
    ------
    ServerError
        It is of another major version, or the folder holds something else.
    """
    if not pgdata.exists() or (pgdata.is_dir() and not any(pgdata.iterdir())):
        return False
    if not (pgdata / "PG_VERSION").is_file():
        raise ServerError(
            f"{pgdata} is not a PostgreSQL data directory (it has no PG_VERSION)",
            hint="Move it out of the way: the course makes a new one, which every lab can fill.",
        )
    found = (pgdata / "PG_VERSION").read_text(encoding="utf-8").strip()
    if found != str(binaries.major):
        raise ServerError(
            f"{pgdata} was made by PostgreSQL {found}, and this is PostgreSQL {binaries.version}",
            hint=f"Move it out of the way ({pgdata} -> {pgdata}-{found}): the course makes a "
            "new one, which every lab and `course ingest` can fill again. To keep what is in it, "
            f"pg_dump it with PostgreSQL {found} first.",
        )
    return True


def _make_data(pgdata: Path, binaries: Binaries, account: Account | None, password: str) -> None:
    """Make a data directory with `initdb`: UTF-8, ordering by code point, passwords for all users.

    It is made beside its place and then renamed, so that an interrupted `initdb` leaves none.
    """
    for rest in pgdata.parent.glob(f"{HALF_MADE}*"):  # of a start that was killed
        shutil.rmtree(rest, ignore_errors=True)
    with tempfile.TemporaryDirectory(
        prefix=HALF_MADE, dir=pgdata.parent, ignore_cleanup_errors=True
    ) as temporary:
        half, secret = Path(temporary, "data"), Path(temporary, "password")
        write_private(secret, password)
        if account:
            _give(account, [secret, secret.parent])
        options = ["-U", "postgres", "--auth=scram-sha-256", f"--pwfile={secret}"]
        options += ["--no-instructions", "--encoding=UTF8", "--locale=C"]
        if binaries.major >= 17:  # orders like C, and knows the case of letters beyond ASCII
            options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        made = _run(account, binaries.program("initdb"), *options, pgdata=half)
        if made.returncode:
            raise _program_error("initdb could not make the data in", pgdata, made.stdout)
        if pgdata.is_dir():
            pgdata.rmdir()
        half.rename(pgdata)


def _set_password(pgdata: Path, binaries: Binaries, account: Account | None, password: str) -> None:
    """Give the superuser a new password while no server runs: the old one is lost."""
    command = (binaries.program("postgres"), "--single", "postgres")
    statement = f"ALTER ROLE postgres PASSWORD '{password}'\n"
    done = _run(account, *command, pgdata=pgdata, stdin=statement, timeout=START_PATIENCE)
    if done.returncode or "ERROR:" in done.stdout:
        raise _program_error("The password could not be set in", pgdata, done.stdout)


def _write_configuration(pgdata: Path, port: int, sockets: Path | None) -> None:
    """Write `postgresql.conf`: a laptop's server that never risks its data."""
    lines = [
        "# Written by the course at every start of the server: changes are lost.",
        "listen_addresses = '127.0.0.1'",
        f"port = {port}",
        f"unix_socket_directories = '{sockets or ''}'",
        "shared_buffers = '512MB'",  # filled as it is used; holds 100,000 chunks and their index
        "work_mem = '16MB'",
        "maintenance_work_mem = '256MB'",
        "effective_cache_size = '1GB'",
        "wal_level = 'minimal'",
        "max_wal_senders = 0",
        "jit = off",
        "log_line_prefix = '%m [%p] %q%u@%d '",
        "log_checkpoints = off",
        "log_timezone = 'UTC'",
        "timezone = 'UTC'",
    ]
    # A parallel index build shares memory; in /dev/shm containers have 64 MB.
    if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free < ROOMY_SHARED_MEMORY:
        lines.append("dynamic_shared_memory_type = 'mmap'")
    write_private(pgdata / "postgresql.conf", "\n".join(lines) + "\n", mode=0o644)


def _data_directory(state: Path) -> Path:
    """Return where the data of a state folder is or will be; links are resolved."""
    return (state / "pgdata").resolve()


def _reachable_place(state: Path, account: Account | None) -> Path:
    """Return the data directory, put where the server's account can reach it.

    That is `pgdata` in the state folder, which is closed to other accounts: the server's may pass
    through it. Where root's server runs under an account that cannot come that far (a checkout
    below root's closed home), `pgdata` is a link to a folder in /var/lib.
    """

    def can_enter(folder: Path) -> bool:
        enter = ("/bin/sh", "-c", 'cd -- "$1"', "sh", folder)
        return not _run(account, *enter).returncode

    link = state / "pgdata"
    if account is None:
        return link.resolve()
    if link.is_symlink() and not link.resolve().parent.is_dir():
        link.unlink()  # what it led to is gone, as in a new container
    if not link.is_symlink() and not can_enter(state) and can_enter(state.parent):
        os.chown(state, -1, account.gid)
        state.chmod(0o710)
    if not link.is_symlink() and not can_enter(state):
        ROOTS_DATA.parent.mkdir(exist_ok=True)  # macOS has none
        house = Path(tempfile.mkdtemp(prefix=ROOTS_DATA.name, dir=ROOTS_DATA.parent))
        house.chmod(0o711)
        if link.is_dir():
            moved = Path(shutil.move(link, house / "pgdata"))
            _give(account, [moved, *moved.rglob("*")])
        link.symlink_to(house / "pgdata", target_is_directory=True)
    return link.resolve()


def _reachable_binaries(found: Binaries, folder: Path, account: Account | None) -> Binaries:
    """Return the programs, or a copy in a folder where the account cannot run them in their place.

    Raises
    ------
    ServerError
        The account can run neither the programs nor a copy.
    """
    try:
        _run(account, found.program("postgres"), "--version")
        return found
    except ServerError:
        if account is None or not found.from_wheel:
            raise
    copy = copy_of_the_wheel(found, folder)
    _run(account, copy.program("postgres"), "--version")
    return copy


def _server_account() -> Account | None:
    """Return the account that must run the server, or `None` where that is our own.

    Raises
    ------
    ServerError
        As root, where none of the accounts without rights exists.
    """
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    import pwd

    for name in ACCOUNTS:
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return Account(found.pw_uid, found.pw_gid, name)
    raise ServerError(
        f"PostgreSQL cannot run as root, and none of the accounts {', '.join(ACCOUNTS)} exists",
        hint="Run the course as a normal user, or set DATABASE_URL to a PostgreSQL with pgvector.",
    )


def _give(account: Account, paths: Sequence[Path]) -> None:
    """Make an account the owner of files and folders, never of what a link points to."""
    for path in paths:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def _run(
    account: Account | None,
    *command: str | Path,
    pgdata: Path | None = None,
    stdin: str = "",
    log: BinaryIO | int = subprocess.PIPE,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end under `account`, apart from our terminal and process group.

    Parameters
    ----------
    account
        Who runs it; `None` is ourselves.
    command
        The command line.
    pgdata
        The data directory that it works on, given through the environment.
    stdin
        Text for its standard input.
    log
        File that takes the output, needed for programs that leave a server behind: one that holds a
        pipe of ours would keep us waiting. Without it the output is in the result.
    timeout
        Seconds after which it is ended.
    """
    misleading = ("PG", "LC_", "LANG")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(misleading)}
    environment |= {"LC_ALL": "C"} | ({"PGDATA": str(pgdata)} if pgdata else {})
    options: dict[str, object] = {"start_new_session": True, "umask": 0o077, "cwd": "/"}
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    elif account is not None:
        options |= {"user": account.uid, "group": account.gid, "extra_groups": []}
    try:
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            [str(word) for word in command],
            input=stdin,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            **options,
        )
    except subprocess.TimeoutExpired as error:
        raise ServerError(f"{command[0]} did not end within {timeout:.0f} seconds") from error
    except PermissionError as error:
        who = f"the account {account.name!r}" if account else "this account"
        said = f"{command[0]} cannot be run under {who}: {error.strerror}"
        raise ServerError(said, hint=WAYS_OUT) from error


def write_private(path: Path, text: str, mode: int = 0o600) -> None:
    """Write a file whole or not at all; nobody else can read it unless `mode` says so.

    Examples
    --------
    >>> path = Path(tempfile.mkdtemp(), "secret")
    >>> write_private(path, "s3cret")
    >>> path.read_text()
    's3cret'
    """
    handle, name = tempfile.mkstemp(prefix=f"{path.name}-", dir=path.parent)  # made with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            if sys.platform != "win32":
                os.fchmod(handle, mode)  # by its name, it may be another file by now
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


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


@contextlib.contextmanager
def _clear_errors(state: Path) -> Iterator[None]:
    """Turn what the file system refuses inside the block into a `ServerError`."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise _full_disk(state) from error
        if isinstance(error, PermissionError):
            raise ServerError(
                f"{error.filename or state} belongs to another account ({error.strerror})",
                hint="Use the account that started the server first, or set COURSE_STATE to a "
                "folder of your own.",
            ) from error
        raise ServerError(
            f"The server's files in {state} cannot be used: {error}",
            hint="Set COURSE_STATE to a folder that can be written to.",
        ) from error


def _program_error(what: str, pgdata: Path, output: str) -> ServerError:
    """Return the error for a program that failed, from what it wrote; a full disk is named as such.

    Examples
    --------
    >>> print(_program_error("It did not start on", Path("pgdata"), "FATAL: no").args[0])
    It did not start on pgdata. Its last lines:
    FATAL: no
    """
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return _full_disk(pgdata)
    if "user does not exist" in output and "effective user ID" in output:
        return ServerError(
            "PostgreSQL cannot run under this account, which the system does not know by name",
            hint="Use an account with an entry in /etc/passwd, or set DATABASE_URL.",
        )
    tail = "\n".join(output.strip().splitlines()[-8:]) or "(it wrote nothing)"
    return ServerError(
        f"{what} {pgdata}. Its last lines:\n{tail}",
        hint="`course doctor` checks this machine. COURSE_STATE puts the data elsewhere; "
        "DATABASE_URL takes any PostgreSQL >= 16 with pgvector instead.",
    )


def _full_disk(place: Path) -> ServerError:
    return ServerError(
        f"The disk that holds {place} is full",
        hint="Free some space (the server needs about 100 MB), or set COURSE_STATE to a folder on "
        "another disk.",
    )
