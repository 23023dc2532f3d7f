"""The data directory: making it, checking that it fits, and the settings of its server."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from course_lib.errors import ServerError
from course_lib.store.account import Account, hand_over, run_as
from course_lib.store.binaries import Binaries
from course_lib.store.faults import start_error
from course_lib.store.place import write_private

SUPERUSER = "postgres"
ROOMY_SHARED_MEMORY = 2 * 1024**3
MB = 1024**2

CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Where Linux says how much memory a container may take: cgroups version 2, and version 1."""


def make_cluster(pgdata: Path, binaries: Binaries, account: Account | None, password: str) -> None:
    """Make a data directory with `initdb`: UTF-8, ordering by code point, passwords for everybody.

    It is made beside its place and then renamed, so that an interrupted or failed `initdb` leaves
    none behind.

    Raises
    ------
    ServerError
        `initdb` failed, for instance on a full disk.
    """
    temporary = Path(tempfile.mkdtemp(prefix="pgdata-new-", dir=pgdata.parent))
    try:
        half, secret = temporary / "data", temporary / "password"
        write_private(secret, password)
        hand_over(secret, account)
        hand_over(temporary, account)  # last: from here on the folder is not ours alone
        locale = ["--locale=C", "--encoding=UTF8"]
        if binaries.major >= 17:
            # Orders like C, and knows the case of letters beyond ASCII.
            locale += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        login = ["-U", SUPERUSER, "--auth=scram-sha-256", f"--pwfile={secret}"]
        command: list[str | Path] = [
            binaries.program("initdb"),
            "-D",
            half,
            "--no-instructions",
            *login,
            *locale,
        ]
        result = run_as(account, command)
        if result.returncode != 0:
            raise start_error("initdb could not make the data directory", pgdata, result.stdout)
        if pgdata.is_dir():
            pgdata.rmdir()
        half.rename(pgdata)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def remove_unfinished(pgdata: Path) -> None:
    """Remove what an interrupted `make_cluster` left beside the data directory.

    Its `initdb` may outlive whoever started it and still write: it is given a moment to fail on the
    missing folder.
    """
    deadline = time.monotonic() + 10
    while rests := list(pgdata.parent.glob("pgdata-new-*")):
        for rest in rests:
            shutil.rmtree(rest, ignore_errors=True)
        if time.monotonic() > deadline:
            return  # it is in nobody's way, and the next start tries again
        time.sleep(0.05)


def check_cluster(pgdata: Path, binaries: Binaries) -> bool:
    """Return whether a data directory is there and fits; `False` where it is still to be made.

    Raises
    ------
    ServerError
        It is of another major version, or the folder holds something else.
    """
    try:
        found = (pgdata / "PG_VERSION").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        if not pgdata.is_dir() or not any(pgdata.iterdir()):
            return False
        raise ServerError(
            f"{pgdata} is not a PostgreSQL data directory (it has no PG_VERSION)",
            hint="Move it out of the way: the course makes a new one, which every lab can fill.",
        ) from None
    if found != str(binaries.major):
        raise ServerError(
            f"{pgdata} was made by PostgreSQL {found}, and this is PostgreSQL {binaries.version}",
            hint=f"Move it out of the way ({pgdata} -> {pgdata}-{found}): the course makes a "
            "new one, which every lab and `course ingest` can fill again. To keep what is in it, "
            f"pg_dump it with PostgreSQL {found} first.",
        )
    return True


def set_password(
    pgdata: Path, binaries: Binaries, account: Account | None, password: str, config: Path
) -> None:
    """Give the superuser a new password while no server runs: ours is lost.

    Raises
    ------
    ServerError
        The data directory cannot be opened.
    """
    options = ["--single", "-D", str(pgdata), "-c", f"config_file={config}", "postgres"]
    result = run_as(
        account,
        [binaries.program("postgres"), *options],
        stdin=f"ALTER ROLE {SUPERUSER} PASSWORD '{password}'\n",
        timeout=600,
    )
    if result.returncode != 0 or "ERROR:" in result.stdout:
        raise start_error("The password could not be set in", pgdata, result.stdout)


def cache_size(memory: int) -> int:
    """Return how much of the memory PostgreSQL keeps tables and indexes in, both in bytes.

    PostgreSQL's manual ("Resource Consumption") starts at a quarter of a machine that serves
    nothing else. A laptop does, so here it is an eighth, from 128 MB, PostgreSQL's own default, to
    1 GB, which holds about 250,000 chunks' vectors and their index. Memory is taken as it fills.

    A search jumps through the whole index. What of it is not in here is copied from the system's
    cache of files, page by page: with 128 MB, a search in 100,000 rows takes half as long again.

    Examples
    --------
    >>> [cache_size(gigabytes << 30) >> 20 for gigabytes in (1, 4, 8, 64)]
    [128, 512, 1024, 1024]
    """
    return min(max(memory // 8, 128 * MB), 1024 * MB)


def machine_memory() -> int:
    """Return the bytes of memory of this machine, or what a limit leaves to this process."""
    import psutil

    sizes = [int(psutil.virtual_memory().total)]
    if sys.platform != "win32":
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            sizes.append(limit)
    for file in CONTAINER_LIMITS:
        try:
            # UTF-8 needs no module, which this account may not be able to read.
            sizes.append(int(file.read_text(encoding="utf-8")))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return min(sizes)


def configuration(
    port: int, socket_dir: Path | None, hba: Path, *, roomy_shared_memory: bool, cache: int
) -> str:
    """Return the text of `postgresql.conf`: a laptop's server that never risks its data.

    Parameters
    ----------
    port
        TCP port on 127.0.0.1.
    socket_dir
        Folder of the unix socket, or `None` for none (Windows).
    hba
        The file that says who may log in.
    roomy_shared_memory
        Whether /dev/shm takes the memory of a parallel index build; containers give it 64 MB.
    cache
        Bytes of `cache_size`.

    Examples
    --------
    >>> text = configuration(
    ...     5433, None, Path("pg_hba.conf"), roomy_shared_memory=True, cache=256 * MB
    ... )
    >>> "fsync = 'on'" in text, "shared_buffers = '256MB'" in text
    (True, True)
    """
    settings: dict[str, str | int] = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": "" if socket_dir is None else _list_item(socket_dir),
        "unix_socket_permissions": "0700",
        "hba_file": str(hba),
        "max_connections": 100,
        "password_encryption": "scram-sha-256",
        "shared_buffers": f"{cache // MB}MB",
        "work_mem": "16MB",
        "maintenance_work_mem": "256MB",
        "effective_cache_size": "1GB",
        "fsync": "on",
        "wal_level": "minimal",
        "max_wal_senders": 0,
        "jit": "off",
        "log_destination": "stderr",
        "logging_collector": "off",
        "log_line_prefix": "%m [%p] %q%u@%d ",
        "log_checkpoints": "off",
        "log_timezone": "UTC",
        "timezone": "UTC",
        "lc_messages": "C",
    }
    if sys.platform != "win32" and not roomy_shared_memory:
        settings["dynamic_shared_memory_type"] = "mmap"
    lines = ["# Written by the course at every start of the server: changes are lost."]
    for name, value in settings.items():
        quoted = str(value).replace("\\", "\\\\").replace("'", "''")
        lines.append(f"{name} = '{quoted}'")
    return "\n".join(lines) + "\n"


def write_configuration(home: Path, port: int, socket_dir: Path | None) -> Path:
    """Write `postgresql.conf` and `pg_hba.conf` and return the first one's path.

    They lie beside the data directory, which belongs to the server's account: root writes nothing
    where another account could have put a link.
    """
    folder = home / "postgres"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    hba = folder / "pg_hba.conf"
    rules = ["host all all 127.0.0.1/32 scram-sha-256"]
    if socket_dir is not None:
        rules.append("local all all scram-sha-256")
    write_private(hba, "\n".join(rules) + "\n", mode=0o644)
    config = folder / "postgresql.conf"
    text = configuration(
        port,
        socket_dir,
        hba,
        roomy_shared_memory=_shared_memory_is_roomy(),
        cache=cache_size(machine_memory()),
    )
    write_private(config, text, mode=0o644)
    return config


def _list_item(path: Path) -> str:
    """Quote a path for a setting that is a list of paths."""
    return '"' + str(path).replace('"', '""') + '"'


def _shared_memory_is_roomy() -> bool:
    try:
        return shutil.disk_usage("/dev/shm").free >= ROOMY_SHARED_MEMORY
    except OSError:
        return sys.platform != "linux"
