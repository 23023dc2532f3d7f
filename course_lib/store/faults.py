"""What goes wrong around the embedded server, as errors that say what to do."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from course_lib.errors import ServerError

# Seconds for which a server may hang up on everybody who logs in.
DROPPED_PATIENCE = 10.0


def start_error(what: str, pgdata: Path, output: str) -> ServerError:
    """Return the error for a program that failed, from what it wrote; a full disk is named as such.

    Examples
    --------
    >>> print(start_error("It did not start on", Path("pgdata"), "FATAL: no").args[0])
    It did not start on pgdata. Its last lines:
    FATAL: no
    """
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return full_disk(pgdata)
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


def full_disk(place: Path) -> ServerError:
    """Return the error for a disk without room."""
    return ServerError(
        f"The disk that holds {place} is full",
        hint="Free some space (the server needs about 100 MB), or set COURSE_STATE to a folder on "
        "another disk.",
    )


@contextlib.contextmanager
def as_server_errors(state: Path) -> Iterator[None]:
    """Turn what the file system refuses inside the block into a `ServerError`."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise full_disk(state) from error
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


def will_pass(error: Exception, waited: float, patience: float) -> bool:
    """Return whether a refused login is worth another attempt.

    Parameters
    ----------
    error
        What the attempt raised.
    waited
        Seconds since the first attempt.
    patience
        Seconds that a server may take to start, to stop or to recover.

    Examples
    --------
    >>> will_pass(OSError("the database system is in recovery mode"), waited=50, patience=60)
    True
    >>> will_pass(OSError("password authentication failed"), waited=0, patience=60)
    False
    """
    said = str(error)
    if "the database system is" in said:
        return waited < patience
    # After one of its processes was killed, a server ends the others and with them a login that is
    # under way. Other programs behind a port hang up for ever, so this is borne for less long.
    dropped = ("server closed the connection", "reset by peer", "terminating connection because of")
    return any(phrase in said for phrase in dropped) and waited < min(patience, DROPPED_PATIENCE)
