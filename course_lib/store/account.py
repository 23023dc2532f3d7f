"""Which operating-system account runs PostgreSQL, and running programs under it.

PostgreSQL refuses to run as root, which is what containers and many CI machines are. There an
account without rights takes over; everywhere else the server runs as whoever asked for it and
`Account` is `None`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.errors import ServerError

CANDIDATES = ("nobody", "daemon", "postgres")
WAY_OUT = (
    "Run the course as a normal user, or set DATABASE_URL to a PostgreSQL >= 16 with pgvector."
)


@dataclass(frozen=True)
class Account:
    """An account of the operating system.

    Attributes
    ----------
    uid, gid
        Its numbers.
    name
        Its name, for messages.
    """

    uid: int
    gid: int
    name: str


def is_root() -> bool:
    """Return whether this process has root's rights (never on Windows)."""
    return sys.platform != "win32" and os.geteuid() == 0


def server_account(state: Path) -> Account | None:
    """Return the account that must run the server, or `None` where that is our own.

    Parameters
    ----------
    state
        The state folder. Data that exists keeps its owner; a folder that belongs to a person (a
        checkout mounted into a container, `sudo`) gives that person; otherwise it is an account
        without rights, `nobody` first.

    Raises
    ------
    ServerError
        As root, where no such account exists.
    """
    if not is_root():
        return None
    for place in (state / "pgdata", state):
        account = _account(owner) if (owner := _owner(place)) else None
        if account is not None:
            return account
    for name in CANDIDATES:
        account = _account(name)
        if account is not None and account.uid != 0:
            run_as(account, ["/bin/sh", "-c", ":"])  # a root without CAP_SETUID ends here
            return account
    raise ServerError(
        f"PostgreSQL cannot run as root, and none of the accounts {', '.join(CANDIDATES)} exists",
        hint=WAY_OUT,
    )


def clean_environment() -> dict[str, str]:
    """Return our environment without what misleads PostgreSQL's programs (`PG…`, locales)."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PG", "LC_")) and name not in {"LANG", "LANGUAGE"}
    }
    return kept | {"LC_ALL": "C"}


def run_as(
    account: Account | None,
    arguments: Sequence[str | Path],
    *,
    stdin: str | None = None,
    log: int | None = None,
    pgdata: Path | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end under `account`, apart from our terminal and process group.

    Parameters
    ----------
    account
        Who runs it; `None` is ourselves.
    arguments
        The command line.
    stdin
        Text for its standard input, which is empty otherwise.
    log
        File descriptor that takes the output, needed for programs that leave a server behind: one
        that holds a pipe of ours would keep us waiting. Without it the output is in the result.
    pgdata
        The data directory that the program works on, given through the environment.
    timeout
        Seconds after which the program is ended.

    Raises
    ------
    ServerError
        The program cannot be started or does not end.
    """
    options: dict[str, object] = {}
    if sys.platform == "win32":
        options["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    else:
        options.update(start_new_session=True, umask=0o077, cwd="/")
        if account is not None:
            options.update(user=account.uid, group=account.gid, extra_groups=[])
    output = subprocess.PIPE if log is None else log
    command = [str(argument) for argument in arguments]
    try:
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            command,
            input=stdin or "",
            stdout=output,
            stderr=subprocess.STDOUT,
            env=clean_environment() | ({"PGDATA": str(pgdata)} if pgdata else {}),
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            check=False,
            **options,
        )
    except subprocess.TimeoutExpired as error:
        raise ServerError(f"{command[0]} did not end within {timeout:.0f} seconds") from error
    except PermissionError as error:
        who = f"the account {account.name!r}" if account else "this account"
        raise ServerError(
            f"{command[0]} cannot be run under {who}: {error.strerror}",
            hint=WAY_OUT,
        ) from error


def can_run(account: Account | None, arguments: Sequence[str | Path]) -> bool:
    """Return whether a program runs and succeeds under `account`."""
    try:
        return run_as(account, arguments, timeout=30).returncode == 0
    except (ServerError, OSError):
        return False


def can_enter(account: Account | None, directory: Path) -> bool:
    """Return whether `account` can reach a directory, asked of the system, which knows of ACLs."""
    return account is None or can_run(account, ["/bin/sh", "-c", 'cd -- "$1"', "sh", directory])


def hand_over(path: Path, account: Account | None) -> None:
    """Make `account` the owner of one file or directory (never of what a link points to)."""
    if account is not None and sys.platform != "win32":
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def _owner(path: Path) -> int:
    """Return the uid that owns `path`; 0 where there is none, which is root's as well."""
    try:
        return path.stat().st_uid
    except OSError:
        return 0


def _account(who: int | str) -> Account | None:
    """Look an account up; initdb cannot work for a uid without an entry."""
    if sys.platform == "win32":
        return None
    import pwd

    try:
        entry = pwd.getpwuid(who) if isinstance(who, int) else pwd.getpwnam(who)
    except KeyError:
        return None
    return Account(entry.pw_uid, entry.pw_gid, entry.pw_name)
