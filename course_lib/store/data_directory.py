"""The data directory of the embedded server: made once, checked, and configured at every start."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from course_lib.errors import ServerError
from course_lib.files import write_atomically
from course_lib.store.accounts import give, run
from course_lib.store.binaries import Binaries
from course_lib.store.server_errors import program_error

HALF_MADE = "pgdata-new-"
"""How the folder begins in which the data are made."""

PASSWORD_PATIENCE = 600.0
"""Seconds. After a crash the data are recovered first, which a slow disk takes minutes for."""

LEFTOVER_PATIENCE = 10.0
"""Seconds in which what a killed start left, processes and files, is gone."""

ROOMY_SHARED_MEMORY = 2 * 1024**3


def holds_data(pgdata: Path, binaries: Binaries) -> bool:
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


def make_data(pgdata: Path, binaries: Binaries, password: str) -> None:
    """Make a data directory with `initdb`: UTF-8, ordering by code point, passwords for all users.

    It is made beside its place and then renamed, so that an interrupted `initdb` leaves none.
    """
    with tempfile.TemporaryDirectory(
        prefix=HALF_MADE, dir=pgdata.parent, ignore_cleanup_errors=True
    ) as temporary:
        half, secret = Path(temporary, "data"), Path(temporary, "password")
        write_atomically(secret, password, mode=0o600)
        give([secret, secret.parent])
        options = ["-U", "postgres", "--auth=scram-sha-256", f"--pwfile={secret}"]
        options += ["--no-instructions", "--encoding=UTF8", "--locale=C"]
        if binaries.major >= 17:  # orders like C, and knows the case of letters beyond ASCII
            options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        made = run(binaries.program("initdb"), *options, pgdata=half)
        if made.returncode:
            raise program_error("initdb could not make the data in", pgdata, made.stdout)
        if pgdata.is_dir():
            pgdata.rmdir()
        half.rename(pgdata)


def clear_half_made(pgdata: Path) -> None:
    """Remove what a start left that was killed while it made the data.

    Its `initdb` lives on, and writes until it misses a file: what it writes while its folder is
    removed is left by the first try.
    """
    deadline = time.monotonic() + LEFTOVER_PATIENCE
    while left := list(pgdata.parent.glob(f"{HALF_MADE}*")):
        for folder in left:
            shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() > deadline:
            return  # it takes room, and harms nobody
        time.sleep(0.03)


def set_password(pgdata: Path, binaries: Binaries, password: str) -> None:
    """Give the superuser a new password while no server runs: the old one is lost."""
    command = (binaries.program("postgres"), "--single", "postgres")
    statement = f"ALTER ROLE postgres PASSWORD '{password}'\n"
    done = run(*command, pgdata=pgdata, stdin=statement, timeout=PASSWORD_PATIENCE)
    if done.returncode or "ERROR:" in done.stdout:
        raise program_error("The password could not be set in", pgdata, done.stdout)


def write_configuration(pgdata: Path, port: int, sockets: Path | None) -> None:
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
    write_atomically(pgdata / "postgresql.conf", "\n".join(lines) + "\n")
