"""Set the course up: from a bare Python to a `.venv` that has everything, by one command.

`python course_lib/bootstrap.py` is what `make setup` and every other task call first; it returns at
once when `.venv` is up to date. It runs before anything is installed, so it takes the standard
library alone, and Python 3.8 can read it: an old Python is to say which one is wanted. The file
reads in the order of what happens: Python, `.venv`, the lock, torch, the course, the model.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STAMP = "course-setup.json"
OLDEST_PYTHON = (3, 11)
NEWEST_TRIED = (3, 13)
NEWEST_PYTHON = (3, 14)  # for newer ones, torch and the PostgreSQL binaries have no wheels yet
FREE_GB = 4.0  # `.venv` takes 2.4, and pip unpacks beside it
FREE_GB_WITH_CUDA = 12.0  # `.venv` then takes 6.3
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
AVOID_CUDA = "set COURSE_TORCH_INDEX or PIP_FIND_LINKS to a place with PyTorch's CPU wheel"
DISK_IS_FULL = r"No space left on device|not enough space"
NO_NETWORK = r"NewConnectionError|name resolution|timed out|ConnectTimeout|getaddrinfo|ProxyError"
_PROBE = """
import sys
print(*sys.version_info[:3])
import bz2, ctypes, ensurepip, lzma, sqlite3, ssl, venv
"""
"""Without one of these modules, pip, Jupyter or pandas would fail later and less clearly."""


class SetupError(Exception):
    """The set-up cannot go on: the message says why, and what to do."""


def main() -> int:
    """Run the set-up and return the exit code."""
    try:
        set_up()
    except SetupError as error:
        print(f"\nThe set-up stopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted. Run the same command again to set the course up.", file=sys.stderr)
        return 130
    return 0


def set_up(root: Path = ROOT) -> bool:
    """Bring `.venv` up to date.

    Returns
    -------
    bool
        Whether anything had to be done.

    Raises
    ------
    SetupError
        It cannot be done; the message says what to do about it.
    """
    if up_to_date(root):
        return False
    with only_one(root):
        if anything := not up_to_date(root):  # by the call that was waited for
            _install(root)
    return anything


# Which Python


def find_python() -> str:
    """Return the path of a Python that can carry the course, the running one where it can.

    Raises
    ------
    SetupError
        None was found; the message names what to install.
    """
    running = getattr(sys, "_base_executable", None) or sys.executable
    names = [f"python3.{minor}" for minor in (12, 11, 13, 14)] + ["python3", "python"]
    found = dict.fromkeys([str(running), *filter(None, map(shutil.which, names))], "")
    for candidate in found:
        found[candidate] = unsuitable(candidate)
        if not found[candidate]:
            return candidate
    oldest, newest = (".".join(map(str, version)) for version in (OLDEST_PYTHON, NEWEST_PYTHON))
    refused = "".join(f"    {path}: {reason}\n" for path, reason in found.items())
    raise SetupError(
        f"The course needs Python {oldest} to {newest}, and none was found that will do.\n{refused}"
        "Install one: apt install python3.12 python3.12-venv (Debian, Ubuntu; where only ensurepip "
        "or venv is missing, apt install python3-venv), brew install python@3.12 (macOS), winget "
        "install Python.Python.3.12 (Windows); or with the installer of python.org."
    )


def unsuitable(python: str) -> str:
    """Return why a Python cannot carry the course; empty where it can.

    Examples
    --------
    >>> unsuitable("there-is-no-such-program")
    'it does not run'
    """
    command = [python, "-I", "-c", _PROBE]
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        version = tuple(map(int, done.stdout.split()))
    except (OSError, ValueError):
        return "it does not run"
    if not OLDEST_PYTHON <= version[:2] <= NEWEST_PYTHON:
        return "it is " + ".".join(map(str, version)) if version else "it does not run"
    return "it lacks " + done.stderr.split()[-1].strip("'") if done.returncode else ""


# The virtual environment


def venv_bin(root: Path) -> Path:
    """Return the folder of `.venv` that holds `python` and `course`."""
    return root / ".venv" / ("Scripts" if os.name == "nt" else "bin")


def venv_python(root: Path) -> Path:
    """Return the path of the Python in `.venv`, whether it exists or not."""
    return venv_bin(root) / ("python.exe" if os.name == "nt" else "python")


def up_to_date(root: Path) -> bool:
    """Return whether `.venv` was completed in this folder, for this lock and `pyproject.toml`."""
    return _stamped(root) == stamp(root) and venv_python(root).exists()


def stamp(root: Path) -> str:
    """Return what is written into `.venv` as the last step of a set-up."""
    digest = hashlib.sha256()
    for name in ("requirements.lock", "pyproject.toml"):
        with contextlib.suppress(OSError):
            digest.update((root / name).read_bytes())
        digest.update(b"\0")
    found = {"root": str(root), "sha256": digest.hexdigest()}
    return json.dumps(found, indent=1) + "\n"


def can_be_kept(root: Path) -> bool:
    """Return whether the `.venv` that is there needs only new packages.

    It does not where a set-up was interrupted, or where its checkout was moved or copied: its
    programs begin with the path that it was made for.
    """
    return json.dumps(str(root)) in _stamped(root) and not unsuitable(str(venv_python(root)))


def _stamped(root: Path) -> str:
    with contextlib.suppress(OSError):
        return (root / ".venv" / STAMP).read_text(encoding="utf-8")
    return ""


@contextlib.contextmanager
def only_one(root: Path) -> Iterator[None]:
    """Hold a lock while installing, so that two calls at once do not write into one `.venv`."""
    try:
        (root / "build").mkdir(exist_ok=True)
        lock = (root / "build" / "setup.lock").open("a", encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"{error.filename} cannot be written ({error.strerror}). Copy the course to a folder "
            "of your own and run it there."
        ) from error
    with lock as handle:
        if not (is_ours := _try_lock(handle.fileno())):
            print("Another set-up of this folder is running; waiting for it.", flush=True)
        while not is_ours:
            time.sleep(0.2)
            is_ours = _try_lock(handle.fileno())
        yield  # closing the file releases the lock, and so does the end of the process


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


# What is installed


def _install(root: Path) -> None:
    """Carry out the six steps, and write the stamp when all are done."""
    lock, venv = root / "requirements.lock", root / ".venv"
    text = lock.read_text(encoding="utf-8")
    python = "" if can_be_kept(root) else find_python()
    if not venv.exists():
        check_room(root, FREE_GB)
    started = time.monotonic()
    print("Setting the course up in .venv: once, a few minutes.", flush=True)
    (root / "build" / "setup.log").write_text("", encoding="utf-8")
    (venv / STAMP).unlink(missing_ok=True)
    if python:
        made = [python, "-I", "-m", "venv", "--clear", "--prompt", "course", str(venv)]
        run(root, f"[1/6] a virtual environment with {python}", made)

    # pip first and alone, because it must not replace itself while it installs others; setuptools
    # with it, because packages without wheels are built with the one that is pinned here.
    tools = root / "build" / "tools.txt"
    tools.write_text(entries_of(text, ["pip", "setuptools"]), encoding="utf-8")
    hashed = ["--require-hashes", "--no-deps", "-r"]
    pip(root, "[2/6] pip and setuptools", [*hashed, str(tools)])
    # Before torch, so that what torch needs is here by then, and nothing comes without its hash.
    locked = [*hashed, str(lock), "--no-build-isolation"]
    pip(root, "[3/6] the packages of requirements.lock", locked)
    install_torch(root)
    pip(root, "[5/6] the course itself", ["--no-deps", "--no-build-isolation", "-e", str(root)])
    # Where that does not work, the first search says why, and torch encodes.
    convert = "from course_lib.embedder import EmbeddingClient; EmbeddingClient().backend"
    command = [str(venv_python(root)), "-I", "-c", convert]
    run(root, "[6/6] the model, converted for OpenVINO", command, required=False)
    (venv / STAMP).write_text(stamp(root), encoding="utf-8")
    print(f"Ready after {time.monotonic() - started:.0f} s.", flush=True)


def entries_of(lock: str, names: list[str]) -> str:
    r"""Return the entries of a lock for some packages, with their hashes.

    Examples
    --------
    >>> lock = "pip==26.0 \\\n    --hash=sha256:12\nrich==15.0 \\\n    --hash=sha256:34\n"
    >>> entries_of(lock, ["pip"])
    'pip==26.0 \\\n    --hash=sha256:12\n'
    """
    entries = re.findall(r"^[A-Za-z0-9].*\n(?:[ \t].*\n)*", lock, re.MULTILINE)
    return "".join(entry for entry in entries if entry.partition("==")[0] in names)


def torch_pin(root: Path) -> str:
    """Return the version of torch that `pyproject.toml` pins, for example `2.13.0`."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    return str(re.findall(r'^\s*"torch==([^"\s;]+)"', text, re.MULTILINE)[0])


def install_torch(root: Path) -> None:
    """Install the pinned torch, whose wheel for Linux comes from another place than all others.

    PyPI's wheel for Linux needs several gigabytes of CUDA packages. So a wheel that pip is
    configured with (`find-links`) is tried first, then PyTorch's own index of CPU wheels, and PyPI
    last. `COURSE_TORCH_INDEX` names another index, and then only that one is asked. Since nobody
    knows where it comes from, no hash is known either.

    Raises
    ------
    SetupError
        pip failed, or the disk is too small for what would come.
    """
    torch = f"torch=={torch_pin(root)}"
    if given := os.environ.get("COURSE_TORCH_INDEX"):
        pip(root, f"[4/6] {torch} from {given}", ["--index-url", given, torch])
        return
    found = ["--no-index", "--no-deps", torch]
    if pip(root, f"[4/6] {torch}, a wheel that pip is configured with", found, required=False):
        return
    if platform.system() == "Linux":
        cpu = ["--no-deps", "--retries", "1", "--timeout", "10", "--index-url", CPU_INDEX, torch]
        if pip(root, f"[4/6] {torch} for the CPU, about 200 MB", cpu, required=False):
            return
        check_room(root, FREE_GB_WITH_CUDA, f"\nOr {AVOID_CUDA}.")
        print(f"{CPU_INDEX} cannot be used from here, so PyTorch comes from PyPI with its CUDA")
        print(f"packages (6.3 GB instead of 2.4). To avoid that, press Ctrl-C and {AVOID_CUDA}.")
    pip(root, f"[4/6] {torch} from PyPI", [torch])


def check_room(root: Path, needed: float, otherwise: str = "") -> None:
    """Refuse to go on where the disk has less than this many gigabytes free."""
    free = shutil.disk_usage(root).free / 1e9
    if free < needed:
        raise SetupError(
            f"the disk of {root} has {free:.1f} GB free, and {needed:.0f} GB are needed. "
            f"Free some space and try again.{otherwise}"
        )


# How it is shown


def pip(root: Path, label: str, arguments: list[str], *, required: bool = True) -> bool:
    """Install with the pip of `.venv`; the other parameters are those of `run`."""
    command = [str(venv_python(root)), "-I", "-m", "pip", "install", *arguments]
    return run(root, label, [*command, "--progress-bar", "off"], required=required)


def run(root: Path, label: str, command: list[str], *, required: bool = True) -> bool:
    """Run one step with a line of its own; what the command says goes to `build/setup.log`.

    On a terminal, the line ends with the last that it said, and with the seconds.

    Parameters
    ----------
    root
        The folder that holds `.venv`.
    label
        What the step is called.
    command
        The program and its arguments.
    required
        Raise where it fails; on a full disk, nothing else is tried either.

    Returns
    -------
    bool
        Whether it succeeded.

    Raises
    ------
    SetupError
        With the end of what it said.
    """
    log, started = root / "build" / "setup.log", time.monotonic()
    before, terminal, ended = log.stat().st_size, sys.stdout.isatty(), False
    print(f"  {label}", end="", flush=True)
    with log.open("ab") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=clean_environment()
        )
        try:
            while not ended:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    ended = process.wait(0.3) is not None
                said = log.read_bytes()[before:].decode("utf-8", errors="replace")
                if terminal:
                    now = f"{time.monotonic() - started:4.0f} s  {' '.join(said.split()[-2:])[:40]}"
                    print(f"\r\x1b[K  {label}{now}", end="", flush=True)
        finally:
            process.kill()  # it has ended, or the set-up ends
    end = f"  {time.monotonic() - started:.0f} s"
    print(f"\r\x1b[K  {label}{end}" if terminal else end, flush=True)
    if process.returncode and (required or re.search(DISK_IS_FULL, said)):
        raise SetupError(failure(said, command, log))
    return process.returncode == 0


def failure(said: str, command: list[str], log: Path) -> str:
    """Return the message for a command that failed: the end of what it said, and what to do.

    Examples
    --------
    >>> print(failure("OSError: [Errno 28] No space left on device", ["pip"], Path("setup.log")))
    a step failed:
        OSError: [Errno 28] No space left on device
    The disk is full. Free some space and try again.
    The command was: pip
    The whole output is in setup.log.
    """
    lines = ["a step failed:", *(f"    {line}" for line in said.strip().splitlines()[-15:])]
    if re.search(DISK_IS_FULL, said):
        lines.append("The disk is full. Free some space and try again.")
    elif re.search(NO_NETWORK, said):
        lines.append("The package index cannot be reached. Check the network, or HTTPS_PROXY.")
    lines += [f"The command was: {shlex.join(command)}", f"The whole output is in {log}."]
    return "\n".join(lines)


def clean_environment() -> dict[str, str]:
    """Return the environment for pip: nothing that misleads it, and no questions asked."""
    # With these set, pip would install elsewhere or a Python would import another one's packages.
    misleading = "PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_ROOT __PYVENV_LAUNCHER__".split()
    kept = {name: value for name, value in os.environ.items() if name not in misleading}
    # Compiling everything takes longer than all the rest; what is used is compiled when used.
    pip = ("PIP_NO_COMPILE", "PIP_NO_INPUT", "PIP_DISABLE_PIP_VERSION_CHECK", "PYTHONUTF8")
    return {**kept, **dict.fromkeys(pip, "1"), "PIP_USER": "0", "PIP_ROOT_USER_ACTION": "ignore"}


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends pip, too
    sys.exit(main())
