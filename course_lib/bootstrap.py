"""Set the course up: from a bare Python to a `.venv` that has everything, by one command.

`python course_lib/bootstrap.py` is what `make setup` and every other task call first; it returns at
once when `.venv` is up to date. It runs before anything is installed, so it takes the standard
library alone, and Python 3.8 can read it: an old Python is to say which one is wanted. The file
reads in the order of what happens: machine, Python, `.venv`, the lock, torch, the model.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STAMP = "course-setup.json"
OLDEST_PYTHON = (3, 11)
NEWEST_PYTHON = (3, 14)  # for newer ones, torch and the PostgreSQL binaries have no wheels yet
NEEDED_MODULES = ("bz2", "ctypes", "ensurepip", "lzma", "sqlite3", "ssl", "venv")
"""Without one of these, pip, Jupyter or pandas would fail later and less clearly."""

FREE_GB = 4.0  # `.venv` takes 2.4, and pip unpacks beside it
FREE_GB_WITH_CUDA = 12.0  # `.venv` then takes 6.3
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
INDEX_VARIABLE = "COURSE_TORCH_INDEX"
AVOID_CUDA = (
    f"set {INDEX_VARIABLE} to an index with CPU wheels, or put PyTorch's CPU wheel into a folder "
    "and set PIP_FIND_LINKS to it"
)
DISK_IS_FULL = r"No space left on device|not enough space"


class SetupError(Exception):
    """The set-up cannot go on: the message says why, and what to do."""


def main(arguments: list[str] | None = None) -> int:
    """Run the set-up and return the exit code; `--check` only says whether it is up to date."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if "--check" in arguments:
        current = up_to_date(ROOT)
        print(".venv is up to date." if current else ".venv is not up to date: run `make setup`.")
        return 0 if current else 1
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
    if obstacle := missing_wheels(this_machine()):
        raise SetupError(obstacle)
    with only_one(root):
        if up_to_date(root):  # by the call that was waited for
            return False
        _install(root)
    return True


# The machine


@dataclass(frozen=True)
class Machine:
    """What decides which wheels fit: read by `this_machine`, made up in tests.

    Parameters
    ----------
    system
        `Linux`, `Darwin` or `Windows`.
    architecture
        `x86_64`, `aarch64`, `arm64`, `AMD64`, …
    libc
        On Linux, the C library: `glibc` or `musl`.
    release
        Version of glibc on Linux and of macOS on a Mac; empty elsewhere.
    """

    system: str
    architecture: str
    libc: str = ""
    release: tuple[int, ...] = ()


def this_machine() -> Machine:
    """Return the machine that this Python runs on."""
    system, libc, release = platform.system(), "", platform.mac_ver()[0]
    if system == "Linux":
        libc, release = platform.libc_ver()
        libc = libc or "musl"
    numbers = tuple(int(part) for part in re.findall(r"\d+", release)[:2])
    return Machine(system, platform.machine(), libc, numbers)


def missing_wheels(machine: Machine) -> str:
    """Return why the packages have no wheels for this machine and what to do; empty where there is.

    Examples
    --------
    >>> missing_wheels(Machine("Linux", "x86_64", libc="glibc", release=(2, 36)))
    ''
    >>> missing_wheels(Machine("Linux", "riscv64", libc="glibc")).split(". ")[0]
    'The packages have no wheels for Linux (glibc) on riscv64'
    """
    glibc = (2, 35) if machine.architecture == "aarch64" else (2, 28)
    is_recent = not machine.release or machine.release >= (
        glibc if machine.system == "Linux" else (14,)
    )
    architectures = {"Linux": ("x86_64", "aarch64"), "Darwin": ("arm64",), "Windows": ("AMD64",)}
    is_known = machine.architecture in architectures.get(machine.system, ())
    if is_known and is_recent and machine.libc != "musl":
        return ""
    release = ".".join(map(str, machine.release))
    within = " ".join(filter(None, [machine.libc, release]))
    system = f"{machine.system} ({within})" if within else machine.system
    return (
        f"The packages have no wheels for {system} on {machine.architecture}. "
        "There are some for Linux on x86_64 or aarch64 with glibc 2.28 or newer (2.35 on aarch64; "
        "Debian 12 and Ubuntu 22.04 have it; not Alpine, which has musl), for macOS 14 or newer "
        "on Apple silicon (with a Python that is not made for Intel processors), and for Windows "
        "on AMD64. On other machines run the course on Linux: in a virtual machine, a container, "
        "WSL (`wsl --install`) or a cloud notebook."
    )


# Which Python

_PROBE = """
import json, sys
from importlib import import_module
missing = []
for name in {modules!r}:
    try:
        import_module(name)
    except Exception:
        missing.append(name)
print(json.dumps(dict(
    version=list(sys.version_info[:3]),
    missing=missing,
)))
"""


def find_python() -> str:
    """Return the path of a Python that can carry the course, the running one where it can.

    Raises
    ------
    SetupError
        None was found; the message names what to install.
    """
    running = getattr(sys, "_base_executable", None) or sys.executable
    names = [f"python3.{minor}" for minor in (12, 11, 13, 14)] + ["python3", "python"]
    on_path = [found for found in map(shutil.which, names) if found]
    refused: dict[str, str] = {}
    for candidate in [str(running), *on_path]:
        refused[candidate] = unsuitable(ask(candidate))
        if not refused[candidate]:
            return candidate
    raise SetupError(advice(refused))


def ask(python: str, modules: tuple[str, ...] = NEEDED_MODULES) -> dict[str, object]:
    """Return what a Python says of itself; an empty dict where it does not run."""
    try:
        answer = json.loads(output_of([python, "-I", "-c", _PROBE.format(modules=modules)]))
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def unsuitable(answer: dict[str, object]) -> str:
    """Return why a Python cannot carry the course, given its answer to `ask`; empty where it can.

    Examples
    --------
    >>> unsuitable({"version": [3, 9, 6]})
    'it is 3.9.6'
    >>> unsuitable({"version": [3, 12, 1], "missing": ["ensurepip"]})
    'it lacks ensurepip'
    """
    version, missing = answer.get("version"), answer.get("missing")
    if not isinstance(version, list):
        return "it does not run"
    if not OLDEST_PYTHON <= tuple(version[:2]) <= NEWEST_PYTHON:
        return "it is " + ".".join(str(part) for part in version)
    if isinstance(missing, list) and missing:
        return "it lacks " + ", ".join(str(name) for name in missing)
    return ""


def advice(refused: dict[str, str]) -> str:
    """Return what to install where no Python will do.

    Parameters
    ----------
    refused
        Path of each Python that was found, and why it will not do.

    Examples
    --------
    >>> print(advice({"/usr/bin/python3.11": "it lacks ensurepip"}).partition("Install")[0], end="")
    The course needs Python 3.11 to 3.14, and none was found that will do.
        /usr/bin/python3.11: it lacks ensurepip
    On Debian and Ubuntu it gets that by: apt install python3.11-venv
    """
    oldest, newest = (".".join(map(str, version)) for version in (OLDEST_PYTHON, NEWEST_PYTHON))
    lines = [f"The course needs Python {oldest} to {newest}, and none was found that will do."]
    for path, reason in refused.items():
        lines.append(f"    {path}: {reason}")
        if reason == "it lacks ensurepip":
            found = re.search(r"python3(?:\.\d+)?$", path)
            name = found.group() if found else "python3"
            lines.append(f"On Debian and Ubuntu it gets that by: apt install {name}-venv")
    lines.append(
        "Install one with the package manager of your system: apt install python3.12 "
        "python3.12-venv (Debian, Ubuntu), brew install python@3.12 (macOS), winget install "
        "Python.Python.3.12 (Windows); or with the installer of python.org."
    )
    return "\n".join(lines)


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


def stamp(root: Path) -> dict[str, str]:
    """Return what is written into `.venv` as the last step of a set-up."""
    digest = hashlib.sha256()
    for name in ("requirements.lock", "pyproject.toml"):
        with contextlib.suppress(OSError):
            digest.update((root / name).read_bytes())
        digest.update(b"\0")
    return {"root": str(root), "sha256": digest.hexdigest()}


def why_anew(root: Path) -> str:
    """Return why `.venv` has to be made; empty where what is there can be brought up to date.

    Its programs begin with the path that it was made for, so a checkout that was moved, renamed or
    copied needs another one.
    """
    found = _stamped(root)
    if not (root / ".venv").exists():
        return "there was none"
    if not found:
        return "the last set-up was interrupted"
    if found.get("root") != str(root):
        return "the old one was made in another folder"
    problem = unsuitable(ask(str(venv_python(root)), modules=("pip", "ssl")))
    return f"the old one cannot be used: {problem}" if problem else ""


def _stamped(root: Path) -> dict[str, str]:
    try:
        found = json.loads((root / ".venv" / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


@contextlib.contextmanager
def only_one(root: Path) -> Iterator[None]:
    """Hold a lock while installing, so that two calls at once do not write into one `.venv`."""
    try:
        (root / "build").mkdir(exist_ok=True)
        lock = (root / "build" / "setup.lock").open("a", encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"{error.filename} cannot be written ({error.strerror}), and the set-up writes to "
            f"{root}. Copy the course to a folder of your own and run it there."
        ) from error
    with lock as handle:
        waiting = False
        while not _try_lock(handle.fileno()):
            if not waiting:
                print("Another set-up of this folder is running; waiting for it.", flush=True)
                waiting = True
            time.sleep(0.2)
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
    lock = root / "requirements.lock"
    if not lock.is_file():
        raise SetupError(f"{lock} is missing. Restore it with `git checkout requirements.lock`.")
    text = lock.read_text(encoding="utf-8")
    pins = re.findall(r"^[A-Za-z0-9][^\s;]*==[^\s;]+", text, re.M)
    reason, venv = why_anew(root), root / ".venv"
    python = find_python() if reason else ""
    free = shutil.disk_usage(root).free / 1e9
    if free < FREE_GB and not venv.exists():
        raise SetupError(
            f"the disk of {root} has {free:.1f} GB free, and the course needs {FREE_GB:.0f} GB. "
            "Free some space and try again."
        )
    started = time.monotonic()
    print("Setting the course up in .venv: once, a few minutes.", flush=True)
    steps = Steps(root, total=6)
    (venv / STAMP).unlink(missing_ok=True)
    if reason:
        steps.begin(1, f"a virtual environment with {python} ({reason})")
        steps.run([python, "-I", "-m", "venv", "--clear", "--prompt", "course", str(venv)])
    else:
        steps.begin(1, "the virtual environment is there and is brought up to date")

    # pip first and alone, because it must not replace itself while it installs others; setuptools
    # with it, because packages without wheels are built with the one that is pinned here.
    tools = [pin for pin in pins if pin.startswith(("pip==", "setuptools=="))]
    steps.begin(2, " and ".join(tools))
    (root / "build" / "tools.txt").write_text(entries_of(text, tools), encoding="utf-8")
    hashed = ["install", "--require-hashes", "--no-deps", "-r"]
    steps.pip([*hashed, str(root / "build" / "tools.txt")])

    # Before torch, so that what torch needs is here by then, and nothing comes without its hash.
    steps.begin(3, "the packages of requirements.lock")
    steps.pip([*hashed, str(lock), "--no-build-isolation"], packages=len(pins))

    install_torch(root, steps, 4)

    steps.begin(5, "the course itself")
    steps.pip(["install", "--no-deps", "--no-build-isolation", "-e", str(root)])
    complaints = output_of([str(venv_python(root)), "-I", "-m", "pip", "check"])

    # Where that does not work, the first search says why, and torch encodes.
    steps.begin(6, "the model, converted for OpenVINO")
    convert = "from course_lib.embedder import EmbeddingClient; EmbeddingClient().backend"
    steps.run([str(venv_python(root)), "-I", "-c", convert], required=False)
    steps.end()
    if complaints and "No broken requirements" not in complaints:
        print(f"Note: pip reports\n{complaints.rstrip()}", flush=True)
    (venv / STAMP).write_text(json.dumps(stamp(root), indent=1) + "\n", encoding="utf-8")
    print(f"Ready after {time.monotonic() - started:.0f} s.", flush=True)


def entries_of(lock: str, pins: list[str]) -> str:
    r"""Return the entries of a lock for some pins, with their hashes.

    Examples
    --------
    >>> lock = "pip==26.0 \\\n    --hash=sha256:12\nrich==15.0 \\\n    --hash=sha256:34\n"
    >>> entries_of(lock, ["pip==26.0"])
    'pip==26.0 \\\n    --hash=sha256:12\n'
    """
    entries = re.findall(r"^[A-Za-z0-9].*\n(?:[ \t].*\n)*", lock, re.M)
    return "".join(entry for entry in entries if entry.split()[0] in pins)


def torch_pin(root: Path) -> str:
    """Return the version of torch that `pyproject.toml` pins, for example `2.13.0`.

    Raises
    ------
    SetupError
        There is no such pin.
    """
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^\s*"torch==([^"\s;]+)"', text, flags=re.MULTILINE)
    if not found:
        raise SetupError('pyproject.toml has no "torch==…" among its dependencies.')
    return found.group(1)


def install_torch(root: Path, steps: Steps, number: int) -> None:
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
    if given := os.environ.get(INDEX_VARIABLE):
        steps.begin(number, f"{torch} from {given}")
        steps.pip(["install", "--index-url", given, torch])
        return
    steps.begin(number, f"{torch}, a wheel that pip is configured with")
    if steps.pip(["install", "--no-index", "--no-deps", torch], required=False):
        return
    if platform.system() == "Linux":
        steps.begin(number, f"{torch} for the CPU, about 200 MB")
        at_once = ["--retries", "1", "--timeout", "10"]
        cpu = ["install", "--no-deps", *at_once, "--index-url", CPU_INDEX, torch]
        if steps.pip(cpu, required=False):
            return
        steps.end()
        check_room_for_cuda(root)
        print(
            f"        {CPU_INDEX} cannot be used from here, so PyTorch comes from PyPI with its\n"
            "        CUDA packages, and .venv will take 6.3 GB instead of 2.4. To avoid that,\n"
            f"        press Ctrl-C and {AVOID_CUDA}.",
            flush=True,
        )
    steps.begin(number, f"{torch} from PyPI")
    steps.pip(["install", torch])


def check_room_for_cuda(root: Path) -> None:
    """Refuse to install PyTorch with its CUDA packages on a disk that is too small for them."""
    free = shutil.disk_usage(root).free / 1e9
    if free < FREE_GB_WITH_CUDA:
        raise SetupError(
            f"PyTorch's CPU wheel cannot be had from {CPU_INDEX}, and PyPI's needs "
            f"{FREE_GB_WITH_CUDA:.0f} GB of disk, of which {free:.1f} are free.\n"
            f"Free some space, or {AVOID_CUDA}."
        )


# How it is shown, and the programs that are called


class Steps:
    """The steps of one set-up: a line each, and what the programs say in a log.

    Parameters
    ----------
    root
        The folder that holds `.venv`.
    total
        How many steps there are.
    """

    def __init__(self, root: Path, total: int) -> None:
        self.root = root
        self.total = total
        self.log = root / "build" / "setup.log"
        self.log.write_text("", encoding="utf-8")
        self._label = ""
        self._started = 0.0
        self._terminal = sys.stdout.isatty() and not os.environ.get("CI")

    def begin(self, number: int, label: str) -> None:
        """End the running step with its time, and announce the next."""
        self.end()
        self._label = f"  [{number}/{self.total}] {label}"
        self._started = time.monotonic()
        print(self._label, end="", flush=True)

    def end(self) -> None:
        """End the running step, if there is one, with its time."""
        if self._label:
            self._draw("")
            print("" if self._terminal else f"  {self._seconds()} s", flush=True)
            self._label = ""

    def pip(self, arguments: list[str], *, packages: int = 0, required: bool = True) -> bool:
        """Run the pip of `.venv`; the parameters are those of `run`."""
        command = [str(venv_python(self.root)), "-I", "-m", "pip", *arguments]
        return self.run([*command, "--progress-bar", "off"], packages=packages, required=required)

    def run(self, command: list[str], *, packages: int = 0, required: bool = True) -> bool:
        """Run a command with its output in the log.

        Parameters
        ----------
        command
            The program and its arguments.
        packages
            How many packages it fetches, for the bar; 0 where that is not worth one.
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
        before = self.log.stat().st_size
        with self.log.open("ab") as out:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=clean_environment(),
            )
            try:
                while process.poll() is None:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(0.3)
                    self._draw(_bar(self._said(before), packages))
            except BaseException:
                process.terminate()
                process.wait()
                raise
        if process.returncode and (required or re.search(DISK_IS_FULL, self._said(before))):
            raise SetupError(failure(self._said(before), self.log))
        return process.returncode == 0

    def _said(self, start: int) -> str:
        return self.log.read_bytes()[start:].decode("utf-8", errors="replace")

    def _seconds(self) -> int:
        return round(time.monotonic() - self._started)

    def _draw(self, bar: str) -> None:
        if self._terminal:
            print(f"\r\x1b[K{self._label}  {bar}{self._seconds()} s", end="", flush=True)


def _bar(said: str, packages: int) -> str:
    """Return how many of the packages pip has looked at; empty where that is not known."""
    if not packages:
        return ""
    line = r"^(?:Collecting|Processing|Requirement already)"
    filled = min(round(24 * len(re.findall(line, said, re.MULTILINE)) / packages), 24)
    return f"[{'#' * filled}{'.' * (24 - filled)}] "


def failure(said: str, log: Path) -> str:
    """Return the message for a command that failed: the end of what it said, and what to do.

    Examples
    --------
    >>> print(failure("OSError: [Errno 28] No space left on device", Path("setup.log")))
    a step failed:
        OSError: [Errno 28] No space left on device
    The disk is full. Free some space and try again.
    The whole output is in setup.log.
    """
    advice = {
        DISK_IS_FULL: "The disk is full. Free some space and try again.",
        r"CERTIFICATE_VERIFY_FAILED": "A proxy here replaces certificates: set PIP_CERT to the "
        "file with your organisation's.",
        r"DO NOT MATCH THE HASHES": "A package is not the file that requirements.lock names: "
        "it was replaced on the way. Check PIP_INDEX_URL, PIP_FIND_LINKS and any proxy in between.",
        r"NewConnectionError|name resolution|timed out|ConnectTimeout|getaddrinfo": "The package "
        "index cannot be reached. Check the network (behind a proxy: HTTPS_PROXY) and try again; "
        "pip keeps what it has downloaded.",
        r"No matching distribution found": "The package index that pip asks here has no such "
        "version, or cannot be reached. Check the network and PIP_INDEX_URL, and try again.",
        r"Permission denied|Access is denied": "A file cannot be written. Close notebooks and "
        "programs that use .venv, and check who owns the folder.",
    }
    lines = ["a step failed:", *(f"    {line}" for line in said.strip().splitlines()[-15:])]
    lines += [text for pattern, text in advice.items() if re.search(pattern, said)][:1]
    return "\n".join([*lines, f"The whole output is in {log}."])


def clean_environment() -> dict[str, str]:
    """Return the environment for pip: nothing that misleads it, and no questions asked."""
    # With these set, pip would install elsewhere or a Python would import another one's packages.
    misleading = "PYTHONPATH PYTHONHOME PIP_TARGET PIP_PREFIX PIP_ROOT __PYVENV_LAUNCHER__".split()
    return {
        **{name: value for name, value in os.environ.items() if name not in misleading},
        "PIP_USER": "0",
        "PIP_NO_INPUT": "1",
        # Compiling everything takes longer than all the rest; what is used is compiled when used.
        "PIP_NO_COMPILE": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
        "PYTHONUTF8": "1",
    }


def output_of(command: list[str], seconds: float = 60.0) -> str:
    """Return what a command prints, or an empty string where it does not exist or takes too long.

    Examples
    --------
    >>> output_of(["there-is-no-such-program"])
    ''
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
            env=clean_environment(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends pip, too
    sys.exit(main())
