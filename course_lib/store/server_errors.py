"""What keeps the embedded server from running, in words: what happened, and what to do."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from course_lib.errors import ServerError


@contextmanager
def explained_files(state: Path) -> Iterator[None]:
    """Turn what the file system refuses inside the block into a `ServerError`."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise program_error("", state, str(error)) from error
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


def program_error(what: str, pgdata: Path, output: str) -> ServerError:
    """Return the error for a program that failed, from what it wrote; a full disk is named as such.

    Examples
    --------
    >>> print(program_error("It did not start on", Path("pgdata"), "FATAL: no").args[0])
    It did not start on pgdata. Its last lines:
    FATAL: no
    """
    if re.search("No space left on device|Disk quota exceeded", output):
        return ServerError(
            f"The disk that holds {pgdata} is full",
            hint="Free some space (the server needs about 100 MB), or set COURSE_STATE to a folder "
            "on another disk.",
        )
    if re.search("effective user ID.*user does not exist", output):
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
