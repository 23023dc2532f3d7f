"""The machine: what decides which wheels fit, and where there are none.

`course doctor` asks the same questions, so that the set-up and the doctor cannot disagree.
"""

from __future__ import annotations

import platform
import re
import shutil
import sys
from dataclasses import dataclass

from course_lib.installer.processes import output_of

_ELSEWHERE = "Run the course on Linux: in a virtual machine, a container or a cloud notebook."


@dataclass(frozen=True)
class Machine:
    """What decides which wheels fit: read once by `this_machine`, made up in tests.

    Parameters
    ----------
    system
        `Linux`, `Darwin` or `Windows`.
    architecture
        `x86_64`, `aarch64`, `arm64`, `AMD64`, …
    bits
        Of the running Python: 64 or 32.
    libc
        On Linux, the C library: `glibc` or `musl`.
    release
        Version of glibc on Linux and of macOS on a Mac; empty elsewhere.
    rosetta
        An Intel Python on an Apple-silicon Mac.
    """

    system: str
    architecture: str
    bits: int = 64
    libc: str = ""
    release: tuple[int, ...] = ()
    rosetta: bool = False


def this_machine() -> Machine:
    """Return the machine that this Python runs on."""
    system, architecture = platform.system(), platform.machine()
    libc, release, rosetta = "", "", False
    if system == "Linux":
        libc, release = platform.libc_ver()
        libc = libc or "musl"
    elif system == "Darwin":
        release = platform.mac_ver()[0]
        if architecture == "x86_64":
            rosetta = output_of(["sysctl", "-n", "sysctl.proc_translated"]).strip() == "1"
    numbers = tuple(int(part) for part in re.findall(r"\d+", release)[:2])
    bits = 64 if sys.maxsize > 2**32 else 32
    return Machine(system, architecture, bits, libc, numbers, rosetta)


def has_gpu() -> bool:
    """Return whether an NVIDIA GPU answers to its driver's tool."""
    tool = shutil.which("nvidia-smi")
    return bool(tool) and "GPU " in output_of([str(tool), "-L"], seconds=10)


def missing_wheels(machine: Machine) -> str:
    """Return why there is no PyTorch wheel for this machine and what to do; empty where there is.

    Examples
    --------
    >>> missing_wheels(Machine("Linux", "x86_64", libc="glibc", release=(2, 36)))
    ''
    >>> missing_wheels(Machine("Linux", "x86_64", libc="musl")).split(". ")[0]
    'PyTorch has no wheels for musl (Alpine)'
    """
    if machine.rosetta:
        return (
            "This Python was made for Intel processors and runs under Rosetta on an Apple-silicon "
            "Mac. Install an arm64 Python: python.org's installer, or `brew install python@3.12`."
        )
    if machine.bits == 32:
        return "This is a 32-bit Python, for which PyTorch has no wheels. Install a 64-bit one."
    if machine.system == "Linux":
        return _missing_on_linux(machine)
    if machine.system == "Darwin":
        if machine.architecture != "arm64":
            return (
                "PyTorch has made no wheels for Macs with an Intel processor since version 2.3. "
                + _ELSEWHERE
            )
        if machine.release and machine.release < (14,):
            return "PyTorch's wheels need macOS 14 or newer. Update macOS."
        return ""
    if machine.system == "Windows":
        if machine.architecture.upper() in ("AMD64", "X86_64"):
            return ""
        return (
            "The course's packages have no wheels for Windows on ARM. "
            "Install the course inside WSL (`wsl --install`), which is a Linux."
        )
    return f"PyTorch has no wheels for {machine.system}. {_ELSEWHERE}"


def _missing_on_linux(machine: Machine) -> str:
    if machine.architecture not in ("x86_64", "aarch64"):
        return (
            f"PyTorch has no wheels for Linux on {machine.architecture}. "
            "Use an x86_64 or aarch64 machine."
        )
    if machine.libc == "musl":
        return (
            "PyTorch has no wheels for musl (Alpine). "
            "Use a distribution with glibc, for example Debian."
        )
    if machine.release and machine.release < (2, 28):
        return (
            "PyTorch's wheels need glibc 2.28 or newer. "
            "Use a newer distribution (Debian 10, Ubuntu 20.04 or later)."
        )
    return ""
