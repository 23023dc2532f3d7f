"""Install PyTorch: the one package whose wheels come from another place on Linux.

PyPI's wheel for Linux needs several gigabytes of CUDA packages. A learner without an NVIDIA GPU
gets the CPU wheel where it can be had, and is told where it cannot; nothing here waits longer than
a few seconds for an answer.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from course_lib.installer.machine import has_gpu
from course_lib.installer.processes import SetupError, succeeds
from course_lib.installer.steps import Steps
from course_lib.installer.venvs import site_packages, venv_python

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
INDEX_VARIABLE = "COURSE_TORCH_INDEX"
AVOID_CUDA = (
    f"set {INDEX_VARIABLE} to an index with CPU wheels, or put PyTorch's CPU wheel into a folder "
    "and set PIP_FIND_LINKS to it"
)
PROBE_SECONDS = 5.0
FREE_GB_WITH_CUDA = 12.0  # `.venv` then takes 6.3, and pip unpacks beside it

_PROBE = "import sys, urllib.request as u; u.urlopen(sys.argv[1].rstrip('/') + '/torch/').read(1)"


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


def choose_torch(
    system: str,
    *,
    gpu: Callable[[], bool],
    local_wheel: Callable[[], bool],
    cpu_index: Callable[[], bool],
) -> str:
    """Return where torch shall come from; a question is asked only where its answer matters.

    Parameters
    ----------
    system
        As in `Machine`.
    gpu
        Is there an NVIDIA GPU?
    local_wheel
        Does pip, as configured here (`find-links`), hold a wheel of that version?
    cpu_index
        Does PyTorch's own index of CPU wheels answer?

    Returns
    -------
    str
        `local`, `cpu-index`, `pypi`, or `pypi-large` where CUDA packages come along unwanted.

    Examples
    --------
    >>> yes, no = (lambda: True), (lambda: False)
    >>> choose_torch("Linux", gpu=no, local_wheel=no, cpu_index=yes)
    'cpu-index'
    >>> choose_torch("Darwin", gpu=no, local_wheel=no, cpu_index=yes)
    'pypi'
    """
    if local_wheel():
        return "local"
    if system != "Linux" or gpu():
        return "pypi"
    return "cpu-index" if cpu_index() else "pypi-large"


def index_answers(url: str, seconds: float = PROBE_SECONDS) -> bool:
    """Return whether a package index answers in time, also where the name server hangs.

    A process of its own asks, because a thread that hangs in the resolver cannot be ended.
    """
    return succeeds([sys.executable, "-I", "-c", _PROBE, url], seconds)


def install_torch(root: Path, steps: Steps, number: int) -> None:
    """Install the pinned torch into `.venv` unless it is there.

    `COURSE_TORCH_INDEX` names an index to take it from, whatever the machine is.

    Raises
    ------
    SetupError
        pip failed, or the disk is too small for what would come.
    """
    pin = torch_pin(root)
    wanted = f"torch=={pin}"
    if is_installed(site_packages(root), pin):
        steps.begin(number, f"PyTorch {pin} is there")
        return
    given = os.environ.get(INDEX_VARIABLE)
    if given:
        steps.begin(number, f"PyTorch {pin} from {given}")
        steps.pip(["install", "--index-url", given, wanted])
        return
    steps.begin(number, f"PyTorch {pin}: looking for the CPU wheel")
    offline = ["install", "--no-index", "--no-deps", wanted]
    dry_run = [str(venv_python(root)), "-I", "-m", "pip", *offline, "--dry-run"]
    source = choose_torch(
        platform.system(),
        gpu=has_gpu,
        local_wheel=lambda: succeeds(dry_run, seconds=30),
        cpu_index=lambda: index_answers(CPU_INDEX),
    )
    if source == "local":
        steps.begin(number, f"PyTorch {pin} from a wheel that pip is configured with")
        steps.pip(offline)
        return
    if source == "cpu-index":
        steps.begin(number, f"PyTorch {pin} for the CPU, about 200 MB")
        command = ["install", "--no-deps", "--retries", "1", "--index-url", CPU_INDEX, wanted]
        if steps.pip(command, required=False):
            return
        source = "pypi-large"
    steps.end()
    if platform.system() == "Linux":  # PyPI's wheels for other systems bring no CUDA
        check_room_for_cuda(root, wanted=source == "pypi")
    if source == "pypi-large":
        print(
            f"        {CPU_INDEX} cannot be used from here, so PyTorch comes from PyPI with its\n"
            "        CUDA packages, and .venv will take 6.3 GB instead of 2.4. To avoid that,\n"
            f"        interrupt this and {AVOID_CUDA}.",
            flush=True,
        )
    steps.begin(number, f"PyTorch {pin} from PyPI")
    steps.pip(["install", "-c", str(root / "requirements.lock"), wanted])


def is_installed(site: Path, pin: str) -> bool:
    """Return whether this version of torch is there, whichever build (`+cpu`, `+cu130`)."""
    folders = site.glob("torch-*.dist-info")
    return any(re.fullmatch(rf"torch-{re.escape(pin)}(\+.*)?\.dist-info", f.name) for f in folders)


def check_room_for_cuda(root: Path, *, wanted: bool) -> None:
    """Refuse to install PyTorch with its CUDA packages on a disk that is too small for them.

    Parameters
    ----------
    root
        The project.
    wanted
        They come because there is a GPU, and not because the CPU wheel cannot be had.

    Raises
    ------
    SetupError
        The disk is too small.
    """
    free = shutil.disk_usage(root).free / 1e9
    if free >= FREE_GB_WITH_CUDA:
        return
    why = (
        "This machine has an NVIDIA GPU, and PyTorch with CUDA"
        if wanted
        else f"PyTorch's CPU wheel cannot be had from {CPU_INDEX}, and PyPI's"
    )
    raise SetupError(
        f"{why} needs {FREE_GB_WITH_CUDA:.0f} GB of disk, of which {free:.1f} are free.\n"
        f"Free some space, or {AVOID_CUDA}."
    )
